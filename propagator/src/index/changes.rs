//! The updates of the index. Each returns the keys that the change affects.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

use super::facts::{BindingFacts, DecisionFacts, PlacementName, RootFacts, SetFacts};
use super::{Dirty, Index, Pair};

impl Index {
    /// A root policy was created or changed (`Some`) or deleted (`None`). The caller adds its pairs, because they depend on
    /// fields that the index does not keep.
    pub fn set_root(&mut self, root: &RootPolicyName, new: Option<RootFacts>) -> Dirty {
        let old = self.roots.remove(root);
        let mut dirty = Dirty::default();
        if old != new {
            dirty.roots.insert(root.clone());
        }
        for set in old.iter().flat_map(|facts| &facts.set_dependencies) {
            unlink(&mut self.dependents_by_set, set, root);
        }
        if let Some(new) = new {
            for set in &new.set_dependencies {
                link(&mut self.dependents_by_set, set, root);
            }
            self.roots.insert(root.clone(), new);
        }
        self.with_listing_sets(dirty)
    }

    /// A policy set was created or changed (`Some`) or deleted (`None`).
    pub fn set_set(&mut self, key: &ObjectKey, new: Option<SetFacts>) -> Dirty {
        let old = self.sets.remove(key);
        let mut dirty = Dirty::default();
        dirty.sets.insert(key.clone());
        if old == new {
            if let Some(new) = new {
                self.sets.insert(key.clone(), new);
            }
            return dirty;
        }
        let appeared_or_gone = old.is_some() != new.is_some();
        let members = |facts: &Option<SetFacts>| {
            let members = facts.as_ref().map(|facts| facts.policies.clone());
            members.unwrap_or_default()
        };
        let root = |name: &String| RootPolicyName::new(key.namespace.clone(), name.clone());
        let (old_members, new_members) = (members(&old), members(&new));
        for gone in old_members.difference(&new_members) {
            unlink(&mut self.listed_in, &root(gone), key);
        }
        for name in &new_members {
            link(&mut self.listed_in, &root(name), key);
        }
        let old_facts = old.unwrap_or_default();
        let new_facts = new.clone().unwrap_or_default();
        if let Some(new) = new {
            self.sets.insert(key.clone(), new);
        }
        let selected = self.clusters_selected_for(key);
        for name in old_members.union(&new_members) {
            let changed_clusters = affected_clusters(name, (&old_facts, &new_facts), &selected);
            let Some(changed_clusters) = changed_clusters else {
                continue;
            };
            dirty.roots.insert(root(name));
            let pair = |cluster: &String| Pair {
                root: root(name),
                cluster: cluster.clone(),
            };
            dirty.pairs.extend(changed_clusters.into_iter().map(pair));
        }
        if old_facts.listed != new_facts.listed || appeared_or_gone {
            for dependent in self.dependents_by_set.get(key).into_iter().flatten() {
                dirty.pairs.extend(self.pairs(dependent));
            }
        }
        self.with_listing_sets(dirty)
    }

    /// The clusters selected by any binding that names a set.
    fn clusters_selected_for(&self, set: &ObjectKey) -> BTreeSet<&String> {
        let bindings = self.by_set.get(set).into_iter().flatten();
        bindings
            .filter_map(|key| self.bindings.get(key))
            .flat_map(|binding| self.clusters_of(&binding.placement))
            .collect()
    }

    /// A binding was created or changed (`Some`) or deleted (`None`).
    pub fn set_binding(&mut self, key: &ObjectKey, new: Option<BindingFacts>) -> Dirty {
        let old = self.bindings.remove(key);
        let old_pairs = self.pairs_of(old.as_ref());
        if let Some(old) = &old {
            for policy in &old.policies {
                unlink(&mut self.by_policy, policy, key);
            }
            for set in &old.sets {
                unlink(&mut self.by_set, set, key);
            }
            unlink(&mut self.by_placement, &old.placement, key);
        }
        let new_pairs = self.pairs_of(new.as_ref());
        let both = || [&old, &new].into_iter().flatten();
        let mut dirty = Dirty {
            roots: both().flat_map(|facts| self.policies_of(facts)).collect(),
            sets: both().flat_map(|facts| facts.sets.clone()).collect(),
            ..Dirty::default()
        };
        let same_effect = match (&old, &new) {
            (Some(old), Some(new)) => {
                (old.restricted, &old.enforce) == (new.restricted, &new.enforce)
            }
            _ => true,
        };
        dirty.pairs = if same_effect {
            old_pairs
                .symmetric_difference(&new_pairs)
                .cloned()
                .collect()
        } else {
            old_pairs.union(&new_pairs).cloned().collect()
        };
        if let Some(new) = new {
            for policy in &new.policies {
                link(&mut self.by_policy, policy, key);
            }
            for set in &new.sets {
                link(&mut self.by_set, set, key);
            }
            link(&mut self.by_placement, &new.placement, key);
            self.bindings.insert(key.clone(), new);
        }
        self.with_listing_sets(dirty)
    }

