//! What the status of a root policy must say.

use reeve_api::Compliance;
use reeve_api::policy::{CompliancePerCluster, PolicyStatus, RemainingBinding};

use crate::index::{ClusterReach, Reach};
use crate::root::StatusDigest;

/// What to do about one root policy.
#[derive(Clone, Debug, PartialEq)]
pub enum RootAction {
    /// Its status is as it should be.
    Nothing,
    /// Its status must change.
    Write(Box<PolicyStatus>),
    /// It location where only replicas belong, and nothing binds it: it must go.
    DeleteMisplaced,
    /// It location where only replicas belong, but somebody means it: it is left, and not propagated.
    KeepMisplaced,
    /// It location where only replicas belong, and whether it may go is not known yet.
    Wait,
}

/// Where a policy without the label of a replica location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootLocation {
    /// Where root policies belong.
    OutsideClusterNamespaces,
    /// In the namespace of a managed cluster.
    InClusterNamespace,
    /// There too, but in the place of a replica that should be there: it has lost its label, and gets it back. Or
    /// what would say who means it cannot be read.
    Unknown,
}

/// Decides about a root policy.
pub fn root(current: &StatusDigest, location: RootLocation, reach: Reach) -> RootAction {
    match location {
        RootLocation::OutsideClusterNamespaces => {}
        // A cluster may have been given the name of a namespace that was there before it, with
        // policies in use: a binding is the sign.
        RootLocation::InClusterNamespace | RootLocation::Unknown
            if !reach.placements.is_empty() =>
        {
            return RootAction::KeepMisplaced;
        }
        RootLocation::InClusterNamespace => return RootAction::DeleteMisplaced,
        // The cluster would take its deletion at its word, and prune.
        RootLocation::Unknown => return RootAction::Wait,
    }
    match status(current, reach) {
        Some(status) => RootAction::Write(Box::new(status)),
        None => RootAction::Nothing,
    }
}

/// The status a root policy should have; `None` if it has it. Empty lists and absent ones say the same, and are absent.
pub fn status(current: &StatusDigest, reach: Reach) -> Option<PolicyStatus> {
    let placed = reach.clusters.values().filter(|cluster| cluster.placed);
    let compliant = sum(placed.map(|cluster| cluster.compliance));
    let clusters: Vec<_> = reach.clusters.into_iter().map(of_cluster).collect();
    let desired = PolicyStatus {
        compliant: compliant.map(|sum| sum.to_string()),
        status: Some(clusters).filter(|list| !list.is_empty()),
        placement: Some(reach.placements).filter(|list| !list.is_empty()),
        details: None,
    };
    (StatusDigest::of(&desired) != *current).then_some(desired)
}

fn of_cluster((name, reach): (String, ClusterReach)) -> CompliancePerCluster {
    let remaining = reach.remaining.into_iter();
    let remaining: Vec<_> = remaining
        .map(|placement_binding| RemainingBinding { placement_binding })
        .collect();
    CompliancePerCluster {
        clustername: Some(name.clone()),
        clusternamespace: Some(name),
        compliant: reach.compliance.map(|compliance| compliance.to_string()),
        remaining_bindings: Some(remaining).filter(|list| !list.is_empty()),
    }
}

/// The compliance of a root policy: the worst answer, if every cluster has answered.
pub fn sum(answers: impl Iterator<Item = Option<Compliance>>) -> Option<Compliance> {
    let (mut any, mut pending, mut silent) = (false, false, false);
    for compliance in answers {
        any = true;
        match compliance {
            Some(Compliance::NonCompliant) => return Some(Compliance::NonCompliant),
            Some(Compliance::Pending) => pending = true,
            Some(Compliance::Compliant) => {}
            Some(Compliance::Terminating) | None => silent = true,
        }
    }
    match (any, pending, silent) {
        (_, true, _) => Some(Compliance::Pending),
        (true, false, false) => Some(Compliance::Compliant),
        _ => None,
    }
}
