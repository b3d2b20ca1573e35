//! Who is bound to what: a pure index that is told of every change and answers which pairs of
//! policy and cluster, which root policies and which policy sets have to be looked at again.
//!
//! A change costs work in proportion to the pairs it touches, never to the fleet. Changes are told
//! in [`changes`]; here are the maps and what they say about placement, in [`reach`] what they say
//! about statuses.

mod changes;
mod dirty;
mod facts;
mod reach;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

pub use dirty::{Dirty, Pair};
pub use facts::{
    BindingFacts, DecisionFacts, PlacementKind, PlacementName, RootFacts, SetFacts, awaited_set,
};
pub use reach::{ClusterReach, Member, Reach};

/// What the hub's watches have told so far.
#[derive(Default)]
pub struct Index {
    roots: HashMap<RootPolicyName, RootFacts>,
    /// Root policies by the policy sets that they wait for.
    awaiting: HashMap<ObjectKey, BTreeSet<RootPolicyName>>,
    sets: HashMap<ObjectKey, SetFacts>,
    /// Policy sets by the policies they list.
    listed_in: HashMap<RootPolicyName, BTreeSet<ObjectKey>>,
    bindings: HashMap<ObjectKey, BindingFacts>,
    /// Bindings by the policy they name.
    by_policy: HashMap<RootPolicyName, BTreeSet<ObjectKey>>,
    /// Bindings by the policy set they name.
    by_set: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
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

impl Index {
    /// Whether a namespace of this name belongs to a managed cluster.
    pub fn is_cluster_namespace(&self, namespace: &str) -> bool {
        self.managed_clusters.contains(namespace)
    }

    /// How many managed clusters there are.
    pub fn managed_clusters(&self) -> usize {
        self.managed_clusters.len()
    }

    /// The policies of a set, as it lists them; `None` if there is no such set.
    pub fn members(&self, set: &ObjectKey) -> Option<&[String]> {
        self.sets.get(set).map(|facts| facts.listed.as_slice())
    }

    /// All pairs that a root policy has or should have, for when the policy itself changed.
    pub fn pairs(&self, root: &RootPolicyName) -> BTreeSet<Pair> {
        let bindings = self.bindings_of(root);
        let bound = bindings.iter().map(|(_, binding)| binding);
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
        let bindings = self.bindings_of(&pair.root);
        let matching = |restricted: bool| {
            let bindings = bindings.iter().map(|(_, binding)| *binding);
            bindings
                .filter(move |binding| binding.restricted == restricted)
                .filter(|binding| self.chooses(&binding.placement, &pair.cluster))
                .filter(|binding| self.sends(binding, &pair.root, &pair.cluster))
        };
        let mut plain = matching(false).peekable();
        plain.peek()?;
        let enforce = plain.find_map(|binding| binding.enforce.clone());
        let enforce =
            enforce.or_else(|| matching(true).find_map(|binding| binding.enforce.clone()));
        Some(Placed { enforce })
    }

    /// The bindings that name a policy, or a set that lists it, in the order of their names.
    fn bindings_of(&self, root: &RootPolicyName) -> Vec<(&ObjectKey, &BindingFacts)> {
        let direct = self.by_policy.get(root).into_iter().flatten();
        let sets = self.listed_in.get(root).into_iter().flatten();
        let through = sets
            .filter_map(|set| self.by_set.get(set))
            .flat_map(BTreeSet::iter);
        let keys: BTreeSet<&ObjectKey> = direct.chain(through).collect();
        let known = keys.into_iter();
        known
            .filter_map(|key| self.bindings.get_key_value(key))
            .collect()
    }

    /// The policies that a binding names or whose sets it names.
    fn policies_of(&self, binding: &BindingFacts) -> BTreeSet<RootPolicyName> {
        let sets = binding.sets.iter();
        let sets = sets.filter_map(|key| Some((key, self.sets.get(key)?)));
        let members = sets.flat_map(|(key, set)| {
            let names = set.policies.iter();
            names.map(|name| RootPolicyName::new(key.namespace.clone(), name.clone()))
        });
        binding.policies.iter().cloned().chain(members).collect()
    }

    /// The sets of a binding that list a policy.
    fn listing<'a>(
        &'a self,
        binding: &'a BindingFacts,
        root: &'a RootPolicyName,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a SetFacts)> + 'a {
        let sets = binding.sets.iter();
        let known = sets.filter_map(|key| Some((key, self.sets.get(key)?)));
        known.filter(|(_, set)| set.policies.contains(&root.name))
    }

    /// Whether a binding sends a policy to a cluster, if its placement chooses that: a set may
    /// exclude it on one way, and not on another.
    fn sends(&self, binding: &BindingFacts, root: &RootPolicyName, cluster: &str) -> bool {
        binding.policies.contains(root)
            || self
                .listing(binding, root)
                .any(|(_, set)| set.sends(&root.name, cluster))
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
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