    /// A `PlacementDecision` was created or changed (`Some`) or deleted (`None`).
    pub fn set_decision(&mut self, key: &ObjectKey, new: Option<DecisionFacts>) -> Dirty {
        let old = self.decisions.remove(key);
        let mut changed_clusters = ChangedClusters::default();
        if let Some(old) = old {
            self.subtract(&old, &mut changed_clusters);
        }
        if let Some(new) = new {
            self.add(&new, &mut changed_clusters);
            self.decisions.insert(key.clone(), new);
        }
        self.dirty_of_all(changed_clusters)
    }

    /// A `PlacementRule`, which carries its decisions, was created or changed (`Some`) or deleted
    /// (`None`).
    pub fn set_rule(&mut self, rule: &PlacementName, new: Option<DecisionFacts>) -> Dirty {
        let clusters = self.clusters.remove(rule).unwrap_or_default();
        let mut changed_clusters = ChangedClusters::default();
        let old: BTreeSet<String> = clusters.into_keys().collect();
        if !old.is_empty() {
            changed_clusters.0.insert(rule.clone(), old);
        }
        let mut dirty = self.set_placement(rule, new.is_some());
        if let Some(new) = new {
            self.add(&new, &mut changed_clusters);
        }
        dirty.merge(self.dirty_of_all(changed_clusters));
        dirty
    }

    /// A `Placement` or `PlacementRule` was created or deleted.
    pub fn set_placement(&mut self, placement: &PlacementName, exists: bool) -> Dirty {
        let changed = if exists {
            self.placements.insert(placement.clone())
        } else {
            self.placements.remove(placement)
        };
        if !changed {
            return Dirty::default();
        }
        let clusters = self
            .clusters
            .get(placement)
            .map(|counts| counts.keys().cloned().collect());
        let mut dirty = self.dirty_of(placement, &clusters.unwrap_or_default());
        // The status names a placement only if it exists, whether or not it has clusters.
        for binding in self.bindings_to(placement) {
            dirty.roots.extend(self.policies_of(binding));
        }
        self.with_listing_sets(dirty)
    }

    /// A `ManagedCluster` was created or deleted.
    pub fn set_managed_cluster(&mut self, name: &str, exists: bool) -> Dirty {
        let changed = if exists {
            self.managed_clusters.insert(name.to_owned())
        } else {
            self.managed_clusters.remove(name)
        };
        let mut dirty = Dirty::default();
        if !changed {
            return dirty;
        }
        let one = BTreeSet::from([name.to_owned()]);
        let selected_by = self
            .clusters
            .iter()
            .filter(|(_, counts)| counts.contains_key(name));
        for placement in selected_by.map(|(placement, _)| placement) {
            dirty.merge(self.dirty_of(placement, &one));
        }
        let with_replica = self
            .replicas
            .iter()
            .filter(|(_, replicas)| replicas.compliances.contains_key(name));
        for (root, _) in with_replica {
            dirty.pairs.insert(Pair {
                root: root.clone(),
                cluster: name.to_owned(),
            });
        }
        dirty
    }

    /// A replica was created or changed (`Some`, with its compliance) or deleted (`None`).
    // The outer option is whether it exists, the inner one whether its compliance is known.
    #[allow(clippy::option_option)]
    pub fn set_replica(&mut self, pair: &Pair, new: Option<Option<Compliance>>) -> Dirty {
        let replicas = self.replicas.entry(pair.root.clone()).or_default();
        let compliances = &mut replicas.compliances;
        let old = match new {
            Some(compliance) => compliances.insert(pair.cluster.clone(), compliance),
            None => compliances.remove(&pair.cluster),
        };
        let has_changed = old.flatten() != new.flatten();
        replicas.changes += u64::from(has_changed);
        if replicas.compliances.is_empty() {
            self.replicas.remove(&pair.root);
        }
        let mut dirty = Dirty::default();
        // A status shows a replica without compliance and none alike. Looking at all clusters of a root policy for each replica that
        // is created would cost more than creating it.
        if has_changed {
            dirty.roots.insert(pair.root.clone());
        }
        self.with_listing_sets(dirty)
    }

    /// Adds the sets that list a dirty root policy: their statuses aggregate those of their policies.
    fn with_listing_sets(&self, mut dirty: Dirty) -> Dirty {
        for root in &dirty.roots {
            let sets = self.listed_in.get(root).into_iter().flatten();
            dirty.sets.extend(sets.cloned());
        }
        dirty
    }

