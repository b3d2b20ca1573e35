//! An index of a hub's objects, which maps a change to the placements that depend on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;
use reeve_api::ocm::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Cached;

use super::membership::{Availability, Membership};
use super::schedule::{Placed, Scores};

/// The placements to enqueue.
pub type Concerned = BTreeSet<ObjectKey>;

/// The objects of a hub. An object that becomes unreadable keeps its last readable state.
#[derive(Default)]
pub struct Index {
    placements: BTreeMap<ObjectKey, Arc<Placement>>,
    sets: BTreeMap<String, Arc<ManagedClusterSet>>,
    bindings: BTreeMap<ObjectKey, Arc<ManagedClusterSetBinding>>,
    clusters: BTreeMap<String, Arc<ManagedCluster>>,
    decisions: BTreeMap<ObjectKey, Arc<PlacementDecision>>,
    scores: Arc<Scores>,
    /// Decisions that this controller created, with the time, until the watch delivers them.
    undelivered: BTreeMap<ObjectKey, Timestamp>,
    synced: bool,
}

/// An object before and after a change.
struct Seen<T> {
    old: Option<Arc<T>>,
    new: Option<Arc<T>>,
}

/// Stores the state of an object; `None` if nothing that matters has changed.
fn put<K: Ord, T>(
    all: &mut BTreeMap<K, Arc<T>>,
    key: K,
    known: Option<Cached<T>>,
) -> Option<Seen<T>> {
    let seen = match known {
        None => Seen {
            old: Some(all.remove(&key)?),
            new: None,
        },
        Some(Cached::Invalid(_)) => return None,
        Some(Cached::Valid(new)) => Seen {
            old: all.insert(key, Arc::clone(&new)),
            new: Some(new),
        },
    };
    Some(seen)
}

/// Whether `known` is older than this controller's own write.
fn is_stale<T: kube::Resource>(present: Option<&Arc<T>>, known: Option<&Cached<T>>) -> bool {
    let present = present.and_then(|object| version(object.as_ref()));
    let received = known
        .and_then(Cached::valid)
        .and_then(|object| version(object.as_ref()));
    matches!((present, received), (Some(present), Some(received)) if received < present)
}

/// The resource version as a number, by which the states of an object are ordered.
fn version<T: kube::Resource>(object: &T) -> Option<u64> {
    object.meta().resource_version.as_ref()?.parse().ok()
}

impl Index {
    /// All caches have synced: an object that is absent now does not exist.
    pub fn set_synced(&mut self) {
        self.synced = true;
    }

    /// Whether all caches have synced.
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// A placement, also one whose decisions another scheduler makes.
    pub fn placement_of(&self, key: &ObjectKey) -> Option<Arc<Placement>> {
        self.placements.get(key).cloned()
    }

    /// Applies a change of a placement.
    pub fn placement(&mut self, key: &ObjectKey, known: Option<Cached<Placement>>) -> Concerned {
        if is_stale(self.placements.get(key), known.as_ref()) {
            return Concerned::new();
        }
        match put(&mut self.placements, key.clone(), known) {
            Some(_) => Concerned::from([key.clone()]),
            None => Concerned::new(),
        }
    }

    /// Applies a change of a decision.
    pub fn decision(
        &mut self,
        key: &ObjectKey,
        known: Option<Cached<PlacementDecision>>,
    ) -> Concerned {
        self.undelivered.remove(key);
        if is_stale(self.decisions.get(key), known.as_ref()) {
            return Concerned::new();
        }
        let Some(seen) = put(&mut self.decisions, key.clone(), known) else {
            return Concerned::new();
        };
        let both = [seen.old, seen.new];
        let placements = both.iter().flatten().filter_map(|one| one.placement());
        placements
            .map(|name| ObjectKey::new(key.namespace.as_str(), name))
            .collect()
    }

    /// Records this controller's own write of a decision; `created` is the time of its creation, if it was created.
    pub fn wrote(&mut self, decision: Arc<PlacementDecision>, created: Option<Timestamp>) {
        let key = ObjectKey::of(decision.as_ref());
        let present = self
            .decisions
            .get(&key)
            .and_then(|one| version(one.as_ref()));
        if present.is_some() && present >= version(decision.as_ref()) {
            // The watch was faster than the response: it does not deliver this write again.
            return;
        }
        if let Some(at) = created {
            self.undelivered.insert(key.clone(), at);
        }
        put(&mut self.decisions, key, Some(Cached::Valid(decision)));
    }

