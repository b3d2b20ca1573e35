//! What a change that a watch tells means: for the index, for the queues, for the metrics.

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
use crate::root::KeptRoot;

impl HubCache {
    pub(super) fn root_changed(&self, change: &Change<KeptRoot>) {
        let root = RootPolicyName::new(change.key.namespace.clone(), change.key.name.clone());
        let (old, new) = change.valid();
        let unreadable = matches!(change.new, Some(Cached::Invalid(_)));
        let mut dirty = Dirty::default();
        if !unreadable {
            let facts = new.map(|kept| RootFacts::of(&kept.policy));
            let mut index = self.index.write();
            dirty = index.set_root(&root, facts);
            let (before, after) = (old.map(|kept| &*kept.policy), new.map(|kept| &*kept.policy));
            match touched(before, after) {
                Touched::Nothing => {}
                Touched::Cluster(cluster) => {
                    let root = root.clone();
                    dirty.pairs.insert(Pair { root, cluster });
                }
                Touched::All => dirty.pairs.extend(index.pairs(&root)),
            }
        }
        self.metrics.root(&root, new.map(|kept| &*kept.policy));
        self.enqueue_automations(&root, (old, new));
        dirty.roots.insert(root);
        self.enqueue(dirty);
    }

    /// Every automation of a policy reconciles at what its clusters say.
    fn enqueue_automations(
        &self,
        root: &RootPolicyName,
        (old, new): (Option<&Arc<KeptRoot>>, Option<&Arc<KeptRoot>>),
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
        let concerns =
            new.is_some_and(|new| automation_mode::is_relevant_change(old.map(AsRef::as_ref), new));
        if concerns && self.namespaces.contains(&change.key.namespace) {
            self.queues.automations.add(change.key.clone());
        }
    }

    pub(super) fn replica_changed(&self, change: &Change<ReplicaFacts>) {
        let (old, new) = change.valid();
        let unreadable = change.new.is_some() && new.is_none();
        let digest = new.map(|new| new.digest);
        if !unreadable {
            let has_vector = new.is_some_and(|new| new.vector.is_some());
            self.encrypted.note(&change.key, has_vector);
        }
        if change.new.is_none() {
            self.written.lock().remove(&change.key);
        }
        // What was known before may be older than what was written: a list shows neither our write nor what undid it.
        let written = self.written.lock().get(&change.key).copied();
        let expected = written.or(old.map(|old| old.digest));
        if unreadable || change.new.is_none() || digest != expected {
            self.enqueue_replica(&change.key);
        }
        let Some(pair) = Pair::of_replica(&change.key) else {
            return;
        };
        self.metrics.replica(&pair, new.map(AsRef::as_ref));
        // An unreadable replica is there all the same; its answer is not known.
        let compliance = change
            .new
            .as_ref()
            .map(|_| new.and_then(|new| new.compliance));
        let dirty = self.index.write().set_replica(&pair, compliance);
        self.enqueue(dirty);
    }

    pub(super) fn set_changed(&self, change: &Change<PolicySet>) {
        if self.is_unreadable("PolicySet", change) {
            return;
        }
        let facts = change.valid().1.map(|set| SetFacts::of(set));
        let dirty = self.index.write().set_set(&change.key, facts);
        self.enqueue(dirty);
    }

