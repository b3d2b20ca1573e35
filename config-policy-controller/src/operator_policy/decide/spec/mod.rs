//! Reads the spec of a policy, once its templates are resolved: the desired Subscription and `OperatorGroup`, and the
//! versions that may be installed. Pure.

pub mod defaults;
pub mod names;
mod operator_group;
mod strict;
mod subscription;

use reeve_api::RemediationAction;
use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicySpec};
use serde_json::{Map, Value, json};

use super::state::Part;
pub use operator_group::operator_group;
pub use subscription::{Draft, draft, versions};

/// Whether the operator must or must not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    MustHave,
    MustNotHave,
}

impl Presence {
    pub fn of(spec: &OperatorPolicySpec) -> Self {
        if spec.compliance_type.eq_ignore_ascii_case("mustnothave") {
            Self::MustNotHave
        } else {
            Self::MustHave
        }
    }
}

/// The remediation action of a policy. An unknown word counts as inform.
pub fn remediation(policy: &OperatorPolicy) -> RemediationAction {
    policy
        .spec
        .remediation()
        .unwrap_or(RemediationAction::Inform)
}

/// Whether a policy approves upgrades.
pub fn approves_upgrades(spec: &OperatorPolicySpec) -> bool {
    spec.upgrade_approval.eq_ignore_ascii_case("Automatic")
}

/// The Subscription that the policy asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredSubscription {
    /// The name of the package, and of the object.
    pub name: String,
    pub namespace: String,
    /// The spec, with its defaults.
    pub spec: Map<String, Value>,
}

impl DesiredSubscription {
    pub fn object(&self) -> Value {
        json!({
            "apiVersion": Part::Subscription.api_version(),
            "kind": Part::Subscription.kind(),
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self.spec,
        })
    }

    /// OLM's label of the operator.
    pub fn label(&self) -> String {
        names::olm_label(&self.name, &self.namespace)
    }

    /// A field of the spec, empty if it is not given.
    pub fn field(&self, name: &str) -> &str {
        let field = self.spec.get(name).and_then(Value::as_str);
        field.unwrap_or_default()
    }
}

/// The `OperatorGroup` that the policy asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredGroup {
    /// `None` if the policy does not describe one: any will do, and one for all namespaces is created.
    pub name: Option<String>,
    pub namespace: String,
    pub spec: Map<String, Value>,
}

impl DesiredGroup {
    /// The group of a policy that does not describe one.
    pub fn inferred(namespace: &str) -> Self {
        Self {
            name: None,
            namespace: namespace.to_owned(),
            spec: Map::new(),
        }
    }

    pub fn is_specified(&self) -> bool {
        self.name.is_some()
    }

    pub fn generate_name(&self) -> String {
        format!("{}-", self.namespace)
    }

    pub fn object(&self) -> Value {
        let metadata = match &self.name {
            Some(name) => json!({"name": name, "namespace": self.namespace}),
            None => json!({"generateName": self.generate_name(), "namespace": self.namespace}),
        };
        json!({
            "apiVersion": Part::OperatorGroup.api_version(),
            "kind": Part::OperatorGroup.kind(),
            "metadata": metadata,
            "spec": self.spec,
        })
    }

    /// Whether it is a group for all namespaces. One with a selector is not.
    pub fn selects_all_namespaces(&self) -> bool {
        let is_given = |field: &str| match self.spec.get(field) {
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(fields)) => !fields.is_empty(),
            _ => false,
        };
        !is_given("targetNamespaces") && !is_given("selector")
    }
}

/// The versions that may be installed, as names of `ClusterServiceVersions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Empty means all.
    pub allowed: Vec<String>,
    /// The policy lists versions by templates, and these came to nothing. Nothing is approved then: a missing key of
    /// a `ConfigMap` does not unpin an operator.
    pub unresolved: bool,
}

impl Versions {
    /// Whether all versions are allowed on purpose.
    pub fn are_open(&self) -> bool {
        self.allowed.is_empty() && !self.unresolved
    }
}

/// What a policy asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Desired {
    /// `None` if it cannot be determined: no Subscription is read or written then.
    pub subscription: Option<DesiredSubscription>,
    /// `None` if it cannot be determined.
    pub operator_group: Option<DesiredGroup>,
    pub versions: Versions,
    /// Why the spec is invalid. An invalid policy changes nothing on the cluster.
    pub invalid: Option<String>,
    /// It is invalid only because the operator's namespace does not exist. An enforced policy creates it.
    pub lacks_namespace: bool,
}

impl Desired {
    pub fn invalid(reason: String) -> Self {
        Self {
            invalid: Some(reason),
            ..Self::default()
        }
    }
}
