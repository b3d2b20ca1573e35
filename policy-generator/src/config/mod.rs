//! The configuration: what a `PolicyGenerator` document asks for, with everything inherited and checked.

mod inherit;
mod read;
pub mod schema;
mod suggest;
mod unread;
mod validate;

use std::collections::BTreeMap;

use reeve_go_compat::value::Value;

pub use read::read;
pub use validate::validate;

/// A whole document.
#[derive(Clone, Debug, Default)]
pub struct Generator {
    /// `placementBindingDefaults.name`
    pub binding_name: String,
    /// `policyDefaults`
    pub defaults: PolicyDefaults,
    /// `policySetDefaults`
    pub set_defaults: PolicySetDefaults,
    /// `policies`
    pub policies: Vec<PolicyConfig>,
    /// `policySets`, and those that only policies name.
    pub policy_sets: Vec<PolicySetConfig>,
}

/// `policyDefaults`
#[derive(Clone, Debug, Default)]
pub struct PolicyDefaults {
    /// The namespace of all objects.
    pub namespace: String,
    /// Whether each policy depends on the one before it.
    pub order_policies: bool,
    /// What policies inherit.
    pub policy: PolicyOptions,
    /// What policies and manifests inherit.
    pub template: TemplateOptions,
}

/// One of `policies`.
#[derive(Clone, Debug, Default)]
pub struct PolicyConfig {
    /// Its name.
    pub name: String,
    /// Its own options.
    pub policy: PolicyOptions,
    /// What its manifests inherit.
    pub template: TemplateOptions,
    /// Its manifests.
    pub manifests: Vec<ManifestConfig>,
}

/// One of `manifests`.
#[derive(Clone, Debug, Default)]
pub struct ManifestConfig {
    /// The name of its configuration policies; empty is the policy's.
    pub name: String,
    /// A file or a directory.
    pub path: String,
    /// Strategic merge patches; nil for a null entry.
    pub patches: Vec<Value>,
    /// The file of a schema for the patches.
    pub openapi: String,
    /// Its options.
    pub template: TemplateOptions,
}

/// The options of a policy; `None` is unset, and inherits.
#[derive(Clone, Debug, Default)]
pub struct PolicyOptions {
    pub categories: Option<Vec<String>>,
    pub controls: Option<Vec<String>>,
    pub standards: Option<Vec<String>>,
    pub description: String,
    pub annotations: Option<BTreeMap<String, String>>,
    pub labels: Option<BTreeMap<String, String>>,
    pub configuration_policy_annotations: Option<BTreeMap<String, String>>,
    pub copy_policy_metadata: Option<bool>,
    pub disabled: Option<bool>,
    pub hub_template_service_account: String,
    pub dependencies: Option<Vec<Dependency>>,
    pub consolidate_manifests: Option<bool>,
    pub order_manifests: Option<bool>,
    pub inform_gatekeeper_policies: Option<bool>,
    pub inform_kyverno_policies: Option<bool>,
    pub generate_policy_placement: Option<bool>,
    pub generate_placement_when_in_set: Option<bool>,
    pub policy_sets: Option<Vec<String>>,
    pub placement: PlacementConfig,
}

/// The options of what becomes a policy template; `None` and empty text are unset, and inherit.
#[derive(Clone, Debug, Default)]
pub struct TemplateOptions {
    pub extra_dependencies: Option<Vec<Dependency>>,
    pub ignore_pending: Option<bool>,
    pub remediation_action: String,
    pub severity: String,
    pub compliance_type: String,
    pub metadata_compliance_type: String,
    pub recreate_option: String,
    pub record_diff: String,
    pub prune_object_behavior: String,
    pub gatekeeper_enforcement_action: String,
    /// As it is written into the object template.
    pub object_selector: Option<Value>,
    /// As it is written into the configuration policy.
    pub namespace_selector: Option<Value>,
    pub evaluation_interval: Halves,
    pub custom_message: Halves,
}

