//! A policy in a cluster's namespace, on the hub or on the managed cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use reeve_api::Policy;
use reeve_api::names::POLICY_API_VERSION;
use reeve_api::policy::{DetailsPerTemplate, PolicySpec, PolicyStatus};
use reeve_runtime::interned::{SharedText, SharedValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A policy whose spec and status stay untyped and are shared: a replica must not lose the fields of a newer release, and a spec that cannot be
/// decoded must still be replicated. Clusters have specs in common and statuses of their own, so these are kept as text.
#[derive(Resource, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[resource(inherit = Policy)]
#[serde(rename_all = "camelCase")]
pub struct Replica {
    /// Always that of policies.
    #[serde(default = "api_version")]
    pub api_version: String,
    /// Always `Policy`.
    #[serde(default = "kind")]
    pub kind: String,
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// A [`PolicySpec`], perhaps with fields that this release does not know.
    #[serde(default)]
    pub spec: SharedValue,
    /// A [`PolicyStatus`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SharedText>,
}

fn api_version() -> String {
    POLICY_API_VERSION.to_owned()
}

fn kind() -> String {
    "Policy".to_owned()
}

impl Replica {
    /// A policy without a status.
    pub fn new(metadata: ObjectMeta, spec: impl Into<SharedValue>) -> Self {
        Self {
            api_version: api_version(),
            kind: kind(),
            metadata,
            spec: spec.into(),
            status: None,
        }
    }

    /// The name; empty only for an object that no API server has seen.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The uid, empty likewise.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The typed spec, or the decoding error.
    pub fn typed_spec(&self) -> Result<PolicySpec, serde_json::Error> {
        PolicySpec::deserialize(&*self.spec)
    }

    /// The status as JSON; null if there is none.
    pub fn status(&self) -> Value {
        self.status
            .as_ref()
            .map(SharedText::value)
            .unwrap_or_default()
    }

    /// The typed status; an absent one is empty.
    pub fn typed_status(&self) -> Result<PolicyStatus, serde_json::Error> {
        match self.status() {
            Value::Null => Ok(PolicyStatus::default()),
            status => PolicyStatus::deserialize(status),
        }
    }

    /// The entry of one template in the status. The types of the others are not read: a policy may have hundreds.
    pub fn details(&self, template: &str) -> Option<DetailsPerTemplate> {
        let status = self.status();
        let all = status.get("details")?.as_array()?;
        let is_its = |details: &&Value| {
            let name = details.pointer("/templateMeta/name");
            name.and_then(Value::as_str).unwrap_or_default() == template
        };
        DetailsPerTemplate::deserialize(all.iter().find(is_its)?).ok()
    }

    /// The annotations; absent and empty are the same.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.metadata.annotations.clone().unwrap_or_default()
    }

    /// The labels; absent and empty are the same.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.metadata.labels.clone().unwrap_or_default()
    }

    /// Whether two policies have equal annotations and equal specs, as far as this release decodes them. The status of one then is
    /// the status of the other. An older CRD on the managed cluster prunes unknown fields, which therefore must not count; the
    /// fields that this release knows are in both.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        if self.annotations() != other.annotations() {
            return false;
        }
        // Most are equal without decoding, which is expensive.
        self.spec == other.spec
            || match (self.typed_spec(), other.typed_spec()) {
                (Ok(one), Ok(two)) => one == two,
                _ => false,
            }
    }
}

/// Whether two statuses are equal. Null fields, which older releases wrote, equal absent ones.
pub fn same_status(one: &Value, two: &Value) -> bool {
    let normalized = |status: &Value| {
        let mut status = status.clone();
        drop_nulls(&mut status);
        match status {
            Value::Object(fields) if fields.is_empty() => Value::Null,
            other => other,
        }
    };
    normalized(one) == normalized(two)
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy(spec: Value) -> Replica {
        Replica::new(ObjectMeta::default(), spec)
    }

    #[test]
    fn fwk_47_unknown_fields_survive_a_round_trip() {
        let stored = json!({
            "apiVersion": POLICY_API_VERSION, "kind": "Policy", "metadata": {"name": "p"},
            "spec": {"disabled": false, "policy-templates": [], "fromTheFuture": {"a": 1}}
        });
        let read = Replica::deserialize(&stored).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), stored);
    }

    #[test]
    fn field_that_only_one_cluster_knows_does_not_block_the_status() {
        let known = json!({"disabled": false, "policy-templates": []});
        let newer = json!({"disabled": false, "policy-templates": [], "fromTheFuture": 1});
        assert!(policy(known.clone()).is_equivalent(&policy(newer)));
        let other = json!({"disabled": true, "policy-templates": []});
        assert!(!policy(known).is_equivalent(&policy(other)));
    }

    #[test]
    fn annotations_are_compared_and_labels_are_not() {
        let spec = json!({"disabled": false, "policy-templates": []});
        let mut other = policy(spec.clone());
        other.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        other.metadata.annotations = Some(BTreeMap::new());
        assert!(policy(spec.clone()).is_equivalent(&other));
        other.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
        assert!(!policy(spec).is_equivalent(&other));
    }

    #[test]
    fn null_and_absent_are_the_same_status() {
        let old = json!({"details": [{"templateMeta": {"name": "t", "creationTimestamp": null}}]});
        let new = json!({"details": [{"templateMeta": {"name": "t"}}]});
        assert!(same_status(&old, &new));
        assert!(same_status(&Value::Null, &json!({})));
        assert!(!same_status(&Value::Null, &new));
    }
}
