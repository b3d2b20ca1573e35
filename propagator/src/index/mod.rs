//! Who is bound to what: a pure index that is told of every change and answers which pairs of
//! policy and cluster, and which root policies, have to be looked at again.
//!
//! A change costs work in proportion to the pairs it touches, never to the fleet.

mod dirty;
mod facts;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::PolicyPlacement;
use reeve_runtime::object::ObjectKey;

pub use dirty::{Dirty, Pair};
pub use facts::{BindingFacts, DecisionFacts, PlacementKind, PlacementName};

/// What the hub's watches have told so far.
#[derive(Default)]
pub struct Index {
    bindings: HashMap<ObjectKey, BindingFacts>,
    /// Bindings by the policy they name.
    by_policy: HashMap<RootPolicyName, BTreeSet<ObjectKey>>,
    /// Bindings by the placement they name.
    by_placement: HashMap<PlacementName, BTreeSet<ObjectKey>>,
    decisions: HashMap<ObjectKey, DecisionFacts>,
    /// How many decisions of a placement name each cluster: they may overlap while the placement
    /// controller moves a cluster from one to another.
    clusters: HashMap<PlacementName, BTreeMap<String, usize>>,
    placements: HashSet<PlacementName>,
    managed_clusters: HashSet<String>,
    /// Which clusters hold a replica, and what it says.
    replicas: HashMap<RootPolicyName, BTreeMap<String, Option<Compliance>>>,
}

/// The answer to "should this policy be on that cluster?" when it is yes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The remediation action that a binding forces, as the user spelled it.
    pub enforce: Option<String>,
}

/// Everything that the status of a root policy says about placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The bindings and placements, in the order of the status.
    pub placements: Vec<PolicyPlacement>,
    /// The clusters chosen, with what their replicas say.
    pub clusters: BTreeMap<String, Option<Compliance>>,
}

impl Index {
    /// A binding was created or changed (`Some`) or deleted (`None`).
    pub fn set_binding(&mut self, key: &ObjectKey, new: Option<BindingFacts>) -> Dirty {
        let old = self.bindings.remove(key);
        let before = self.pairs_of(old.as_ref());
        if let Some(old) = &old {
            for policy in &old.policies {
                unlink(&mut self.by_policy, policy, key);
            }
            unlink(&mut self.by_placement, &old.placement, key);
        }
        let after = self.pairs_of(new.as_ref());
        let policies = [&old, &new]
            .into_iter()
            .flatten()
            .flat_map(|facts| &facts.policies);
        let mut dirty = Dirty {
            roots: policies.cloned().collect(),
            ..Dirty::default()
        };
        let same_effect = match (&old, &new) {
            (Some(old), Some(new)) => {
                (old.restricted, &old.enforce) == (new.restricted, &new.enforce)
            }
            _ => true,
        };
        dirty.pairs = if same_effect {
            before.symmetric_difference(&after).cloned().collect()
        } else {
            before.union(&after).cloned().collect()
        };
        if let Some(new) = new {
            for policy in &new.policies {
                self.by_policy
                    .entry(policy.clone())
                    .or_default()
                    .insert(key.clone());
            }
            self.by_placement
                .entry(new.placement.clone())
                .or_default()
                .insert(key.clone());
            self.bindings.insert(key.clone(), new);
        }
        dirty
    }

    /// A set of decisions was created or changed (`Some`) or deleted (`None`).
    pub fn set_decision(&mut self, key: &ObjectKey, new: Option<DecisionFacts>) -> Dirty {
        let old = self.decisions.remove(key);
        let mut touched: BTreeMap<PlacementName, BTreeSet<String>> = BTreeMap::new();
        if let Some(old) = old {
            for cluster in old.clusters {
                if self.leave(&old.placement, &cluster) {
                    touched
                        .entry(old.placement.clone())
                        .or_default()
                        .insert(cluster);
                }
            }
        }
        if let Some(new) = new {
            for cluster in &new.clusters {
                let counts = self.clusters.entry(new.placement.clone()).or_default();
                let count = counts.entry(cluster.clone()).or_default();
                *count += 1;
                if *count == 1 {
                    // A cluster that left and came back in one change has not changed.
                    let touched = touched.entry(new.placement.clone()).or_default();
                    if !touched.remove(cluster) {
                        touched.insert(cluster.clone());
                    }
                }
            }
            self.decisions.insert(key.clone(), new);
        }
        let mut dirty = Dirty::default();
        for (placement, clusters) in touched {
            dirty.absorb(self.dirty_of(&placement, &clusters));
        }
        dirty
    }

