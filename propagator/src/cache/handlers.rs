//! The handlers of watch events: they update the index and the metrics, and enqueue what a change affects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use kube::ResourceExt;
use reeve_api::names::{RootPolicyName, TRIGGER_UPDATE_ANNOTATION};
use reeve_api::{Policy, PolicyAutomation, PolicySet};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Cached, Change};

use super::{HubCache, Labels};
use crate::automation_mode;
use crate::index::{
    BindingFacts, DecisionFacts, Dirty, Pair, PlacementKind, PlacementName, RootFacts, SetFacts,
};
use crate::keys::{self, KeyFacts};
use crate::messages;
use crate::replica::ReplicaFacts;
use crate::root::CachedRoot;

impl HubCache {
    pub(super) fn root_changed(&self, change: &Change<CachedRoot>) {
        let root = RootPolicyName::new(change.key.namespace.clone(), change.key.name.clone());
        let (old, new) = change.valid();
        let undecodable = matches!(change.new, Some(Cached::Invalid(_)));
        let mut dirty = Dirty::default();
        if !undecodable {
            let facts = new.map(|kept| RootFacts::of(&kept.policy));
            let mut index = self.index.write();
            dirty = index.set_root(&root, facts);
            let (before, after) = (old.map(|kept| &*kept.policy), new.map(|kept| &*kept.policy));
            match affected_replicas(before, after) {
                AffectedReplicas::None => {}
                AffectedReplicas::InCluster(cluster) => {
                    let root = root.clone();
                    dirty.pairs.insert(Pair { root, cluster });
                }
                AffectedReplicas::All => dirty.pairs.extend(index.pairs(&root)),
            }
        }
        self.metrics
            .set_root_compliance(&root, new.map(|kept| &*kept.policy));
        self.enqueue_automations(&root, (old, new));
        dirty.roots.insert(root);
        self.enqueue(dirty);
    }

    /// Enqueues the automations of a policy when the compliance of its clusters has changed.
    fn enqueue_automations(
        &self,
        root: &RootPolicyName,
        (old, new): (Option<&Arc<CachedRoot>>, Option<&Arc<CachedRoot>>),
    ) {
        let Some(new) = new else { return };
        if old.is_some_and(|old| old.status.clusters == new.status.clusters) {
            return;
        }
        let waiting = |key: &ObjectKey, automation: &Arc<PolicyAutomation>| {
            let waits = key.namespace == root.namespace && automation.spec.policy_ref == root.name;
            waits.then(|| key.clone())
        };
        for key in self.automations.collect(waiting) {
            self.queues.automations.add(key);
        }
    }

    pub(super) fn automation_changed(&self, change: &Change<PolicyAutomation>) {
        let (old, new) = change.valid();
        let is_relevant =
            new.is_some_and(|new| automation_mode::is_relevant_change(old.map(AsRef::as_ref), new));
        if is_relevant && self.namespaces.contains(&change.key.namespace) {
            self.queues.automations.add(change.key.clone());
        }
    }

    pub(super) fn replica_changed(&self, change: &Change<ReplicaFacts>) {
        let (old, new) = change.valid();
        let undecodable = change.new.is_some() && new.is_none();
        let digest = new.map(|new| new.digest);
        if !undecodable {
            let has_vector = new.is_some_and(|new| new.vector.is_some());
            self.encrypted.set(&change.key, has_vector);
        }
        if change.new.is_none() {
            self.last_written.lock().remove(&change.key);
            self.record_withdrawal(&change.key);
        }
        // The cached object may be older than the last write: after a relist the watch delivers neither our write nor the change
        // that undid it.
        let written = self.last_written.lock().get(&change.key).copied();
        let expected = written.or(old.map(|old| old.digest));
        if undecodable || change.new.is_none() || digest != expected {
            self.enqueue_replica(&change.key);
        }
        let Some(pair) = Pair::of_replica(&change.key) else {
            return;
        };
        self.metrics
            .set_replica_compliance(&pair, new.map(AsRef::as_ref));
        // An undecodable replica exists; only its compliance is not known.
        let compliance = change
            .new
            .as_ref()
            .map(|_| new.and_then(|new| new.compliance));
        let dirty = self.index.write().set_replica(&pair, compliance);
        self.enqueue(dirty);
    }

