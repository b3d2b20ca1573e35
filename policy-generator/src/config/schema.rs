//! The types of a `PolicyGenerator` document, as upstream declares them: names and order show in error texts.

use reeve_go_compat::yaml::{Field, StructType, Type};

const TEXTS: Type = Type::List(&Type::Text);
const DEPENDENCIES: Type = Type::List(&Type::Struct(&DEPENDENCY));

const fn field(key: &'static str, of: Type) -> Field {
    Field { key, of }
}

const fn text(key: &'static str) -> Field {
    field(key, Type::Text)
}

const fn bool(key: &'static str) -> Field {
    field(key, Type::Bool)
}

/// The document.
pub const GENERATOR: StructType = StructType {
    name: "internal.Plugin",
    inlined: &[],
    fields: &[
        text("apiVersion"),
        text("kind"),
        field("metadata", Type::Struct(&METADATA)),
        field("placementBindingDefaults", Type::Struct(&BINDING_DEFAULTS)),
        field("policyDefaults", Type::Struct(&POLICY_DEFAULTS)),
        field("policySetDefaults", Type::Struct(&POLICY_SET_DEFAULTS)),
        field("policies", Type::List(&Type::Struct(&POLICY))),
        field("policySets", Type::List(&Type::Struct(&POLICY_SET))),
    ],
};

const METADATA: StructType = StructType {
    name: "types.Metadata",
    inlined: &[],
    fields: &[text("name"), field("annotations", Type::TextMap)],
};

const BINDING_DEFAULTS: StructType = StructType {
    name: "types.PlacementBindingDefaults",
    inlined: &[],
    fields: &[text("name")],
};

/// What `policyDefaults` and `policies` have in common.
const POLICY_OPTIONS: StructType = StructType {
    name: "types.PolicyOptions",
    inlined: &[],
    fields: &[
        field("categories", TEXTS),
        field("controls", TEXTS),
        bool("copyPolicyMetadata"),
        field("dependencies", DEPENDENCIES),
        text("description"),
        bool("disabled"),
        field("extraDependencies", DEPENDENCIES),
        bool("generatePlacementWhenInSet"),
        bool("ignorePending"),
        bool("informGatekeeperPolicies"),
        bool("informKyvernoPolicies"),
        bool("orderManifests"),
        bool("consolidateManifests"),
        field("placement", Type::Struct(&PLACEMENT)),
        bool("generatePolicyPlacement"),
        field("standards", TEXTS),
        field("policyAnnotations", Type::TextMap),
        field("policyLabels", Type::TextMap),
        field("configurationPolicyAnnotations", Type::TextMap),
        field("policySets", TEXTS),
        field("hubTemplateOptions", Type::Struct(&HUB_TEMPLATES)),
    ],
};

/// What `policyDefaults`, `policies` and `manifests` have in common.
const TEMPLATE_OPTIONS: StructType = StructType {
    name: "types.ConfigurationPolicyOptions",
    inlined: &[],
    fields: &[
        text("complianceType"),
        text("metadataComplianceType"),
        text("recreateOption"),
        text("recordDiff"),
        text("remediationAction"),
        text("severity"),
        text("pruneObjectBehavior"),
        field("objectSelector", Type::Struct(&OBJECT_SELECTOR)),
        field("namespaceSelector", Type::Struct(&NAMESPACE_SELECTOR)),
        field("evaluationInterval", Type::Struct(&EVALUATION_INTERVAL)),
        field("customMessage", Type::Struct(&CUSTOM_MESSAGE)),
        text("gatekeeperEnforcementAction"),
    ],
};

const POLICY_DEFAULTS: StructType = StructType {
    name: "types.PolicyDefaults",
    inlined: &[&POLICY_OPTIONS, &TEMPLATE_OPTIONS],
    fields: &[text("namespace"), bool("orderPolicies")],
};

const POLICY: StructType = StructType {
    name: "types.PolicyConfig",
    inlined: &[&POLICY_OPTIONS, &TEMPLATE_OPTIONS],
    fields: &[
        text("name"),
        field("manifests", Type::List(&Type::Struct(&MANIFEST))),
    ],
};