    /// Drops the decisions of a placement that were created before `before` and that the watch has not delivered: the
    /// watch misses the deletion of an object that it has never delivered. Returns whether younger ones exist.
    pub fn drop_undelivered(&mut self, placement: &ObjectKey, before: Timestamp) -> bool {
        let prefix = format!("{}-decision-", placement.name);
        let ours =
            |key: &ObjectKey| key.namespace == placement.namespace && key.name.starts_with(&prefix);
        let all = self.undelivered.iter().filter(|(key, _)| ours(key));
        let (old, young): (Vec<_>, Vec<_>) = all.partition(|(_, at)| **at < before);
        let any = !young.is_empty();
        let old: Vec<ObjectKey> = old.into_iter().map(|(key, _)| key.clone()).collect();
        for key in old {
            self.undelivered.remove(&key);
            self.decisions.remove(&key);
        }
        any
    }

    /// Applies a change of a binding.
    pub fn binding(
        &mut self,
        key: &ObjectKey,
        known: Option<Cached<ManagedClusterSetBinding>>,
    ) -> Concerned {
        let unchanged = |seen: &Seen<ManagedClusterSetBinding>| matches!((&seen.old, &seen.new), (Some(old), Some(new)) if old.spec == new.spec);
        match put(&mut self.bindings, key.clone(), known) {
            Some(seen) if !unchanged(&seen) => self.bound_by(key).collect(),
            _ => Concerned::new(),
        }
    }

    /// Applies a change of a set. A change of its status enqueues nothing.
    pub fn set(&mut self, name: &str, known: Option<Cached<ManagedClusterSet>>) -> Concerned {
        let Some(seen) = put(&mut self.sets, name.to_owned(), known) else {
            return Concerned::new();
        };
        if let (Some(old), Some(new)) = (&seen.old, &seen.new)
            && old.spec == new.spec
        {
            return Concerned::new();
        }
        self.of_set(name).collect()
    }

    /// Applies a change of a cluster. A change of fields that no placement reads enqueues nothing.
    pub fn cluster(&mut self, name: &str, known: Option<Cached<ManagedCluster>>) -> Concerned {
        let Some(seen) = put(&mut self.clusters, name.to_owned(), known) else {
            return Concerned::new();
        };
        let by_cel_only = match (&seen.old, &seen.new) {
            (Some(old), Some(new)) if is_same(old, new) => return Concerned::new(),
            (Some(old), Some(new)) => reads_the_same(old, new),
            _ => false,
        };
        let sets = self.sets_of([&seen.old, &seen.new].into_iter().flatten());
        let placements = sets.iter().flat_map(|set| self.of_set(set));
        placements
            .filter(|key| {
                !by_cel_only || self.placements.get(key).is_some_and(|one| one.uses_cel())
            })
            .collect()
    }

    /// Applies a change of a score; its namespace is the name of its cluster.
    pub fn score(
        &mut self,
        key: &ObjectKey,
        known: Option<Cached<AddOnPlacementScore>>,
    ) -> Concerned {
        let Some(seen) = put(Arc::make_mut(&mut self.scores), key.clone(), known) else {
            return Concerned::new();
        };
        if let (Some(old), Some(new)) = (&seen.old, &seen.new)
            && old.status == new.status
        {
            return Concerned::new();
        }
        let Some(cluster) = self.clusters.get(&key.namespace) else {
            return Concerned::new();
        };
        let sets = self.sets_of([cluster]);
        let bindings = self
            .bindings
            .keys()
            .filter(|one| sets.contains(one.name.as_str()));
        let namespaces: BTreeSet<&str> = bindings.map(|one| one.namespace.as_str()).collect();
        let placements = namespaces
            .into_iter()
            .flat_map(|one| self.placements_in(one));
        placements
            .filter(|(_, one)| one.prefers_by(&key.name) || one.reads_scores_by_cel())
            .map(|(placement, _)| placement.clone())
            .collect()
    }

