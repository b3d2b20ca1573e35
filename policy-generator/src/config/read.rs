//! Reads a document: once into its types, for values and errors, and once untyped, to tell `false` from unset.

use std::collections::BTreeMap;
use std::rc::Rc;

use reeve_go_compat::value::{Map, Struct, Value};
use reeve_go_compat::yaml::{self, Type, YamlError};

use super::schema;
use super::suggest::with_suggestions;
use super::unread;
use super::{
    BindingOptions, Dependency, Generator, Halves, ManifestConfig, PlacementConfig, PlacementSpec,
    PolicyConfig, PolicyDefaults, PolicyOptions, PolicySetConfig, PolicySetDefaults,
    TemplateOptions,
};
use crate::error::Error;
use crate::messages;
use crate::notices::Notices;
use crate::settings::Mode;
use crate::values::{set, text_of};

/// Reads the first document of a text.
pub fn read(text: &[u8], mode: Mode, warnings: &mut Notices) -> Result<Generator, Error> {
    let invalid = |error: YamlError| Error::new(messages::invalid_configuration(&error));
    let document = schema::generator(mode);
    let typed = yaml::decode_typed(text, Type::Struct(document))
        .map_err(|error| invalid(with_suggestions(error, mode)))?;
    let Some(typed) = typed else {
        return Err(Error::new(messages::invalid_configuration(&"EOF")));
    };
    let untyped = yaml::decode(text).map_err(invalid)?;
    unread::warn(text, &untyped, document, warnings);
    let reader = Reader::new(&typed, Some(&untyped), String::new());
    let mut generator = Generator {
        binding_name: reader.child("placementBindingDefaults").text("name"),
        ..Generator::default()
    };
    generator.defaults = reader.child("policyDefaults").defaults(warnings);
    let set_defaults = reader.child("policySetDefaults");
    generator.set_defaults = PolicySetDefaults {
        placement: set_defaults.child("placement").placement(),
        generate_placement: set_defaults.strict("generatePolicySetPlacement", warnings),
    };
    generator.policies = reader
        .children("policies")
        .map(|policy| policy.policy(warnings))
        .collect();
    generator.policy_sets = reader
        .children("policySets")
        .map(|set| set.policy_set(warnings))
        .collect();
    Ok(generator)
}

/// A mapping of the document, as typed fields and as it was written.
struct Reader {
    typed: Option<Map>,
    untyped: Option<Map>,
    /// Where it is, as `policies[0].`.
    path: String,
}

impl Reader {
    fn new(typed: &Value, untyped: Option<&Value>, path: String) -> Self {
        let map = |value: &Value| match value {
            Value::Map(map) => Some(map.clone()),
            _ => None,
        };
        Self {
            typed: map(typed),
            untyped: untyped.and_then(map),
            path,
        }
    }

    fn get(&self, key: &str) -> Option<Value> {
        self.typed.as_ref()?.get_str(key)
    }

    fn written(&self, key: &str) -> Option<Value> {
        self.untyped.as_ref()?.get_str(key)
    }

    fn child(&self, key: &str) -> Self {
        let typed = self.get(key).unwrap_or(Value::Nil);
        Self::new(
            &typed,
            self.written(key).as_ref(),
            format!("{}{key}.", self.path),
        )
    }

    /// The entries of a list of structs. Null entries are in neither form, but count for where the others are.
    fn children(&self, key: &str) -> impl Iterator<Item = Self> {
        let typed = items(self.get(key));
        let written: Vec<(usize, Value)> = items(self.written(key))
            .into_iter()
            .enumerate()
            .filter(|(_, item)| !item.is_nil())
            .collect();
        let path = format!("{}{key}", self.path);
        typed.into_iter().enumerate().map(move |(position, item)| {
            let written = written.get(position);
            let index = written.map_or(position, |(index, _)| *index);
            let written = written.map(|(_, item)| item);
            Self::new(&item, written, format!("{path}[{index}]."))
        })
    }

    fn text(&self, key: &str) -> String {
        self.get(key).as_ref().map(text_of).unwrap_or_default()
    }

