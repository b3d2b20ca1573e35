//! The types of a `PolicyGenerator` document, as upstream declares them: names and order show in error texts.

use std::marker::PhantomData;

use reeve_go_compat::yaml::{Field, StructType, Type};

use crate::settings::Mode;

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

/// The keys that a document may have beyond those that upstream's generator knows, by the struct that has them.
pub trait Extension {
    const PLACEMENT: &'static [&'static StructType];
    const POLICY_SET: &'static [&'static StructType];
    const NAMESPACE_SELECTOR: &'static [&'static StructType];
}

/// None.
pub enum Upstream {}

impl Extension for Upstream {
    const PLACEMENT: &'static [&'static StructType] = &[];
    const POLICY_SET: &'static [&'static StructType] = &[];
    const NAMESPACE_SELECTOR: &'static [&'static StructType] = &[&OBJECT_SELECTOR];
}

/// Those of `--extended`.
pub enum Extended {}

impl Extension for Extended {
    const PLACEMENT: &'static [&'static StructType] = &[&PLACEMENT_EXTENSION];
    const POLICY_SET: &'static [&'static StructType] = &[&POLICY_SET_EXTENSION];
    const NAMESPACE_SELECTOR: &'static [&'static StructType] =
        &[&OBJECT_SELECTOR, &NAMESPACE_SELECTOR_EXTENSION];
}

/// A document with the keys of an extension.
pub struct Schema<E>(PhantomData<E>);

impl<E: Extension> Schema<E> {
    /// The document.
    pub const GENERATOR: StructType = StructType {
        name: "internal.Plugin",
        inlined: &[],
        fields: &[
            text("apiVersion"),
            text("kind"),
            field("metadata", Type::Struct(&METADATA)),
            field("placementBindingDefaults", Type::Struct(&BINDING_DEFAULTS)),
            field("policyDefaults", Type::Struct(&Self::POLICY_DEFAULTS)),
            field(
                "policySetDefaults",
                Type::Struct(&Self::POLICY_SET_DEFAULTS),
            ),
            field("policies", Type::List(&Type::Struct(&Self::POLICY))),
            field("policySets", Type::List(&Type::Struct(&Self::POLICY_SET))),
        ],
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
            field("placement", Type::Struct(&Self::PLACEMENT)),
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
            field("namespaceSelector", Type::Struct(&Self::NAMESPACE_SELECTOR)),
            field("evaluationInterval", Type::Struct(&EVALUATION_INTERVAL)),
            field("customMessage", Type::Struct(&CUSTOM_MESSAGE)),
            text("gatekeeperEnforcementAction"),
        ],
    };

    const POLICY_DEFAULTS: StructType = StructType {
        name: "types.PolicyDefaults",
        inlined: &[&Self::POLICY_OPTIONS, &Self::TEMPLATE_OPTIONS],
        fields: &[text("namespace"), bool("orderPolicies")],
    };

    const POLICY: StructType = StructType {
        name: "types.PolicyConfig",
        inlined: &[&Self::POLICY_OPTIONS, &Self::TEMPLATE_OPTIONS],
        fields: &[
            text("name"),
            field("manifests", Type::List(&Type::Struct(&Self::MANIFEST))),
        ],
    };

    const MANIFEST: StructType = StructType {
        name: "types.Manifest",
        inlined: &[&Self::TEMPLATE_OPTIONS],
        fields: &[
            field("extraDependencies", DEPENDENCIES),
            bool("ignorePending"),
            text("name"),
            text("path"),
            field("patches", Type::List(&Type::AnyMap)),
            field("openapi", Type::Struct(&OPENAPI)),
        ],
    };

    const PLACEMENT: StructType = StructType {
        name: "types.PlacementConfig",
        inlined: E::PLACEMENT,
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
            field("placement", Type::Struct(&Self::PLACEMENT)),
            bool("generatePolicySetPlacement"),
        ],
    };

    const POLICY_SET: StructType = StructType {
        name: "types.PolicySetConfig",
        inlined: E::POLICY_SET,
        fields: &[
            text("name"),
            text("description"),
            field("policies", TEXTS),
            field("placement", Type::Struct(&Self::PLACEMENT)),
            bool("generatePolicySetPlacement"),
        ],
    };

    const NAMESPACE_SELECTOR: StructType = StructType {
        name: "types.NamespaceSelector",
        inlined: E::NAMESPACE_SELECTOR,
        fields: &[field("exclude", TEXTS), field("include", TEXTS)],
    };

    /// A struct, and the YAML key by which errors about its fields call it. Upstream has none for `objectSelector` and the entries
    /// of `matchExpressions`.
    const TAGGED: &[(&StructType, Option<&str>)] = &[
        (&Self::GENERATOR, Some("PolicyGenerator")),
        (&METADATA, Some("metadata")),
        (&BINDING_DEFAULTS, Some("placementBindingDefaults")),
        (&Self::POLICY_DEFAULTS, Some("policyDefaults")),
        (&Self::POLICY_SET_DEFAULTS, Some("policySetDefaults")),
        (&Self::POLICY, Some("policies")),
        (&Self::POLICY_SET, Some("policySets")),
        (&Self::MANIFEST, Some("manifests")),
        (&Self::PLACEMENT, Some("placement")),
        (&Self::NAMESPACE_SELECTOR, Some("namespaceSelector")),
        (&OBJECT_SELECTOR, None),
        (&HUB_TEMPLATES, Some("hubTemplateOptions")),
        (&CUSTOM_MESSAGE, Some("customMessage")),
        (&EVALUATION_INTERVAL, Some("evaluationInterval")),
        (&DEPENDENCY, Some("dependencies")),
        (&OPENAPI, Some("openapi")),
        (&BINDING_OVERRIDES, Some("bindingOverrides")),
        (&EXCLUSION, Some("exclusions")),
    ];
}

