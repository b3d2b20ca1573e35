//! Which changes of a policy trigger a reconcile. Pure.

use reeve_api::names::{DISABLE_TEMPLATES_ANNOTATION, ENCRYPTION_IV_ANNOTATION};
use reeve_api::operator_policy::OperatorPolicy;
use reeve_runtime::watch::Change;

/// Whether the policy is to be reconciled. The controller's own status writes do not.
pub fn triggers_reconcile(change: &Change<OperatorPolicy>) -> bool {
    match change.valid() {
        (Some(old), Some(new)) => updated(old, new),
        _ => true,
    }
}

fn updated(old: &OperatorPolicy, new: &OperatorPolicy) -> bool {
    let annotation = |policy: &OperatorPolicy, name: &str| {
        let annotations = policy.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(name)).cloned()
    };
    let mut annotations = [ENCRYPTION_IV_ANNOTATION, DISABLE_TEMPLATES_ANNOTATION].into_iter();
    let is_reset = |policy: &OperatorPolicy| {
        let status = policy.status.as_ref();
        let compliant = status.and_then(|status| status.compliant.as_deref());
        compliant.unwrap_or_default().is_empty()
    };
    old.metadata.generation != new.metadata.generation
        || old.metadata.uid != new.metadata.uid
        || old.metadata.labels != new.metadata.labels
        || new.metadata.deletion_timestamp.is_some()
        || annotations.any(|name| annotation(old, name) != annotation(new, name))
        || (!is_reset(old) && is_reset(new))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reeve_runtime::object::ObjectKey;
    use reeve_runtime::watch::Cached;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn policy(change: &Value) -> OperatorPolicy {
        let mut policy = json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "OperatorPolicy",
            "metadata": {"name": "p", "namespace": "managed", "generation": 1, "annotations": {}},
            "spec": {},
            "status": {"compliant": "Compliant", "relatedObjects": []},
        });
        for (pointer, value) in change.as_object().unwrap() {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            policy.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        serde_json::from_value(policy).unwrap()
    }

    #[rstest]
    #[case::new_spec(json!({"/metadata/generation": 2}), true)]
    #[case::being_deleted(json!({"/metadata/deletionTimestamp": "2026-01-01T00:00:00Z"}), true)]
    #[case::templates_off(
        json!({"/metadata/annotations": {"policy.open-cluster-management.io/disable-templates": "true"}}),
        true
    )]
    #[case::reset_by_the_framework(json!({"/status/compliant": null}), true)]
    #[case::own_status(json!({"/status/compliant": "NonCompliant"}), false)]
    #[case::other_annotation(json!({"/metadata/annotations": {"a": "b"}}), false)]
    fn op_3_changes_that_trigger(#[case] change: Value, #[case] expected: bool) {
        let cached = |policy| Some(Cached::Valid(Arc::new(policy)));
        let change = Change {
            key: ObjectKey::new("managed", "p"),
            old: cached(policy(&json!({}))),
            new: cached(policy(&change)),
        };
        assert_eq!(triggers_reconcile(&change), expected);
    }
}
