//! Which changes of a policy trigger an evaluation. Pure.

use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_api::names::{
    DISABLE_TEMPLATES_ANNOTATION, ENCRYPTION_IV_ANNOTATION, UNINSTALLING_ANNOTATION,
};
use reeve_runtime::watch::Change;

/// Whether the policy is to be evaluated. The controller's own status writes do not.
pub fn triggers_evaluation(change: &Change<ConfigurationPolicy>) -> bool {
    match change.valid() {
        (Some(old), Some(new)) => updated(old, new),
        _ => true,
    }
}

fn updated(old: &ConfigurationPolicy, new: &ConfigurationPolicy) -> bool {
    let annotation = |policy: &ConfigurationPolicy, name: &str| {
        policy
            .metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(name))
            .cloned()
    };
    let watched = [
        ENCRYPTION_IV_ANNOTATION,
        DISABLE_TEMPLATES_ANNOTATION,
        UNINSTALLING_ANNOTATION,
    ];
    let state = |policy: &ConfigurationPolicy| {
        policy
            .status
            .as_ref()
            .and_then(|status| status.compliant.clone())
            .unwrap_or_default()
    };
    old.metadata.generation != new.metadata.generation
        || old.metadata.uid != new.metadata.uid
        || new.metadata.deletion_timestamp.is_some()
        || watched.into_iter().any(|name| annotation(old, name) != annotation(new, name))
        // The framework clears `status.compliant` to have the compliance event emitted again.
        || (!state(old).is_empty() && state(new).is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reeve_api::configuration_policy::ConfigurationPolicyStatus;
    use reeve_runtime::object::ObjectKey;
    use reeve_runtime::watch::Cached;
    use rstest::rstest;

    use super::*;

    fn policy(change: impl FnOnce(&mut ConfigurationPolicy)) -> ConfigurationPolicy {
        let mut policy = ConfigurationPolicy::default();
        policy.metadata.generation = Some(1);
        policy.status = Some(ConfigurationPolicyStatus {
            compliant: Some("Compliant".to_owned()),
            ..ConfigurationPolicyStatus::default()
        });
        change(&mut policy);
        policy
    }

    fn annotate(policy: &mut ConfigurationPolicy, name: &str) {
        let annotations = policy.metadata.annotations.get_or_insert_default();
        annotations.insert(name.to_owned(), "x".to_owned());
    }

    #[rstest]
    #[case::spec(policy(|p| p.metadata.generation = Some(2)), true)]
    #[case::label(policy(|p| p.metadata.resource_version = Some("9".to_owned())), false)]
    #[case::status(policy(|p| p.status.as_mut().unwrap().last_evaluated = Some("now".to_owned())), false)]
    #[case::state_cleared(policy(|p| p.status = None), true)]
    #[case::encryption(policy(|p| annotate(p, ENCRYPTION_IV_ANNOTATION)), true)]
    #[case::uninstalling(policy(|p| annotate(p, UNINSTALLING_ANNOTATION)), true)]
    #[case::other_annotation(policy(|p| annotate(p, "a")), false)]
    fn updates(#[case] new: ConfigurationPolicy, #[case] expected: bool) {
        let change = Change {
            key: ObjectKey::new("n", "p"),
            old: Some(Cached::Valid(Arc::new(policy(|_| {})))),
            new: Some(Cached::Valid(Arc::new(new))),
        };
        assert_eq!(triggers_evaluation(&change), expected);
    }
}
