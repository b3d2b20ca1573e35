//! The members of sets, and the clusters that a placement may choose.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt;
use reeve_api::ocm::{ManagedCluster, ManagedClusterSet, Placement};

use super::messages;
use super::schedule::selectors::Selector;

/// The label that makes a cluster a member of one set.
pub const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
/// The selector type for membership by that label.
pub const EXCLUSIVE: &str = "ExclusiveClusterSetLabel";
/// The selector type for membership by any labels.
pub const BY_LABELS: &str = "LabelSelector";

/// The checked selector of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The clusters whose label names the set.
    Exclusive(String),
    /// The clusters whose labels match.
    Labels(Selector),
    /// No cluster: the set has no selector.
    Nobody,
}

impl Membership {
    /// The error is the reason why the set cannot be used.
    pub fn of(set: &ManagedClusterSet) -> Result<Self, String> {
        let selector = &set.spec.cluster_selector;
        match (selector.selector_type.as_str(), &selector.label_selector) {
            ("" | EXCLUSIVE, _) => Ok(Self::Exclusive(
                set.metadata.name.clone().unwrap_or_default(),
            )),
            (BY_LABELS, None) => Ok(Self::Nobody),
            (BY_LABELS, Some(labels)) => Selector::of_labels(labels).map(Self::Labels),
            (other, _) => Err(messages::unknown_selector_type(other)),
        }
    }

    /// Whether a cluster with these labels is a member of the set.
    pub fn includes(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Exclusive(set) => labels.get(SET_LABEL) == Some(set),
            Self::Labels(selector) => selector.matches(labels),
            Self::Nobody => false,
        }
    }
}

/// The clusters that a placement may choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Availability {
    /// The sets that are bound to the namespace, sorted.
    pub bound: Vec<String>,
    /// The bound sets that the placement names.
    pub eligible: Vec<String>,
    /// Their clusters, sorted by name.
    pub clusters: Vec<Arc<ManagedCluster>>,
    /// The errors of invalid sets, each with the set's name.
    pub unusable: Vec<String>,
}

impl Availability {
    /// The clusters for a placement, by the bindings of its namespace.
    pub fn of<'a>(
        placement: &Placement,
        bindings: impl IntoIterator<Item = &'a str>,
        sets: &BTreeMap<String, Arc<ManagedClusterSet>>,
        clusters: &BTreeMap<String, Arc<ManagedCluster>>,
    ) -> Self {
        let bound = bound(bindings, sets);
        let eligible = eligible(placement, &bound);
        let (clusters, unusable) = available(&eligible, sets, clusters);
        Self {
            bound,
            eligible,
            clusters,
            unusable,
        }
    }
}

/// The names of the bindings of a namespace whose set exists.
pub fn bound<'a>(
    bindings: impl IntoIterator<Item = &'a str>,
    sets: &BTreeMap<String, Arc<ManagedClusterSet>>,
) -> Vec<String> {
    let bound: BTreeSet<&str> = bindings
        .into_iter()
        .filter(|name| sets.contains_key(*name))
        .collect();
    bound.into_iter().map(str::to_owned).collect()
}

/// The bound sets that a placement names: all when it names none.
pub fn eligible(placement: &Placement, bound: &[String]) -> Vec<String> {
    let asked = &placement.spec.cluster_sets;
    let bound = bound.iter();
    bound
        .filter(|set| asked.is_empty() || asked.contains(set))
        .cloned()
        .collect()
}

/// The clusters of the eligible sets that are not terminating, and the errors of invalid sets.
pub fn available(
    names: &[String],
    sets: &BTreeMap<String, Arc<ManagedClusterSet>>,
    clusters: &BTreeMap<String, Arc<ManagedCluster>>,
) -> (Vec<Arc<ManagedCluster>>, Vec<String>) {
    let mut memberships = Vec::new();
    let mut unusable = Vec::new();
    for set in names.iter().filter_map(|name| sets.get(name)) {
        match Membership::of(set) {
            Ok(membership) => memberships.push(membership),
            Err(reason) => {
                let name = set.metadata.name.as_deref().unwrap_or_default();
                unusable.push(messages::unusable_set(name, &reason));
            }
        }
    }
    let belongs = |cluster: &&Arc<ManagedCluster>| {
        !cluster.is_terminating() && memberships.iter().any(|one| one.includes(cluster.labels()))
    };
    (
        clusters.values().filter(belongs).cloned().collect(),
        unusable,
    )
}