    fn bool(&self, key: &str) -> Option<bool> {
        match self.get(key) {
            Some(Value::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// A boolean for which upstream takes no other spelling than `true` and `false`.
    fn strict(&self, key: &str, warnings: &mut Notices) -> Option<bool> {
        match self.written(key) {
            Some(Value::Bool(value)) => Some(value),
            Some(other) if self.bool(key).is_some() => {
                let (path, written) = (&self.path, text_of(&other));
                warnings.warn(messages::ignored_boolean(&format!("{path}{key}"), &written));
                None
            }
            _ => None,
        }
    }

    fn has(&self, key: &str) -> bool {
        self.written(key).is_some()
    }

    fn texts(&self, key: &str) -> Option<Vec<String>> {
        let list = self.get(key)?;
        Some(items(Some(list)).iter().map(text_of).collect())
    }

    fn text_map(&self, key: &str) -> Option<BTreeMap<String, String>> {
        let Some(Value::Map(map)) = self.get(key) else {
            return None;
        };
        let entries = map.entries().into_iter();
        Some(
            entries
                .map(|(key, value)| (text_of(&key.to_value()), text_of(&value)))
                .collect(),
        )
    }

    fn defaults(&self, warnings: &mut Notices) -> PolicyDefaults {
        let mut policy = self.policy_options(warnings);
        // At this level these take the words of YAML 1.1, too.
        policy.disabled = self.bool("disabled");
        policy.generate_placement_when_in_set = self.bool("generatePlacementWhenInSet");
        policy.order_manifests = self.bool("orderManifests");
        let mut template = self.template_options();
        template.ignore_pending = self.bool("ignorePending");
        PolicyDefaults {
            namespace: self.text("namespace"),
            order_policies: self.bool("orderPolicies").unwrap_or(false),
            policy,
            template,
        }
    }

    fn policy(&self, warnings: &mut Notices) -> PolicyConfig {
        let mut policy = self.policy_options(warnings);
        policy.disabled = self.strict("disabled", warnings);
        policy.generate_placement_when_in_set = self.strict("generatePlacementWhenInSet", warnings);
        policy.order_manifests = self.present("orderManifests");
        if self.has("dependencies") {
            policy.dependencies.get_or_insert_default();
        }
        let mut template = self.template_options();
        template.ignore_pending = self.strict("ignorePending", warnings);
        if self.has("extraDependencies") {
            template.extra_dependencies.get_or_insert_default();
        }
        PolicyConfig {
            name: self.text("name"),
            policy,
            template,
            manifests: self
                .children("manifests")
                .map(|one| one.manifest())
                .collect(),
        }
    }

    fn manifest(&self) -> ManifestConfig {
        let mut template = self.template_options();
        template.ignore_pending = self.present("ignorePending");
        if self.has("extraDependencies") {
            template.extra_dependencies.get_or_insert_default();
        }
        ManifestConfig {
            name: self.text("name"),
            path: self.text("path"),
            patches: items(self.get("patches")),
            openapi: self.child("openapi").text("path"),
            template,
        }
    }

    /// A boolean whose key ends the inheritance, whatever is behind it.
    fn present(&self, key: &str) -> Option<bool> {
        self.has(key).then(|| self.bool(key).unwrap_or(false))
    }

    fn policy_options(&self, warnings: &mut Notices) -> PolicyOptions {
        PolicyOptions {
            categories: self.texts("categories"),
            controls: self.texts("controls"),
            standards: self.texts("standards"),
            description: self.text("description"),
            annotations: self.text_map("policyAnnotations"),
            labels: self.text_map("policyLabels"),
            configuration_policy_annotations: self.text_map("configurationPolicyAnnotations"),
            copy_policy_metadata: self.strict("copyPolicyMetadata", warnings),
            disabled: None,
            hub_template_service_account: self
                .child("hubTemplateOptions")
                .text("serviceAccountName"),
            dependencies: self.dependencies("dependencies"),
            consolidate_manifests: self.strict("consolidateManifests", warnings),
            order_manifests: None,
            inform_gatekeeper_policies: self.strict("informGatekeeperPolicies", warnings),
            inform_kyverno_policies: self.strict("informKyvernoPolicies", warnings),
            generate_policy_placement: self.strict("generatePolicyPlacement", warnings),
            generate_placement_when_in_set: None,
            policy_sets: self.texts("policySets"),
            placement: self.child("placement").placement(),
        }
    }

    fn template_options(&self) -> TemplateOptions {
        TemplateOptions {
            extra_dependencies: self.dependencies("extraDependencies"),
            ignore_pending: None,
            remediation_action: self.text("remediationAction"),
            severity: self.text("severity"),
            compliance_type: self.text("complianceType"),
            metadata_compliance_type: self.text("metadataComplianceType"),
            recreate_option: self.text("recreateOption"),
            record_diff: self.text("recordDiff"),
            prune_object_behavior: self.text("pruneObjectBehavior"),
            gatekeeper_enforcement_action: self.text("gatekeeperEnforcementAction"),
            object_selector: self.child("objectSelector").selector(),
            namespace_selector: self.child("namespaceSelector").selector(),
            evaluation_interval: self.child("evaluationInterval").halves(),
            custom_message: self.child("customMessage").halves(),
        }
    }

    fn dependencies(&self, key: &str) -> Option<Vec<Dependency>> {
        self.get(key)?;
        let entries = self.children(key).map(|entry| Dependency {
            api_version: entry.text("apiVersion"),
            compliance: entry.text("compliance"),
            kind: entry.text("kind"),
            name: entry.text("name"),
            namespace: entry.text("namespace"),
        });
        Some(entries.collect())
    }

    fn halves(&self) -> Halves {
        let half = |key| {
            let text = self.text(key);
            let is_text = matches!(self.written(key), Some(Value::Str(_)));
            (is_text || !text.is_empty()).then_some(text)
        };
        Halves {
            compliant: half("compliant"),
            noncompliant: half("noncompliant"),
        }
    }

    fn placement(&self) -> PlacementConfig {
        PlacementConfig {
            label_selector: self.get("labelSelector"),
            name: self.text("name"),
            path: self.text("placementPath"),
            placement_name: self.text("placementName"),
            spec: PlacementSpec {
                cluster_sets: self.texts("clusterSets"),
                number_of_clusters: self.written_if_known("numberOfClusters"),
                prioritizer_policy: self.get("prioritizerPolicy"),
            },
            binding: BindingOptions {
                sub_filter: self.text("subFilter"),
                remediation_action: self.child("bindingOverrides").text("remediationAction"),
            },
        }
    }

    /// A field of the schema with the type that it has in the text.
    fn written_if_known(&self, key: &str) -> Option<Value> {
        self.get(key).and_then(|_| self.written(key))
    }

    fn policy_set(&self, warnings: &mut Notices) -> PolicySetConfig {
        PolicySetConfig {
            name: self.text("name"),
            description: self.text("description"),
            policies: self.texts("policies").unwrap_or_default(),
            placement: self.child("placement").placement(),
            generate_placement: self.strict("generatePolicySetPlacement", warnings),
            exclusions: self
                .children("exclusions")
                .map(|one| one.exclusion())
                .collect(),
        }
    }

    fn exclusion(&self) -> Value {
        let exclusion = Map::dict();
        for key in ["policyName", "reason"] {
            if let Some(text) = self.get(key) {
                set(&exclusion, key, text);
            }
        }
        let clusters = self.texts("clusterNames").unwrap_or_default();
        set(&exclusion, "clusterNames", Value::strings(clusters));
        Value::Map(exclusion)
    }

    /// A selector as it is written: its parts in the order of their declaration. `None` if no part was given. Empty labels and
    /// expressions stay, because a selector with them selects everything and one without any part selects nothing.
    fn selector(&self) -> Option<Value> {
        const PARTS: [&str; 5] = [
            "matchLabels",
            "matchExpressions",
            "exclude",
            "include",
            "terminatingInclusion",
        ];
        if PARTS.iter().all(|part| self.get(part).is_none()) {
            return None;
        }
        let mut fields = Vec::new();
        for part in PARTS {
            let value = self.get(part).unwrap_or(Value::Nil);
            let stays_empty = matches!(part, "matchLabels" | "matchExpressions") && !value.is_nil();
            if !stays_empty && !value.truth() {
                continue;
            }
            let value = match part {
                "matchExpressions" => {
                    Value::list(self.children(part).map(|entry| entry.requirement()))
                }
                _ => value,
            };
            fields.push((part.to_owned(), value));
        }
        Some(Value::Struct(Rc::new(Struct::new("selector", fields))))
    }

    fn requirement(&self) -> Value {
        let text = |key: &str| (key.to_owned(), Value::str(self.text(key)));
        let values = self.texts("values").unwrap_or_default();
        let values = ("values".to_owned(), Value::strings(values));
        let fields = vec![text("key"), text("operator"), values];
        Value::Struct(Rc::new(Struct::new("requirement", fields)))
    }
}

fn items(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::List(list)) => list.to_vec(),
        _ => Vec::new(),
    }
}
