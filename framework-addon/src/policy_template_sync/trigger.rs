//! Which changes of a policy affect its template objects.

use reeve_api::policy::{PolicySpec, PolicyStatus};
use reeve_runtime::watch::{Cached, Change};

use super::messages::ERROR;
use crate::replica::Replica;

/// Whether a change of a policy enqueues it for template sync.
///
/// Most changes are of statuses and do not. A status does when a late report of an evaluator hides that the policy waits for
/// dependencies or is in error: then template sync has to report again.
pub fn affects_template_objects(change: &Change<Replica>) -> bool {
    let (Some(Cached::Valid(old)), Some(Cached::Valid(new))) = (&change.old, &change.new) else {
        return true;
    };
    if old.metadata.generation != new.metadata.generation
        || old.metadata.labels != new.metadata.labels
        || old.metadata.finalizers != new.metadata.finalizers
        || old.metadata.uid != new.metadata.uid
    {
        return true;
    }
    let (Ok(spec), Ok(status)) = (new.typed_spec(), new.typed_status()) else {
        return true;
    };
    let dependency_state = status.compliant.as_deref() == Some("Pending");
    (has_dependencies(&spec) && !dependency_state) || hides_an_error(&status)
}

fn has_dependencies(spec: &PolicySpec) -> bool {
    let templates = spec.policy_templates.iter();
    let mut extra = templates.flat_map(|template| template.extra_dependencies.iter().flatten());
    spec.dependencies.iter().flatten().next().is_some() || extra.next().is_some()
}

fn hides_an_error(status: &PolicyStatus) -> bool {
    status.details.iter().flatten().any(|details| {
        let mut messages = details
            .history
            .iter()
            .flatten()
            .map(|entry| entry.message.as_deref());
        let is_error = |message: Option<&str>| {
            message.is_some_and(|text| text.contains(ERROR.trim_end_matches("; ")))
        };
        messages.position(is_error).is_some_and(|place| place > 0)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use reeve_runtime::object::ObjectKey;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    // As changes have it.
    #[allow(clippy::unnecessary_wraps)]
    fn policy(generation: i64, dependencies: &Value, status: &Value) -> Option<Cached<Replica>> {
        let metadata = ObjectMeta {
            generation: Some(generation),
            ..ObjectMeta::default()
        };
        let spec = json!({"disabled": false, "policy-templates": [], "dependencies": dependencies});
        let mut policy = Replica::new(metadata, spec);
        policy.status = Some(status.into());
        Some(Cached::Valid(Arc::new(policy)))
    }

    fn history(messages: &[&str]) -> Value {
        let entries: Vec<_> = messages
            .iter()
            .map(|message| json!({"message": message}))
            .collect();
        json!({"details": [{"history": entries}]})
    }

    #[rstest]
    #[case::status(policy(1, &json!([]), &history(&["Compliant"])), false)]
    #[case::spec(policy(2, &json!([]), &json!({})), true)]
    #[case::gone(None, true)]
    #[case::unreadable(Some(Cached::Invalid("odd".into())), true)]
    #[case::error_on_top(policy(1, &json!([]), &history(&["NonCompliant; template-error; x", "y"])), false)]
    #[case::error_covered(policy(1, &json!([]), &history(&["y", "NonCompliant; template-error; x"])), true)]
    #[case::error_again(policy(1, &json!([]), &history(&["NonCompliant; template-error; x", "y", "NonCompliant; template-error; x"])), false)]
    #[case::dependency_state(policy(1, &json!([{"apiVersion": "v1", "kind": "K", "name": "n", "compliance": "Compliant"}]), &json!({"compliant": "Pending"})), false)]
    #[case::waited(policy(1, &json!([{"apiVersion": "v1", "kind": "K", "name": "n", "compliance": "Compliant"}]), &json!({"compliant": "Compliant"})), true)]
    fn change_affects_template_objects(
        #[case] new: Option<Cached<Replica>>,
        #[case] expected: bool,
    ) {
        let change = Change {
            key: ObjectKey::new("c1", "ns.p"),
            old: policy(1, &json!([]), &json!({})),
            new,
        };
        assert_eq!(affects_template_objects(&change), expected);
    }
}