    pub(super) fn set_changed(&self, change: &Change<PolicySet>) {
        if self.record_undecodable("PolicySet", change) {
            return;
        }
        let facts = change.valid().1.map(|set| SetFacts::of(set));
        let dirty = self.index.write().set_set(&change.key, facts);
        self.enqueue(dirty);
    }

    pub(super) fn binding_changed(&self, change: &Change<Option<BindingFacts>>) {
        if self.record_undecodable("PlacementBinding", change) {
            return;
        }
        let facts = valid(change.new.as_ref());
        match &facts {
            Some(None) => tracing::warn!("{}", messages::invalid_placement_ref(&change.key)),
            Some(Some(facts)) => self.warn_if_ignored(&change.key, facts),
            None => {}
        }
        let facts = facts.flatten();
        let dirty = self.index.write().set_binding(&change.key, facts);
        self.enqueue(dirty);
    }

    /// A binding to a `PlacementRule` on a hub without that kind never selects a cluster.
    fn warn_if_ignored(&self, binding: &ObjectKey, facts: &BindingFacts) {
        if self.rules.is_none() && facts.placement.kind == PlacementKind::PlacementRule {
            tracing::warn!("{}", messages::placement_rule_ignored(binding));
        }
    }

    pub(super) fn decision_changed(&self, change: &Change<Option<DecisionFacts>>) {
        if self.record_undecodable("PlacementDecision", change) {
            return;
        }
        let facts = valid(change.new.as_ref()).flatten();
        let dirty = self.index.write().set_decision(&change.key, facts);
        self.enqueue(dirty);
    }

    pub(super) fn placement_changed(&self, change: &Change<()>) {
        let exists = change.new.is_some();
        let placement = PlacementName {
            kind: PlacementKind::Placement,
            key: change.key.clone(),
        };
        let dirty = self.index.write().set_placement(&placement, exists);
        self.enqueue(dirty);
    }

    pub(super) fn rule_changed(&self, change: &Change<DecisionFacts>) {
        if self.record_undecodable("PlacementRule", change) {
            return;
        }
        let facts = valid(change.new.as_ref());
        let rule = PlacementName {
            kind: PlacementKind::PlacementRule,
            key: change.key.clone(),
        };
        let dirty = self.index.write().set_rule(&rule, facts);
        self.enqueue(dirty);
    }

    pub(super) fn cluster_changed(&self, change: &Change<Labels>) {
        let name = &change.key.name;
        let exists = change.new.is_some();
        let mut dirty = self.index.write().set_managed_cluster(name, exists);
        let (old, new) = change.valid();
        if old != new {
            let readers = self.label_readers.in_cluster(name);
            dirty
                .pairs
                .extend(readers.iter().filter_map(Pair::of_replica));
        }
        // Whether a namespace is a cluster namespace decides whether a policy in it is propagated, and whether its key is rotated.
        if change.old.is_none() || !exists {
            let key = ObjectKey::new(name, keys::SECRET);
            if exists && self.keys.get(&key).is_some() {
                self.queues.keys.add(key);
            }
            let in_namespace = |key: &ObjectKey, _: &Arc<CachedRoot>| {
                let root = || RootPolicyName::new(key.namespace.clone(), key.name.clone());
                (key.namespace == *name).then(root)
            };
            let index = self.index.read();
            for root in self.roots.collect(in_namespace) {
                dirty.pairs.extend(index.pairs(&root));
                dirty.roots.insert(root);
            }
        }
        self.enqueue(dirty);
    }

