//! Decides about the managed cluster's replica of a policy.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_api::names::{CLUSTER_NAMESPACE_LABEL, GROUP};
use reeve_runtime::watch::Cached;

use super::messages;
use super::observe::ObservedPolicy;
use crate::replica::Replica;

/// The decision about the replica.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecAction {
    /// It equals the hub's policy, or is being deleted.
    Nothing,
    /// One of the two cannot be decoded: the replica is left as it is. The text names the cluster.
    Leave(&'static str),
    /// The hub has no such policy.
    Delete {
        /// The replica's uid.
        uid: Option<String>,
    },
    /// There is no replica.
    Create(Box<Replica>),
    /// The replica differs. This is the whole updated one, with the resource version that was read.
    Update(Box<Replica>),
}

/// Decides about the replica in `namespace`.
pub fn decide(observed: &ObservedPolicy, namespace: &str) -> SpecAction {
    match (&observed.hub, &observed.managed) {
        (None, None) => SpecAction::Nothing,
        (Some(Cached::Invalid(_)), _) => SpecAction::Leave(messages::UNDECODABLE_ON_HUB),
        (_, Some(Cached::Invalid(_))) => SpecAction::Leave(messages::UNDECODABLE_ON_MANAGED),
        (None, Some(Cached::Valid(replica))) if replica.metadata.deletion_timestamp.is_some() => {
            SpecAction::Nothing
        }
        (None, Some(Cached::Valid(replica))) => SpecAction::Delete {
            uid: replica.metadata.uid.clone(),
        },
        (Some(Cached::Valid(policy)), None) => {
            SpecAction::Create(Box::new(replica(policy, namespace)))
        }
        (Some(Cached::Valid(policy)), Some(Cached::Valid(replica))) => {
            update(policy, replica, namespace)
        }
    }
}

fn replica(policy: &Replica, namespace: &str) -> Replica {
    let annotations = policy.annotations();
    let labels = labels(policy, namespace);
    let metadata = ObjectMeta {
        name: policy.metadata.name.clone(),
        namespace: Some(namespace.to_owned()),
        labels: (!labels.is_empty()).then_some(labels),
        annotations: (!annotations.is_empty()).then_some(annotations),
        ..ObjectMeta::default()
    };
    Replica::new(metadata, policy.spec.clone())
}

/// The hub's labels, with the namespace label set to the namespace on this cluster, which differs in hosted mode.
fn labels(policy: &Replica, namespace: &str) -> BTreeMap<String, String> {
    let mut labels = policy.labels();
    if let Some(value) = labels.get_mut(CLUSTER_NAMESPACE_LABEL)
        && !value.is_empty()
    {
        namespace.clone_into(value);
    }
    labels
}

fn update(policy: &Replica, replica: &Replica, namespace: &str) -> SpecAction {
    let (annotations, labels) = (
        policy.annotations(),
        merged_labels(policy, replica, namespace),
    );
    if replica.spec == policy.spec
        && replica.annotations() == annotations
        && replica.labels() == labels
    {
        return SpecAction::Nothing;
    }
    let mut changed = replica.clone();
    changed.spec = policy.spec.clone();
    changed.metadata.annotations = Some(annotations);
    changed.metadata.labels = Some(labels);
    SpecAction::Update(Box::new(changed))
}

