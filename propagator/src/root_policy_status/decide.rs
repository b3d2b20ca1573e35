//! Decides about a root policy and computes its status.

use reeve_api::Compliance;
use reeve_api::policy::{CompliancePerCluster, PolicyCondition, PolicyStatus, RemainingBinding};

use crate::index::{ClusterSummary, PlacementSummary};
use crate::messages;
use crate::root::{StatusDigest, json_length};
use crate::status_size;

/// The status of a root policy before a write.
#[derive(Clone, Debug, Default)]
pub struct CurrentStatus {
    /// The digest of the status without its conditions.
    pub digest: StatusDigest,
    /// The message of its condition, as the watch has delivered it, or as it was last written: the CRD may not have conditions.
    pub omission: Option<String>,
    /// The length of the policy without its status as JSON, in bytes.
    pub length_without_status: usize,
}

/// The decision about one root policy.
#[derive(Clone, Debug, PartialEq)]
pub enum RootAction {
    /// Its status equals the desired one.
    Nothing,
    /// Its status has to be written.
    Write(Box<PolicyStatus>),
    /// It is in a cluster namespace, where only replicas belong, and no binding names it: it is deleted.
    DeleteMisplaced,
    /// It is in a cluster namespace, but a binding names it: it is kept, and not propagated.
    KeepMisplaced,
    /// It is in a cluster namespace, and whether it may be deleted is not known yet.
    Wait,
}

/// The kind of namespace that a policy without the label of a replica is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootLocation {
    /// A namespace of no managed cluster.
    OutsideClusterNamespaces,
    /// The namespace of a managed cluster.
    InClusterNamespace,
    /// The namespace of a managed cluster, with the name of a replica that should exist: it has lost its label, and gets it back.
    /// Or an object that may place it cannot be decoded.
    Unknown,
}

/// Decides about a root policy.
pub fn root(
    current: &CurrentStatus,
    location: RootLocation,
    summary: PlacementSummary,
) -> RootAction {
    match location {
        RootLocation::OutsideClusterNamespaces => {}
        // A cluster may have been given the name of an existing namespace with policies in use, which a binding shows.
        RootLocation::InClusterNamespace | RootLocation::Unknown
            if !summary.placements.is_empty() =>
        {
            return RootAction::KeepMisplaced;
        }
        RootLocation::InClusterNamespace => return RootAction::DeleteMisplaced,
        // The cluster would follow its deletion, and prune.
        RootLocation::Unknown => return RootAction::Wait,
    }
    match status(current, summary) {
        Some(status) => RootAction::Write(Box::new(status)),
        None => RootAction::Nothing,
    }
}

/// The desired status of a root policy; `None` if the current one equals it. Empty lists are absent.
pub fn status(current: &CurrentStatus, summary: PlacementSummary) -> Option<PolicyStatus> {
    let placed = summary.clusters.values().filter(|cluster| cluster.placed);
    let compliant = aggregate_compliance(placed.map(|cluster| cluster.compliance));
    let mut clusters: Vec<_> = summary.clusters.into_iter().map(of_cluster).collect();
    let placements = json_length(&summary.placements);
    let used = current.length_without_status + placements + status_size::OTHER_STATUS_BYTES;
    let omission = status_size::fit(
        &mut clusters,
        status_size::MAX_OBJECT_BYTES.saturating_sub(used),
    );
    let omission = omission.map(|omission| messages::clusters_omitted(&omission));
    let is_same_condition = omission == current.omission;
    let desired = PolicyStatus {
        compliant: compliant.map(|compliance| compliance.to_string()),
        conditions: omission.map(|message| vec![clusters_omitted(message)]),
        status: Some(clusters).filter(|list| !list.is_empty()),
        placement: Some(summary.placements).filter(|list| !list.is_empty()),
        details: None,
    };
    let is_same = is_same_condition && StatusDigest::of(&desired) == current.digest;
    (!is_same).then_some(desired)
}

/// The condition of a status that does not list all clusters, without the time when it began.
fn clusters_omitted(message: String) -> PolicyCondition {
    PolicyCondition {
        type_: messages::CLUSTERS_OMITTED.to_owned(),
        status: Some("True".to_owned()),
        reason: Some(messages::STATUS_TOO_LARGE.to_owned()),
        message: Some(message),
        last_transition_time: None,
    }
}

fn of_cluster((name, summary): (String, ClusterSummary)) -> CompliancePerCluster {
    let remaining = summary.remaining.into_iter();
    let remaining: Vec<_> = remaining
        .map(|placement_binding| RemainingBinding { placement_binding })
        .collect();
    CompliancePerCluster {
        clustername: Some(name.clone()),
        clusternamespace: Some(name),
        compliant: summary.compliance.map(|compliance| compliance.to_string()),
        remaining_bindings: Some(remaining).filter(|list| !list.is_empty()),
    }
}

/// The compliance of a root policy: the worst of its clusters, if that of every cluster is known.
pub fn aggregate_compliance(
    answers: impl Iterator<Item = Option<Compliance>>,
) -> Option<Compliance> {
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
