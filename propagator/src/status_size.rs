//! Keeps the status of a root policy as small as etcd requires.

use std::collections::BTreeMap;

use reeve_api::Compliance;
use reeve_api::policy::CompliancePerCluster;

use crate::root::json_length;

/// The largest object that is written. etcd refuses requests of more than 1.5 MiB (its default), and a kube-apiserver then
/// answers 500 `etcdserver: request is too large`. What is left is for the record of field managers, which is not cached.
pub const MAX_OBJECT_BYTES: usize = 1536 * 1024 - 48 * 1024;

/// What a status takes besides its clusters and placements: names of fields, the compliance and a condition.
pub const OTHER_STATUS_BYTES: usize = 1024;

/// The clusters of a status that has no room for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// How many clusters the status lists.
    pub listed: usize,
    /// How many clusters there are.
    pub total: usize,
    /// All clusters by compliance, the worst first, without those that none has. `None`: it is not known.
    pub counts: Vec<(Option<Compliance>, usize)>,
}

/// Removes clusters until the list fits into `room` bytes: those that comply first, and those that violate the policy last; of
/// equal ones those whose names come last. `None` if all of them fit.
pub fn fit(clusters: &mut Vec<CompliancePerCluster>, room: usize) -> Option<Omission> {
    let lengths: Vec<usize> = clusters.iter().map(|one| json_length(one) + 1).collect();
    if lengths.iter().sum::<usize>() <= room {
        return None;
    }
    let total = clusters.len();
    let mut counts: BTreeMap<u8, (Option<Compliance>, usize)> = BTreeMap::new();
    let mut by_rank: Vec<(u8, usize)> = Vec::with_capacity(total);
    for (place, cluster) in clusters.iter().enumerate() {
        let compliance = cluster.compliant.as_deref().and_then(Compliance::parse);
        by_rank.push((rank(compliance), place));
        counts.entry(rank(compliance)).or_insert((compliance, 0)).1 += 1;
    }
    by_rank.sort_unstable();
    let mut left = room;
    let mut is_listed = vec![false; total];
    for (_, place) in by_rank {
        let Some(rest) = lengths
            .get(place)
            .and_then(|length| left.checked_sub(*length))
        else {
            break;
        };
        left = rest;
        if let Some(listed) = is_listed.get_mut(place) {
            *listed = true;
        }
    }
    let mut listed = is_listed.into_iter();
    clusters.retain(|_| listed.next().unwrap_or_default());
    Some(Omission {
        listed: clusters.len(),
        total,
        counts: counts.into_values().collect(),
    })
}

/// The worst compliance is listed first.
fn rank(compliance: Option<Compliance>) -> u8 {
    match compliance {
        Some(Compliance::NonCompliant) => 0,
        Some(Compliance::Pending) => 1,
        Some(Compliance::Terminating) => 2,
        None => 3,
        Some(Compliance::Compliant) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(name: &str, compliance: Option<Compliance>) -> CompliancePerCluster {
        CompliancePerCluster {
            clustername: Some(name.to_owned()),
            clusternamespace: Some(name.to_owned()),
            compliant: compliance.map(|compliance| compliance.to_string()),
            remaining_bindings: None,
        }
    }

    fn names(clusters: &[CompliancePerCluster]) -> Vec<&str> {
        let names = clusters.iter().map(|one| one.clustername.as_deref());
        names.flatten().collect()
    }

    fn five() -> Vec<CompliancePerCluster> {
        vec![
            cluster("a", Some(Compliance::Compliant)),
            cluster("b", Some(Compliance::Compliant)),
            cluster("c", None),
            cluster("d", Some(Compliance::NonCompliant)),
            cluster("e", Some(Compliance::Pending)),
        ]
    }

    #[test]
    fn prop_193_clusters_that_fit_stay() {
        let mut clusters = five();
        let room = json_length(&clusters) - 1;
        assert_eq!(fit(&mut clusters, room), None);
        assert_eq!(clusters, five());
    }

    #[test]
    fn prop_193_compliant_clusters_are_omitted_first_and_counts_are_exact() {
        let mut clusters = five();
        let room = json_length(&clusters) - 2;
        let omission = fit(&mut clusters, room).unwrap();
        assert_eq!(names(&clusters), ["a", "c", "d", "e"]);
        let counts = vec![
            (Some(Compliance::NonCompliant), 1),
            (Some(Compliance::Pending), 1),
            (None, 1),
            (Some(Compliance::Compliant), 2),
        ];
        assert_eq!(omission.counts, counts);
        assert_eq!((omission.listed, omission.total), (4, 5));
    }

    #[test]
    fn prop_193_violating_clusters_are_omitted_last() {
        let mut clusters = five();
        let room = json_length(&five()[3]) + 1;
        assert_eq!(
            fit(&mut clusters, room).map(|omission| omission.listed),
            Some(1)
        );
        assert_eq!(names(&clusters), ["d"]);
        let none = fit(&mut clusters, 0).unwrap();
        assert_eq!((none.listed, none.total, clusters.len()), (0, 1, 0));
    }
}