    fn bindings_to(&self, placement: &PlacementName) -> impl Iterator<Item = &BindingFacts> {
        let bindings = self.by_placement.get(placement).into_iter().flatten();
        bindings.filter_map(|key| self.bindings.get(key))
    }

    /// The pairs that a binding places, without clusters that its sets exclude: a later change may place these, too.
    fn pairs_of(&self, binding: Option<&BindingFacts>) -> BTreeSet<Pair> {
        let Some(binding) = binding else {
            return BTreeSet::new();
        };
        let mut pairs = BTreeSet::new();
        for root in self.policies_of(binding) {
            let clusters = self.clusters_of(&binding.placement);
            let sent = clusters.filter(|cluster| self.sends(binding, &root, cluster));
            let pair = |cluster: &String| Pair {
                root: root.clone(),
                cluster: cluster.clone(),
            };
            pairs.extend(sent.map(pair));
        }
        pairs
    }

    fn dirty_of_all(&self, changed_clusters: ChangedClusters) -> Dirty {
        let mut dirty = Dirty::default();
        for (placement, clusters) in changed_clusters.0 {
            dirty.merge(self.dirty_of(&placement, &clusters));
        }
        dirty
    }

    fn dirty_of(&self, placement: &PlacementName, clusters: &BTreeSet<String>) -> Dirty {
        let mut dirty = Dirty::default();
        if clusters.is_empty() {
            return dirty;
        }
        for binding in self.bindings_to(placement) {
            dirty.sets.extend(binding.sets.iter().cloned());
            for root in self.policies_of(binding) {
                dirty.pairs.extend(clusters.iter().map(|cluster| Pair {
                    root: root.clone(),
                    cluster: cluster.clone(),
                }));
                dirty.roots.insert(root);
            }
        }
        self.with_listing_sets(dirty)
    }

    fn add(&mut self, decision: &DecisionFacts, changed_clusters: &mut ChangedClusters) {
        for cluster in &decision.clusters {
            let counts = self.clusters.entry(decision.placement.clone()).or_default();
            let count = counts.entry(cluster.clone()).or_default();
            *count += 1;
            if *count == 1 {
                changed_clusters.toggle(&decision.placement, cluster);
            }
        }
    }

    fn subtract(&mut self, decision: &DecisionFacts, changed_clusters: &mut ChangedClusters) {
        let Some(counts) = self.clusters.get_mut(&decision.placement) else {
            return;
        };
        for cluster in &decision.clusters {
            let Some(count) = counts.get_mut(cluster) else {
                continue;
            };
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(cluster);
                changed_clusters.toggle(&decision.placement, cluster);
            }
        }
        if counts.is_empty() {
            self.clusters.remove(&decision.placement);
        }
    }
}

/// The clusters that a placement gained or lost.
#[derive(Default)]
struct ChangedClusters(BTreeMap<PlacementName, BTreeSet<String>>);

impl ChangedClusters {
    /// Adds a cluster, or removes it if one change removes and adds it again.
    fn toggle(&mut self, placement: &PlacementName, cluster: &str) {
        let clusters = self.0.entry(placement.clone()).or_default();
        if !clusters.remove(cluster) {
            clusters.insert(cluster.to_owned());
        }
    }
}

/// The selected clusters for which a change of a set affects one of its policies; `None` if it does not affect the policy.
fn affected_clusters<'a>(
    policy: &str,
    (old, new): (&SetFacts, &SetFacts),
    selected: &BTreeSet<&'a String>,
) -> Option<Vec<&'a String>> {
    let lists = |facts: &SetFacts| facts.policies.contains(policy);
    if lists(old) != lists(new) {
        return Some(selected.iter().copied().collect());
    }
    if old.exclusions.get(policy) == new.exclusions.get(policy) {
        return None;
    }
    let differs = |cluster: &&String| old.sends(policy, cluster) != new.sends(policy, cluster);
    Some(selected.iter().copied().filter(differs).collect())
}

fn link<K: Hash + Eq + Clone, V: Ord + Clone>(
    links: &mut HashMap<K, BTreeSet<V>>,
    from: &K,
    to: &V,
) {
    links.entry(from.clone()).or_default().insert(to.clone());
}

fn unlink<K: Hash + Eq, V: Ord>(links: &mut HashMap<K, BTreeSet<V>>, from: &K, to: &V) {
    if let Some(keys) = links.get_mut(from) {
        keys.remove(to);
        if keys.is_empty() {
            links.remove(from);
        }
    }
}