    pub(super) fn key_changed(&self, change: &Change<KeyFacts>) {
        let (old, new) = change.valid();
        let key = |facts: Option<&Arc<KeyFacts>>| facts.map(|facts| facts.digest());
        if change.new.is_some() {
            self.queues.keys.add(change.key.clone());
        }
        if change.key.name == keys::SECRET {
            let (mut deletions, cluster) = (self.key_deletions.lock(), &change.key.namespace);
            match &change.new {
                Some(Cached::Valid(_)) => deletions.record_present(cluster),
                Some(Cached::Invalid(_)) => deletions.remove(cluster),
                None => deletions.record_deleted(cluster, Instant::now()),
            }
        }
        // All replicas with encrypted values have to be encrypted with the current key.
        if key(old) != key(new) && change.key.name == keys::SECRET {
            for replica in self.encrypted_replicas(&change.key.namespace) {
                self.enqueue_replica(&replica);
            }
        }
    }

    /// Records whether an object can be decoded, and returns whether it cannot. The index keeps the last decodable version. A
    /// process that was started later has no such version, so no replica of the namespace is deleted for not being placed.
    fn record_undecodable<V>(&self, kind: &'static str, change: &Change<V>) -> bool {
        let entry = (kind, change.key.clone());
        if matches!(change.new, Some(Cached::Invalid(_))) {
            self.undecodable.write().insert(entry);
            return true;
        }
        if self.undecodable.write().remove(&entry) {
            let index = self.index.read();
            let roots = self.roots.keys().into_iter();
            let mut pairs = BTreeSet::new();
            for key in roots.filter(|key| key.namespace == change.key.namespace) {
                pairs.extend(index.pairs(&RootPolicyName::new(key.namespace, key.name)));
            }
            drop(index);
            self.enqueue(Dirty {
                pairs,
                ..Dirty::default()
            });
        }
        false
    }

    fn enqueue(&self, dirty: Dirty) {
        for pair in dirty.pairs {
            self.enqueue_replica(&pair.key());
        }
        let watched = |namespace: &str| self.namespaces.contains(namespace);
        for root in dirty
            .roots
            .into_iter()
            .filter(|root| watched(&root.namespace))
        {
            self.queues.roots.add(root);
        }
        for set in dirty.sets.into_iter().filter(|set| watched(&set.namespace)) {
            self.queues.sets.add(set);
        }
    }
}

fn valid<V: Clone>(known: Option<&Cached<V>>) -> Option<V> {
    known.and_then(Cached::valid).map(|value| V::clone(value))
}

/// The replicas that a change of a root policy affects.
#[derive(Debug, PartialEq, Eq)]
enum AffectedReplicas {
    /// None: only the status changed, usually by our own write.
    None,
    /// The replica on the cluster whose key was rotated.
    InCluster(String),
    /// All replicas.
    All,
}