    pub(super) fn binding_changed(&self, change: &Change<Option<BindingFacts>>) {
        if self.is_unreadable("PlacementBinding", change) {
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

    /// A binding to a placement rule on a hub without such rules chooses nothing, for ever.
    fn warn_if_ignored(&self, binding: &ObjectKey, facts: &BindingFacts) {
        if self.rules.is_none() && facts.placement.kind == PlacementKind::PlacementRule {
            tracing::warn!("{}", messages::placement_rule_ignored(binding));
        }
    }

    pub(super) fn decision_changed(&self, change: &Change<Option<DecisionFacts>>) {
        if self.is_unreadable("PlacementDecision", change) {
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
        if self.is_unreadable("PlacementRule", change) {
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
            let readers = self.label_readers.of(name);
            dirty
                .pairs
                .extend(readers.iter().filter_map(Pair::of_replica));
        }
        // A namespace that becomes a cluster's, or stops being one, changes what a policy in it is.
        if change.old.is_none() || !exists {
            let in_it = |key: &ObjectKey, _: &Arc<KeptRoot>| {
                let root = || RootPolicyName::new(key.namespace.clone(), key.name.clone());
                (key.namespace == *name).then(root)
            };
            let index = self.index.read();
            for root in self.roots.collect(in_it) {
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
            let (mut absent, cluster) = (self.absent_keys.lock(), &change.key.namespace);
            match &change.new {
                Some(Cached::Valid(_)) => absent.note_present(cluster),
                Some(Cached::Invalid(_)) => absent.forget(cluster),
                None => absent.note_deleted(cluster, Instant::now()),
            }
        }
        // Whatever is encrypted for the cluster has to be encrypted with the key that there is now.
        if key(old) != key(new) && change.key.name == keys::SECRET {
            for replica in self.encrypted_in(&change.key.namespace) {
                self.enqueue_replica(&replica);
            }
        }
    }

    /// Keeps account of what cannot be decoded. It stays in the index as it was when it could; a
    /// process that was started later never had it there, so nothing that it might place is
    /// removed until it can be read.
    fn is_unreadable<V>(&self, kind: &'static str, change: &Change<V>) -> bool {
        let entry = (kind, change.key.clone());
        if matches!(change.new, Some(Cached::Invalid(_))) {
            self.unreadable.write().insert(entry);
            return true;
        }
        if self.unreadable.write().remove(&entry) {
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

/// Which replicas a change of a root policy concerns.
#[derive(Debug, PartialEq, Eq)]
enum Touched {
    /// None: a change of the status alone, above all one that we wrote.
    Nothing,
    /// That of the cluster whose key was rotated.
    Cluster(String),
    /// All replicas.
    All,
}

fn touched(old: Option<&Policy>, new: Option<&Policy>) -> Touched {
    let (Some(old), Some(new)) = (old, new) else {
        return Touched::All;
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
        return Touched::All;
    }
    let trigger = |policy: &Policy| policy.annotations().get(TRIGGER_UPDATE_ANNOTATION).cloned();
    let (before, after) = (trigger(old), trigger(new));
    if before == after {
        return Touched::Nothing;
    }
    let rotated = after.as_deref().and_then(keys::cluster_of_trigger);
    rotated.map_or(Touched::All, |cluster| Touched::Cluster(cluster.to_owned()))
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
        let unreadable = || Cached::Invalid("unreadable".into());
        match note {
            "" => None,
            "?" => Some(unreadable()),
            note => Some(Cached::Valid(replica(note).into())),
        }
    }

    fn digest(note: &str) -> Digest {
        replica(note).digest
    }

    /// Whether a replica is enqueued that became `new` from `old` after it was written as `written`. Nothing is empty,
    /// what cannot be read a question mark.
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
        let (sent, mut received) = tokio::sync::mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let work = queues.replicas.run(1, stop, move |replica| {
            // The test has ended if nobody listens.
            let _ = sent.send(replica);
            std::future::ready(Ok::<_, Infallible>(Action::AwaitChange))
        });
        tokio::select! {
            () = work => false,
            sent = received.recv() => sent == Some(key),
            () = tokio::time::sleep(Duration::from_millis(200)) => false,
        }
    }

    #[rstest]
    #[case::its_own_echo("b", "a", "b", false)]
    #[case::a_status_only("b", "b", "b", false)]
    #[case::an_edit("b", "b", "c", true)]
    #[case::an_edit_before_the_first_look("", "b", "c", true)]
    #[case::gone("b", "b", "", true)]
    #[case::unreadable("b", "b", "?", true)]
    #[case::unreadable_and_gone("b", "?", "", true)]
    #[case::written_and_undone_while_the_watch_was_cut_off("b", "a", "a", true)]
    #[tokio::test]
    async fn a_replica_is_enqueued_unless_it_is_as_it_was_written(
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
    fn rough_edge_42_a_rotation_touches_its_own_cluster_only() {
        let (none, rotated) = (
            triggered(None),
            triggered(Some("rotate-key-c-1-2026-11-21T10:00:00Z")),
        );
        let by = |old: &Policy, new: &Policy| touched(Some(old), Some(new));
        assert_eq!(by(&none, &rotated), Touched::Cluster("c-1".to_owned()));
        assert_eq!(by(&rotated, &none), Touched::All);
        assert_eq!(by(&none, &triggered(Some("by hand"))), Touched::All);
        assert_eq!(by(&rotated, &rotated), Touched::Nothing);
        let mut edited = rotated.clone();
        edited.metadata.generation = Some(2);
        assert_eq!(by(&none, &edited), Touched::All);
    }
}