/// The document in a mode.
pub fn generator(mode: Mode) -> &'static StructType {
    match mode {
        Mode::Upstream => &Schema::<Upstream>::GENERATOR,
        Mode::Extended => &Schema::<Extended>::GENERATOR,
    }
}

/// The structs of a mode with the YAML keys by which errors call them.
pub fn tagged(mode: Mode) -> &'static [(&'static StructType, Option<&'static str>)] {
    match mode {
        Mode::Upstream => Schema::<Upstream>::TAGGED,
        Mode::Extended => Schema::<Extended>::TAGGED,
    }
}

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

const OPENAPI: StructType = StructType {
    name: "types.Filepath",
    inlined: &[],
    fields: &[text("path")],
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

const REQUIREMENT: StructType = StructType {
    name: "types.LabelSelectorRequirement",
    inlined: &[],
    fields: &[text("key"), text("operator"), field("values", TEXTS)],
};

/// Fields of the spec of a Placement, and of its PlacementBinding, by their own names.
const PLACEMENT_EXTENSION: StructType = StructType {
    name: "types.PlacementExtension",
    inlined: &[],
    fields: &[
        field("clusterSets", TEXTS),
        text("numberOfClusters"),
        field("prioritizerPolicy", Type::AnyMap),
        text("subFilter"),
        field("bindingOverrides", Type::Struct(&BINDING_OVERRIDES)),
    ],
};

const BINDING_OVERRIDES: StructType = StructType {
    name: "types.BindingOverrides",
    inlined: &[],
    fields: &[text("remediationAction")],
};

const POLICY_SET_EXTENSION: StructType = StructType {
    name: "types.PolicySetExtension",
    inlined: &[],
    fields: &[field("exclusions", Type::List(&Type::Struct(&EXCLUSION)))],
};

const EXCLUSION: StructType = StructType {
    name: "types.PolicyExclusion",
    inlined: &[],
    fields: &[
        text("policyName"),
        field("clusterNames", TEXTS),
        text("reason"),
    ],
};

const NAMESPACE_SELECTOR_EXTENSION: StructType = StructType {
    name: "types.NamespaceSelectorExtension",
    inlined: &[],
    fields: &[text("terminatingInclusion")],
};