    fn placements_in<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Arc<Placement>)> + 'a {
        let first = ObjectKey::new(namespace, "");
        let all = self.placements.range(first..);
        all.take_while(move |(key, _)| key.namespace == namespace)
    }

    /// The placements that may use the set of a binding.
    fn bound_by<'a>(&'a self, binding: &'a ObjectKey) -> impl Iterator<Item = ObjectKey> + 'a {
        let placements = self.placements_in(&binding.namespace);
        placements
            .filter(|(_, one)| {
                let asked = &one.spec.cluster_sets;
                asked.is_empty() || asked.contains(&binding.name)
            })
            .map(|(key, _)| key.clone())
    }

    fn of_set<'a>(&'a self, set: &'a str) -> impl Iterator<Item = ObjectKey> + 'a {
        let bindings = self.bindings.keys().filter(move |one| one.name == set);
        bindings.flat_map(|binding| self.bound_by(binding))
    }

    /// The names of the sets that clusters belong to. An invalid set has no members.
    fn sets_of<'a>(
        &self,
        clusters: impl IntoIterator<Item = &'a Arc<ManagedCluster>>,
    ) -> BTreeSet<String> {
        let mut sets = BTreeSet::new();
        let clusters: Vec<_> = clusters.into_iter().collect();
        for (name, set) in &self.sets {
            let Ok(membership) = Membership::of(set) else {
                continue;
            };
            if clusters.iter().any(|one| membership.includes(one.labels())) {
                sets.insert(name.clone());
            }
        }
        sets
    }

    /// A placement, if this controller makes its decisions.
    pub fn scheduled(&self, key: &ObjectKey) -> Option<Arc<Placement>> {
        let placement = self.placements.get(key)?;
        placement.is_scheduled().then(|| Arc::clone(placement))
    }

    /// The clusters that a placement may choose.
    pub fn availability(&self, placement: &Placement) -> Availability {
        let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
        let first = ObjectKey::new(namespace, "");
        let bindings = self.bindings.range(first..);
        let bindings = bindings
            .map(|(key, _)| key)
            .take_while(|key| key.namespace == namespace);
        let names = bindings.map(|key| key.name.as_str());
        Availability::of(placement, names, &self.sets, &self.clusters)
    }

    /// The decisions so far, seen from a placement.
    pub fn placed(&self, placement: &ObjectKey) -> Placed {
        Placed::of(placement, self.decisions.values().map(AsRef::as_ref))
    }

    /// The decisions in a placement's namespace that have its label or would have its names.
    pub fn decisions(&self, placement: &ObjectKey) -> Vec<Arc<PlacementDecision>> {
        let first = ObjectKey::new(placement.namespace.as_str(), "");
        let prefix = format!("{}-decision-", placement.name);
        let all = self.decisions.range(first..);
        all.take_while(|(key, _)| key.namespace == placement.namespace)
            .filter(|(key, one)| {
                one.placement() == Some(&placement.name) || key.name.starts_with(&prefix)
            })
            .map(|(_, one)| Arc::clone(one))
            .collect()
    }

    /// The scores of add-ons.
    pub fn scores(&self) -> Arc<Scores> {
        Arc::clone(&self.scores)
    }
}

/// Whether an update changes no field.
fn is_same(old: &ManagedCluster, new: &ManagedCluster) -> bool {
    old.spec == new.spec
        && old.status == new.status
        && old.metadata.labels == new.metadata.labels
        && old.metadata.annotations == new.metadata.annotations
        && old.metadata.finalizers == new.metadata.finalizers
        && old.is_terminating() == new.is_terminating()
}

/// Whether an update changes no field that placements without expressions read.
fn reads_the_same(old: &ManagedCluster, new: &ManagedCluster) -> bool {
    let facts = |cluster: &ManagedCluster| {
        let status = cluster.status.clone().unwrap_or_default();
        (status.cluster_claims, status.allocatable, status.capacity)
    };
    old.labels() == new.labels()
        && old.spec.taints == new.spec.taints
        && old.is_terminating() == new.is_terminating()
        && facts(old) == facts(new)
}