const MANIFEST: StructType = StructType {
    name: "types.Manifest",
    inlined: &[&TEMPLATE_OPTIONS],
    fields: &[
        field("extraDependencies", DEPENDENCIES),
        bool("ignorePending"),
        text("name"),
        text("path"),
        field("patches", Type::List(&Type::AnyMap)),
        field("openapi", Type::Struct(&OPENAPI)),
    ],
};

const OPENAPI: StructType = StructType {
    name: "types.Filepath",
    inlined: &[],
    fields: &[text("path")],
};

const PLACEMENT: StructType = StructType {
    name: "types.PlacementConfig",
    inlined: &[],
    fields: &[
        field("labelSelector", Type::AnyMap),
        text("name"),
        text("placementPath"),
        text("placementName"),
    ],
};

const POLICY_SET_DEFAULTS: StructType = StructType {
    name: "types.PolicySetDefaults",
    inlined: &[],
    fields: &[
        field("placement", Type::Struct(&PLACEMENT)),
        bool("generatePolicySetPlacement"),
    ],
};

const POLICY_SET: StructType = StructType {
    name: "types.PolicySetConfig",
    inlined: &[],
    fields: &[
        text("name"),
        text("description"),
        field("policies", TEXTS),
        field("placement", Type::Struct(&PLACEMENT)),
        bool("generatePolicySetPlacement"),
    ],
};

const HUB_TEMPLATES: StructType = StructType {
    name: "types.HubTemplateOptions",
    inlined: &[],
    fields: &[text("serviceAccountName")],
};

const DEPENDENCY: StructType = StructType {
    name: "types.PolicyDependency",
    inlined: &[],
    fields: &[
        text("apiVersion"),
        text("compliance"),
        text("kind"),
        text("name"),
        text("namespace"),
    ],
};

const EVALUATION_INTERVAL: StructType = StructType {
    name: "types.EvaluationInterval",
    inlined: &[],
    fields: &[text("compliant"), text("noncompliant")],
};

const CUSTOM_MESSAGE: StructType = StructType {
    name: "types.CustomMessage",
    inlined: &[],
    fields: &[text("compliant"), text("noncompliant")],
};

const OBJECT_SELECTOR: StructType = StructType {
    name: "types.LabelSelector",
    inlined: &[],
    fields: &[
        field("matchLabels", Type::TextMap),
        field("matchExpressions", Type::List(&Type::Struct(&REQUIREMENT))),
    ],
};

const NAMESPACE_SELECTOR: StructType = StructType {
    name: "types.NamespaceSelector",
    inlined: &[&OBJECT_SELECTOR],
    fields: &[field("exclude", TEXTS), field("include", TEXTS)],
};

const REQUIREMENT: StructType = StructType {
    name: "types.LabelSelectorRequirement",
    inlined: &[],
    fields: &[text("key"), text("operator"), field("values", TEXTS)],
};

/// A struct, and the YAML key by which errors about its fields call it. Upstream has none for `objectSelector` and the entries of
/// `matchExpressions`.
pub const TAGGED: &[(&StructType, Option<&str>)] = &[
    (&GENERATOR, Some("PolicyGenerator")),
    (&METADATA, Some("metadata")),
    (&BINDING_DEFAULTS, Some("placementBindingDefaults")),
    (&POLICY_DEFAULTS, Some("policyDefaults")),
    (&POLICY_SET_DEFAULTS, Some("policySetDefaults")),
    (&POLICY, Some("policies")),
    (&POLICY_SET, Some("policySets")),
    (&MANIFEST, Some("manifests")),
    (&PLACEMENT, Some("placement")),
    (&NAMESPACE_SELECTOR, Some("namespaceSelector")),
    (&OBJECT_SELECTOR, None),
    (&HUB_TEMPLATES, Some("hubTemplateOptions")),
    (&CUSTOM_MESSAGE, Some("customMessage")),
    (&EVALUATION_INTERVAL, Some("evaluationInterval")),
    (&DEPENDENCY, Some("dependencies")),
    (&OPENAPI, Some("openapi")),
];
