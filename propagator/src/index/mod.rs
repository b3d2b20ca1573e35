//! The index of placements: which policy is bound to which cluster. It does no I/O. Watch handlers apply every change, and get
//! the pairs of policy and cluster, the root policies and the policy sets to enqueue.
//!
//! A change costs work in proportion to the pairs that it affects, never to the number of clusters. [`changes`] has the
//! updates, [`summary`] the queries for statuses, this module the maps and the queries for placement.

mod changes;
mod dirty;
mod facts;
mod summary;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

pub use dirty::{Dirty, Pair};
pub use facts::{
    BindingFacts, DecisionFacts, PlacementKind, PlacementName, RootFacts, SetFacts, dependency_set,
};
pub use summary::{ClusterSummary, PlacementSummary, SetMember};

/// The index over the cached objects of the hub.
#[derive(Default)]
pub struct Index {
    roots: HashMap<RootPolicyName, RootFacts>,
    /// Root policies by the policy sets that they depend on.
    dependents_by_set: HashMap<ObjectKey, BTreeSet<RootPolicyName>>,
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
    /// The replicas of each root policy.
    replicas: HashMap<RootPolicyName, Replicas>,
}

/// The replicas of a root policy.
#[derive(Clone, Debug, Default)]
struct Replicas {
    /// The clusters that hold one, with its compliance.
    compliances: BTreeMap<String, Option<Compliance>>,
    /// How often the compliance of one has changed.
    changes: u64,
}

/// How a policy is placed on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The remediation action of a binding's override, as the user spelled it.
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

    /// The policies that a set lists, in its order; `None` if there is no such set.
    pub fn members(&self, set: &ObjectKey) -> Option<&[String]> {
        self.sets.get(set).map(|facts| facts.listed.as_slice())
    }

    /// All pairs that a root policy has or should have, for when the policy itself changed.
    pub fn pairs(&self, root: &RootPolicyName) -> BTreeSet<Pair> {
        let bindings = self.bindings_of(root);
        let bound = bindings.iter().map(|(_, binding)| binding);
        let selected = bound.flat_map(|binding| self.clusters_of(&binding.placement));
        let with_replica = self.replica_clusters(root);
        let pair = |cluster: &String| Pair {
            root: root.clone(),
            cluster: cluster.clone(),
        };
        selected.chain(with_replica).map(pair).collect()
    }

    /// The clusters that hold a replica of a root policy.
    pub fn replica_clusters(&self, root: &RootPolicyName) -> impl Iterator<Item = &String> {
        let replicas = self.replicas.get(root).into_iter();
        replicas.flat_map(|replicas| replicas.compliances.keys())
    }

    /// How often the compliance of a replica of a root policy has changed, since there were none.
    pub fn compliance_changes(&self, root: &RootPolicyName) -> u64 {
        self.replicas
            .get(root)
            .map_or(0, |replicas| replicas.changes)
    }

    /// The placement of a policy on a cluster; `None` if it is not placed there. Restricted bindings place nothing by
    /// themselves; they only add their override where another binding places.
    pub fn placed(&self, pair: &Pair) -> Option<Placed> {
        let bindings = self.bindings_of(&pair.root);
        let matching = |restricted: bool| {
            let bindings = bindings.iter().map(|(_, binding)| *binding);
            bindings
                .filter(move |binding| binding.restricted == restricted)
                .filter(|binding| self.selects(&binding.placement, &pair.cluster))
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
    fn sets_listing<'a>(
        &'a self,
        binding: &'a BindingFacts,
        root: &'a RootPolicyName,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a SetFacts)> + 'a {
        let sets = binding.sets.iter();
        let known = sets.filter_map(|key| Some((key, self.sets.get(key)?)));
        known.filter(|(_, set)| set.policies.contains(&root.name))
    }

    /// Whether a binding places a policy on a cluster, if its placement selects that: one of its sets may exclude the cluster
    /// while another, or the policy as subject, does not.
    fn sends(&self, binding: &BindingFacts, root: &RootPolicyName, cluster: &str) -> bool {
        binding.policies.contains(root)
            || self
                .sets_listing(binding, root)
                .any(|(_, set)| set.sends(&root.name, cluster))
    }

    fn selects(&self, placement: &PlacementName, cluster: &str) -> bool {
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