/// The hub's labels, and those that others have added to the replica. Labels with the framework's prefix come from the hub only.
fn merged_labels(policy: &Replica, replica: &Replica, namespace: &str) -> BTreeMap<String, String> {
    let mut merged = replica.labels();
    merged.retain(|label, _| {
        label
            .split_once('/')
            .is_none_or(|(prefix, _)| prefix != GROUP)
    });
    merged.extend(labels(policy, namespace));
    merged
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
    use reeve_api::names::ROOT_POLICY_LABEL;
    use serde_json::json;

    use super::*;

    // As metadata has it.
    #[allow(clippy::unnecessary_wraps)]
    fn of(pairs: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Some(pairs.collect())
    }

    fn hub_policy() -> Replica {
        let metadata = ObjectMeta {
            name: Some("ns.p".to_owned()),
            namespace: Some("c1".to_owned()),
            uid: Some("hub".to_owned()),
            resource_version: Some("7".to_owned()),
            labels: of(&[(ROOT_POLICY_LABEL, "ns.p"), (CLUSTER_NAMESPACE_LABEL, "c1")]),
            annotations: of(&[("note", "x")]),
            finalizers: Some(vec!["hub/only".to_owned()]),
            owner_references: Some(vec![OwnerReference::default()]),
            ..ObjectMeta::default()
        };
        Replica::new(metadata, json!({"disabled": false, "new": {"field": 1}}))
    }

    fn managed_policy() -> Replica {
        let mut managed = replica(&hub_policy(), "klusterlet-c1");
        managed.metadata.uid = Some("managed".to_owned());
        managed.metadata.resource_version = Some("3".to_owned());
        managed
    }

    fn decided(hub: Option<Replica>, managed: Option<Replica>) -> SpecAction {
        let known = |policy: Option<Replica>| policy.map(|policy| Cached::Valid(Arc::new(policy)));
        let observed = ObservedPolicy {
            hub: known(hub),
            managed: known(managed),
        };
        decide(&observed, "klusterlet-c1")
    }

    #[test]
    fn new_policy_is_copied_without_hub_metadata() {
        let SpecAction::Create(created) = decided(Some(hub_policy()), None) else {
            panic!("not created");
        };
        let expected = ObjectMeta {
            name: Some("ns.p".to_owned()),
            namespace: Some("klusterlet-c1".to_owned()),
            labels: of(&[
                (ROOT_POLICY_LABEL, "ns.p"),
                (CLUSTER_NAMESPACE_LABEL, "klusterlet-c1"),
            ]),
            annotations: of(&[("note", "x")]),
            ..ObjectMeta::default()
        };
        assert_eq!(created.metadata, expected);
        assert_eq!(created.spec, hub_policy().spec);
    }

    #[test]
    fn equal_replica_is_not_written() {
        assert_eq!(
            decided(Some(hub_policy()), Some(managed_policy())),
            SpecAction::Nothing
        );
        assert_eq!(decided(None, None), SpecAction::Nothing);
    }

    #[test]
    fn drift_is_reverted_on_the_version_that_was_read() {
        let mut drifted = managed_policy();
        drifted.spec = json!({"disabled": true}).into();
        drifted.metadata.annotations = of(&[("other", "y")]);
        drifted.metadata.finalizers = Some(vec!["managed/own".to_owned()]);
        let SpecAction::Update(updated) = decided(Some(hub_policy()), Some(drifted)) else {
            panic!("not updated");
        };
        assert_eq!(updated.spec, hub_policy().spec);
        assert_eq!(updated.metadata.annotations, of(&[("note", "x")]));
        assert_eq!(updated.metadata.resource_version.as_deref(), Some("3"));
        assert_eq!(
            updated.metadata.finalizers,
            Some(vec!["managed/own".to_owned()])
        );
    }

    #[test]
    fn fwk_46_labels_follow_the_hub_and_foreign_ones_stay() {
        let mut drifted = managed_policy();
        let old = format!("{GROUP}/old");
        drifted.metadata.labels = of(&[(&old, "x"), ("backup", "no"), (ROOT_POLICY_LABEL, "z")]);
        let SpecAction::Update(updated) = decided(Some(hub_policy()), Some(drifted)) else {
            panic!("not updated");
        };
        let expected = of(&[
            (ROOT_POLICY_LABEL, "ns.p"),
            (CLUSTER_NAMESPACE_LABEL, "klusterlet-c1"),
            ("backup", "no"),
        ]);
        assert_eq!(updated.metadata.labels, expected);
    }

    #[test]
    fn replica_that_the_hub_does_not_have_is_deleted_once() {
        let managed = managed_policy();
        let uid = managed.metadata.uid.clone();
        assert_eq!(
            decided(None, Some(managed.clone())),
            SpecAction::Delete { uid }
        );
        let mut terminating = managed;
        terminating.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(decided(None, Some(terminating)), SpecAction::Nothing);
    }

    #[test]
    fn undecodable_policy_leaves_the_replica_as_it_is() {
        let invalid = || Some(Cached::Invalid("odd".into()));
        let valid = || Some(Cached::Valid(Arc::new(managed_policy())));
        for (hub, managed) in [
            (invalid(), None),
            (invalid(), valid()),
            (None, invalid()),
            (valid(), invalid()),
        ] {
            let observed = ObservedPolicy { hub, managed };
            assert!(matches!(decide(&observed, "c1"), SpecAction::Leave(_)));
        }
    }
}