fn affected_replicas(old: Option<&Policy>, new: Option<&Policy>) -> AffectedReplicas {
    let (Some(old), Some(new)) = (old, new) else {
        return AffectedReplicas::All;
    };
    let rest = |policy: &Policy| {
        let mut annotations = policy.annotations().clone();
        annotations.remove(TRIGGER_UPDATE_ANNOTATION);
        let meta = &policy.metadata;
        (
            meta.uid.clone(),
            meta.generation,
            meta.labels.clone(),
            annotations,
        )
    };
    if rest(old) != rest(new) {
        return AffectedReplicas::All;
    }
    let trigger = |policy: &Policy| policy.annotations().get(TRIGGER_UPDATE_ANNOTATION).cloned();
    let (before, after) = (trigger(old), trigger(new));
    if before == after {
        return AffectedReplicas::None;
    }
    let rotated = after.as_deref().and_then(keys::cluster_of_trigger);
    rotated.map_or(AffectedReplicas::All, |cluster| {
        AffectedReplicas::InCluster(cluster.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use reeve_runtime::CancellationToken;
    use reeve_runtime::client::InProcessServers;
    use reeve_runtime::manager::Manager;
    use reeve_runtime::metrics::Metrics;
    use reeve_runtime::queue::Action;
    use rstest::rstest;

    use super::*;
    use crate::cache::Watches;
    use crate::metrics::PropagatorMetrics;
    use crate::queues::Queues;
    use crate::replica::Digest;
    use crate::settings::Namespaces;

    fn replica(note: &str) -> ReplicaFacts {
        let mut policy = Policy::default();
        policy
            .annotations_mut()
            .insert("note".to_owned(), note.to_owned());
        ReplicaFacts::of(policy)
    }

    fn known(note: &str) -> Option<Cached<ReplicaFacts>> {
        let undecodable = || Cached::Invalid("undecodable".into());
        match note {
            "" => None,
            "?" => Some(undecodable()),
            note => Some(Cached::Valid(replica(note).into())),
        }
    }

    fn digest(note: &str) -> Digest {
        replica(note).digest
    }

    /// Whether a replica is enqueued that changed from `old` to `new` after it was written as `written`. An empty text stands
    /// for no object, a question mark for one that cannot be decoded.
    async fn is_enqueued(written: &str, old: &str, new: &str) -> bool {
        let client = reeve_runtime::client::unavailable("there is no hub");
        let queues = Queues::new(&Manager::new(
            &InProcessServers::default(),
            CancellationToken::new(),
        ));
        let metrics = PropagatorMetrics::new(&Metrics::default());
        let watches = Watches::new(&client, false);
        let hub = HubCache::new(&watches, queues.clone(), metrics, Namespaces::All);
        let key = ObjectKey::new("c1", "policies.p");
        if !written.is_empty() {
            hub.record_written(&key, digest(written));
        }
        hub.replica_changed(&Change {
            key: key.clone(),
            old: known(old),
            new: known(new),
        });
        let (sender, mut enqueued) = tokio::sync::mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let work = queues.replicas.run(1, stop, move |replica| {
            // The receiver is gone when the test has ended.
            let _ = sender.send(replica);
            std::future::ready(Ok::<_, Infallible>(Action::AwaitChange))
        });
        tokio::select! {
            () = work => false,
            replica = enqueued.recv() => replica == Some(key),
            () = tokio::time::sleep(Duration::from_millis(200)) => false,
        }
    }

    #[rstest]
    #[case::echo_of_the_write("b", "a", "b", false)]
    #[case::status_only("b", "b", "b", false)]
    #[case::edited("b", "b", "c", true)]
    #[case::edited_before_the_first_reconcile("", "b", "c", true)]
    #[case::deleted("b", "b", "", true)]
    #[case::undecodable("b", "b", "?", true)]
    #[case::undecodable_and_deleted("b", "?", "", true)]
    #[case::written_and_undone_while_the_watch_was_disconnected("b", "a", "a", true)]
    #[tokio::test]
    async fn replica_is_enqueued_unless_it_equals_the_last_write(
        #[case] written: &str,
        #[case] old: &str,
        #[case] new: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(is_enqueued(written, old, new).await, expected);
    }

    fn triggered(value: Option<&str>) -> Policy {
        let mut policy = Policy::default();
        let value = value.map(|value| (TRIGGER_UPDATE_ANNOTATION.to_owned(), value.to_owned()));
        policy.metadata.annotations = Some(value.into_iter().collect());
        policy
    }

    #[test]
    fn prop_61_rotation_affects_only_the_replica_on_its_cluster() {
        let (none, rotated) = (
            triggered(None),
            triggered(Some("rotate-key-c-1-2026-11-21T10:00:00Z")),
        );
        let by = |old: &Policy, new: &Policy| affected_replicas(Some(old), Some(new));
        assert_eq!(
            by(&none, &rotated),
            AffectedReplicas::InCluster("c-1".to_owned())
        );
        assert_eq!(by(&rotated, &none), AffectedReplicas::All);
        assert_eq!(
            by(&none, &triggered(Some("by hand"))),
            AffectedReplicas::All
        );
        assert_eq!(by(&rotated, &rotated), AffectedReplicas::None);
        let mut edited = rotated.clone();
        edited.metadata.generation = Some(2);
        assert_eq!(by(&none, &edited), AffectedReplicas::All);
    }
}