/// One text for compliant and one for noncompliant policies. `Some("")` ends the inheritance.
#[derive(Clone, Debug, Default)]
pub struct Halves {
    pub compliant: Option<String>,
    pub noncompliant: Option<String>,
}

/// `placement`
#[derive(Clone, Debug, Default)]
pub struct PlacementConfig {
    /// The map as it was given.
    pub label_selector: Option<Value>,
    pub name: String,
    pub path: String,
    pub placement_name: String,
    /// What a generated placement has beside its predicate.
    pub spec: PlacementSpec,
    /// What its binding has beside its subjects.
    pub binding: BindingOptions,
}

/// Fields of the spec of a Placement. Upstream's generator does not know them.
#[derive(Clone, Debug, Default)]
pub struct PlacementSpec {
    pub cluster_sets: Option<Vec<String>>,
    /// As it was written; a number after validation.
    pub number_of_clusters: Option<Value>,
    /// As it was given.
    pub prioritizer_policy: Option<Value>,
}

/// Fields of a PlacementBinding, empty if unset. Upstream's generator does not know them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindingOptions {
    pub sub_filter: String,
    /// `bindingOverrides.remediationAction`
    pub remediation_action: String,
}

/// `policySetDefaults`
#[derive(Clone, Debug, Default)]
pub struct PolicySetDefaults {
    pub placement: PlacementConfig,
    pub generate_placement: Option<bool>,
}

/// One of `policySets`.
#[derive(Clone, Debug, Default)]
pub struct PolicySetConfig {
    pub name: String,
    pub description: String,
    pub policies: Vec<String>,
    pub placement: PlacementConfig,
    pub generate_placement: Option<bool>,
    /// As they are written into the policy set.
    pub exclusions: Vec<Value>,
}

/// An entry of `dependencies` or `extraDependencies`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    pub api_version: String,
    pub compliance: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
}

impl Halves {
    /// Neither has text.
    pub fn is_empty(&self) -> bool {
        self.compliant().is_empty() && self.noncompliant().is_empty()
    }

    /// The text for compliant policies, perhaps empty.
    pub fn compliant(&self) -> &str {
        self.compliant.as_deref().unwrap_or_default()
    }

    /// The text for noncompliant policies, perhaps empty.
    pub fn noncompliant(&self) -> &str {
        self.noncompliant.as_deref().unwrap_or_default()
    }
}

impl PlacementConfig {
    /// Whether the selector has entries: an empty one chooses nothing by itself.
    pub fn has_selector(&self) -> bool {
        matches!(&self.label_selector, Some(Value::Map(map)) if !map.is_empty())
    }

    /// Whether the generator makes the placement: otherwise it is that of a file, or is on the hub already.
    pub fn is_generated(&self) -> bool {
        self.path.is_empty() && self.placement_name.is_empty()
    }

    /// Whether it says which clusters: its name does not.
    pub fn is_set(&self) -> bool {
        self.has_selector() || !self.path.is_empty() || !self.placement_name.is_empty()
    }
}

impl PlacementSpec {
    /// The fields that are set, by their names in a Placement.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        let sets = self.cluster_sets.as_ref().filter(|sets| !sets.is_empty());
        let fields = [
            ("clusterSets", sets.map(|sets| Value::strings(sets.clone()))),
            ("numberOfClusters", self.number_of_clusters.clone()),
            ("prioritizerPolicy", self.prioritizer_policy.clone()),
        ];
        let fields = fields.into_iter();
        fields
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

impl TemplateOptions {
    /// The extra dependencies, none if unset.
    pub fn extra_dependencies(&self) -> &[Dependency] {
        self.extra_dependencies.as_deref().unwrap_or_default()
    }

    /// Whether pending templates are ignored; false if unset.
    pub fn ignores_pending(&self) -> bool {
        self.ignore_pending.unwrap_or(false)
    }
}
