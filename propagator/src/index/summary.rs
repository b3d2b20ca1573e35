//! The queries of the index for statuses: the clusters of a root policy with their compliance, and the same for the policies of
//! a set.

use std::collections::{BTreeMap, BTreeSet};

use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::{ExcludedCluster, PolicyPlacement};
use reeve_runtime::object::ObjectKey;

use super::facts::{BindingFacts, PlacementKind};
use super::{Index, SetFacts};

/// The placement of a root policy and the compliance of its clusters, for its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementSummary {
    /// The bindings and placements, in the order of the status.
    pub placements: Vec<PolicyPlacement>,
    /// The selected clusters.
    pub clusters: BTreeMap<String, ClusterSummary>,
}

/// A selected cluster in the status of a root policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSummary {
    /// The compliance of its replica.
    pub compliance: Option<Compliance>,
    /// Whether the policy is placed there. If not, a policy set excludes the cluster.
    pub placed: bool,
    /// The bindings that place the policy there although a policy set excludes the cluster.
    pub remaining: Vec<String>,
}

/// The state of one policy of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetMember {
    /// There is no such policy.
    Missing,
    /// It is disabled.
    Disabled(Vec<PolicyPlacement>),
    /// The worst compliance of the clusters where this set places it, if any is known.
    Compliance(Option<Compliance>, Vec<PolicyPlacement>),
}

impl Index {
    /// The placement of a root policy and the compliance of its clusters.
    pub fn summary(&self, root: &RootPolicyName) -> PlacementSummary {
        let disabled = self.roots.get(root).is_some_and(|facts| facts.disabled);
        let bindings = self.bindings_of(root);
        let mut summary = PlacementSummary::default();
        let mut excluding: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
        let plain = || bindings.iter().filter(|(_, binding)| !binding.restricted);
        for (_, binding) in plain().filter(|_| !disabled) {
            for cluster in self.clusters_of(&binding.placement) {
                let entry = summary.clusters.entry(cluster.clone()).or_default();
                entry.placed |= self.sends(binding, root, cluster);
            }
        }
        let restricted = bindings.iter().filter(|(_, binding)| binding.restricted);
        let restricted = restricted.filter(|(_, binding)| {
            self.clusters_of(&binding.placement)
                .any(|cluster| summary.clusters.contains_key(cluster))
        });
        for (key, binding) in plain().chain(restricted) {
            for (entry, set) in self.entries(key, binding, root) {
                let excluded = set.and_then(|set| set.exclusions.get(&root.name));
                for cluster in excluded.into_iter().flatten() {
                    excluding.entry(cluster).or_default().insert(&key.name);
                }
                summary.placements.push(entry);
            }
        }
        let replicas = self.replicas.get(root);
        for (cluster, entry) in &mut summary.clusters {
            let compliance = replicas.and_then(|replicas| replicas.compliances.get(cluster));
            entry.compliance = compliance.copied().flatten();
            if let Some(excluding) = excluding.get(cluster) {
                let remaining = plain()
                    .filter(|(_, binding)| self.selects(&binding.placement, cluster))
                    .map(|(key, _)| &key.name)
                    .filter(|binding| !excluding.contains(binding));
                entry.remaining = remaining.cloned().collect();
            }
        }
        summary.placements.sort_by_cached_key(sort_key);
        summary
    }

    /// The entries for one policy in one binding: one if it is a subject, one for each policy set that lists it.
    fn entries<'a>(
        &'a self,
        key: &'a ObjectKey,
        binding: &'a BindingFacts,
        root: &'a RootPolicyName,
    ) -> impl Iterator<Item = (PolicyPlacement, Option<&'a SetFacts>)> + 'a {
        let direct = binding.policies.contains(root).then_some((None, None));
        let sets = self.sets_listing(binding, root);
        let sets = sets.map(|(set, facts)| (Some(set.name.clone()), Some(facts)));
        direct.into_iter().chain(sets).map(move |(set, facts)| {
            let excluded = facts.and_then(|facts| facts.exclusions.get(&root.name));
            let exclusions: Vec<_> = excluded
                .into_iter()
                .flatten()
                .map(|cluster| ExcludedCluster {
                    cluster_name: cluster.clone(),
                })
                .collect();
            let (placement, placement_rule) = self.placement_names(binding);
            let entry = PolicyPlacement {
                placement_binding: Some(key.name.clone()),
                placement,
                placement_rule,
                policy_set: set,
                exclusions: Some(exclusions).filter(|exclusions| !exclusions.is_empty()),
                ..PolicyPlacement::default()
            };
            (entry, facts)
        })
    }

    /// The names of a binding's `Placement` and `PlacementRule`, of which one at most exists.
    fn placement_names(&self, binding: &BindingFacts) -> (Option<String>, Option<String>) {
        let exists = self.placements.contains(&binding.placement);
        let name = exists.then(|| binding.placement.key.name.clone());
        match binding.placement.kind {
            PlacementKind::Placement => (name, None),
            PlacementKind::PlacementRule => (None, name),
        }
    }

    /// The state of a policy as a member of a set.
    pub fn member(&self, set: &ObjectKey, policy: &str) -> SetMember {
        let root = RootPolicyName::new(set.namespace.clone(), policy);
        let Some(facts) = self.roots.get(&root) else {
            return SetMember::Missing;
        };
        let summary = self.summary(&root);
        let through = |entry: &PolicyPlacement| entry.policy_set.as_ref() == Some(&set.name);
        let placements: Vec<_> = summary.placements.into_iter().filter(through).collect();
        if facts.disabled {
            return SetMember::Disabled(placements);
        }
        let excluded = self.sets.get(set);
        let excluded = excluded.and_then(|set| set.exclusions.get(policy));
        let bindings = placements.iter().filter_map(|entry| {
            let name = entry.placement_binding.clone()?;
            self.bindings.get(&ObjectKey::new(&set.namespace, name))
        });
        let relevant: BTreeSet<&String> = bindings
            .flat_map(|binding| self.clusters_of(&binding.placement))
            .filter(|cluster| excluded.is_none_or(|excluded| !excluded.contains(*cluster)))
            .collect();
        let compliances = relevant.into_iter().filter_map(|cluster| {
            let cluster = summary.clusters.get(cluster)?;
            cluster.compliance
        });
        let severity = |compliance: &Compliance| match compliance {
            Compliance::Compliant => Some(0),
            Compliance::Pending => Some(1),
            Compliance::NonCompliant => Some(2),
            Compliance::Terminating => None,
        };
        let worst = compliances
            .filter(|compliance| severity(compliance).is_some())
            .max_by_key(severity);
        SetMember::Compliance(worst, placements)
    }
}

/// The order of the entries in a status.
fn sort_key(entry: &PolicyPlacement) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    format!(
        "{} {} {} {}",
        text(&entry.placement_binding),
        text(&entry.placement),
        text(&entry.placement_rule),
        text(&entry.policy_set)
    )
}