    /// A `Placement` or `PlacementRule` exists or does not.
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
        // The status names a placement only if it exists, clusters or none.
        let bindings = self.by_placement.get(placement).into_iter().flatten();
        let policies = bindings
            .filter_map(|key| self.bindings.get(key))
            .flat_map(|b| &b.policies);
        dirty.roots.extend(policies.cloned());
        dirty
    }

    /// A managed cluster joined or left the hub.
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
        let chosen_by = self
            .clusters
            .iter()
            .filter(|(_, counts)| counts.contains_key(name));
        for placement in chosen_by.map(|(placement, _)| placement) {
            dirty.absorb(self.dirty_of(placement, &one));
        }
        let holding = self
            .replicas
            .iter()
            .filter(|(_, clusters)| clusters.contains_key(name));
        for (root, _) in holding {
            dirty.pairs.insert(Pair {
                root: root.clone(),
                cluster: name.to_owned(),
            });
        }
        dirty
    }

    /// A replica appeared or changed (`Some`, with what it says) or is gone (`None`).
    pub fn set_replica(&mut self, pair: &Pair, new: Option<Option<Compliance>>) -> Dirty {
        let clusters = self.replicas.entry(pair.root.clone()).or_default();
        let changed = match new {
            Some(compliance) => {
                clusters.insert(pair.cluster.clone(), compliance) != Some(compliance)
            }
            None => clusters.remove(&pair.cluster).is_some(),
        };
        if clusters.is_empty() {
            self.replicas.remove(&pair.root);
        }
        let mut dirty = Dirty::default();
        if changed {
            dirty.roots.insert(pair.root.clone());
        }
        dirty
    }

    /// Whether a namespace of this name belongs to a managed cluster.
    pub fn is_cluster_namespace(&self, namespace: &str) -> bool {
        self.managed_clusters.contains(namespace)
    }

    /// All pairs that a root policy has or should have, for when the policy itself changed.
    pub fn pairs(&self, root: &RootPolicyName) -> BTreeSet<Pair> {
        let bindings = self.by_policy.get(root).into_iter().flatten();
        let bound = bindings.filter_map(|key| self.bindings.get(key));
        let chosen = bound.flat_map(|binding| self.clusters_of(&binding.placement));
        let holding = self.replica_clusters(root);
        let pair = |cluster: &String| Pair {
            root: root.clone(),
            cluster: cluster.clone(),
        };
        chosen.chain(holding).map(pair).collect()
    }

    /// The clusters that hold a replica of a root policy.
    pub fn replica_clusters(&self, root: &RootPolicyName) -> impl Iterator<Item = &String> {
        self.replicas.get(root).into_iter().flat_map(BTreeMap::keys)
    }

    /// Whether a policy should be on a cluster. Restricted bindings never place by themselves; they
    /// only add their override to what others placed.
    pub fn placed(&self, pair: &Pair) -> Option<Placed> {
        let matching = |restricted: bool| {
            let bindings = self.by_policy.get(&pair.root).into_iter().flatten();
            bindings
                .filter_map(|key| self.bindings.get(key))
                .filter(move |binding| binding.restricted == restricted)
                .filter(|binding| self.chooses(&binding.placement, &pair.cluster))
        };
        let mut plain = matching(false).peekable();
        plain.peek()?;
        let enforce = plain.find_map(|binding| binding.enforce.clone());
        let enforce =
            enforce.or_else(|| matching(true).find_map(|binding| binding.enforce.clone()));
        Some(Placed { enforce })
    }

    /// What the status of a root policy says about placement.
    pub fn reach(&self, root: &RootPolicyName) -> Reach {
        let bindings = || {
            let keys = self.by_policy.get(root).into_iter().flatten();
            keys.filter_map(|key| self.bindings.get(key).map(|binding| (key, binding)))
        };
        let mut reach = Reach::default();
        for (key, binding) in bindings().filter(|(_, binding)| !binding.restricted) {
            reach.placements.push(self.entry(key, binding));
            for cluster in self.clusters_of(&binding.placement) {
                let answer = self
                    .replicas
                    .get(root)
                    .and_then(|clusters| clusters.get(cluster));
                reach
                    .clusters
                    .insert(cluster.clone(), answer.copied().flatten());
            }
        }
        for (key, binding) in bindings().filter(|(_, binding)| binding.restricted) {
            if self
                .clusters_of(&binding.placement)
                .any(|c| reach.clusters.contains_key(c))
            {
                reach.placements.push(self.entry(key, binding));
            }
        }
        reach.placements.sort_by_cached_key(|entry| {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            format!(
                "{} {} {} {}",
                text(&entry.placement_binding),
                text(&entry.placement),
                text(&entry.placement_rule),
                text(&entry.policy_set)
            )
        });
        reach
    }

    fn entry(&self, key: &ObjectKey, binding: &BindingFacts) -> PolicyPlacement {
        let name = self
            .placements
            .contains(&binding.placement)
            .then(|| binding.placement.key.name.clone());
        let (placement, placement_rule) = match binding.placement.kind {
            PlacementKind::Placement => (name, None),
            PlacementKind::PlacementRule => (None, name),
        };
        PolicyPlacement {
            placement_binding: Some(key.name.clone()),
            placement,
            placement_rule,
            ..PolicyPlacement::default()
        }
    }

    fn chooses(&self, placement: &PlacementName, cluster: &str) -> bool {
        self.placements.contains(placement)
            && self
                .clusters
                .get(placement)
                .is_some_and(|counts| counts.contains_key(cluster))
    }

    fn clusters_of(&self, placement: &PlacementName) -> impl Iterator<Item = &String> {
        let exists = self.placements.contains(placement);
        let counts = self.clusters.get(placement).filter(|_| exists);
        counts.into_iter().flat_map(BTreeMap::keys)
    }

    fn pairs_of(&self, binding: Option<&BindingFacts>) -> BTreeSet<Pair> {
        let Some(binding) = binding else {
            return BTreeSet::new();
        };
        let pair = |root: &RootPolicyName, cluster: &String| Pair {
            root: root.clone(),
            cluster: cluster.clone(),
        };
        let clusters = || self.clusters_of(&binding.placement);
        binding
            .policies
            .iter()
            .flat_map(|root| clusters().map(move |c| pair(root, c)))
            .collect()
    }

    fn dirty_of(&self, placement: &PlacementName, clusters: &BTreeSet<String>) -> Dirty {
        let mut dirty = Dirty::default();
        if clusters.is_empty() {
            return dirty;
        }
        let bindings = self.by_placement.get(placement).into_iter().flatten();
        for root in bindings
            .filter_map(|key| self.bindings.get(key))
            .flat_map(|b| &b.policies)
        {
            dirty.roots.insert(root.clone());
            dirty.pairs.extend(clusters.iter().map(|cluster| Pair {
                root: root.clone(),
                cluster: cluster.clone(),
            }));
        }
        dirty
    }

    /// Takes one vote for a cluster away; true if that was the last.
    fn leave(&mut self, placement: &PlacementName, cluster: &str) -> bool {
        let Some(counts) = self.clusters.get_mut(placement) else {
            return false;
        };
        let Some(count) = counts.get_mut(cluster) else {
            return false;
        };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return false;
        }
        counts.remove(cluster);
        if counts.is_empty() {
            self.clusters.remove(placement);
        }
        true
    }
}

fn unlink<K: std::hash::Hash + Eq>(
    links: &mut HashMap<K, BTreeSet<ObjectKey>>,
    from: &K,
    to: &ObjectKey,
) {
    if let Some(keys) = links.get_mut(from) {
        keys.remove(to);
        if keys.is_empty() {
            links.remove(from);
        }
    }
}

#[cfg(test)]
mod tests;
