//! Computes the writes that make the existing decisions equal to the desired ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use reeve_api::ocm::{Placement, PlacementDecision};

use super::groups::Desired;

/// A write of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// The decision does not exist.
    Create(Desired),
    /// The decision differs from the desired one.
    Patch(Patch),
    /// The decision is not desired.
    Delete(Arc<PlacementDecision>),
}

/// The differences between a decision and its desired state.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The existing decision.
    pub current: Arc<PlacementDecision>,
    /// The desired decision.
    pub desired: Desired,
    /// The desired owner references, if they differ.
    pub owners: Option<Vec<OwnerReference>>,
    /// Whether the labels differ.
    pub labels: bool,
    /// Whether the clusters differ.
    pub clusters: bool,
}

/// The writes that make `current` equal to the desired decisions. `current` are the decisions in the placement's
/// namespace with its label, or with the name of a desired one.
pub fn plan(
    placement: &Placement,
    desired: Vec<Desired>,
    current: &[Arc<PlacementDecision>],
) -> Vec<Write> {
    let named: BTreeMap<&str, &Arc<PlacementDecision>> = current
        .iter()
        .map(|one| (one.metadata.name.as_deref().unwrap_or_default(), one))
        .collect();
    let wanted: BTreeSet<String> = desired.iter().map(|one| one.name.clone()).collect();
    let mut writes: Vec<Write> = desired
        .into_iter()
        .filter_map(|desired| match named.get(desired.name.as_str()) {
            None => Some(Write::Create(desired)),
            Some(current) => patch(placement, desired, current).map(Write::Patch),
        })
        .collect();
    let ours = placement.metadata.name.as_deref();
    let surplus = named
        .iter()
        .filter(|(name, one)| !wanted.contains(**name) && one.placement() == ours)
        .map(|(_, one)| Write::Delete(Arc::clone(one)));
    writes.extend(surplus);
    writes
}

fn patch(
    placement: &Placement,
    desired: Desired,
    current: &Arc<PlacementDecision>,
) -> Option<Patch> {
    let owners = owners(placement, current);
    let labels = current.metadata.labels.as_ref() != Some(&desired.labels);
    let clusters = !current
        .clusters()
        .eq(desired.clusters.iter().map(String::as_str));
    let differs = owners.is_some() || labels || clusters;
    differs.then(|| Patch {
        current: Arc::clone(current),
        desired,
        owners,
        labels,
        clusters,
    })
}

/// The owner reference to a placement, by which the API server deletes its decisions with it.
pub fn owner(placement: &Placement) -> OwnerReference {
    OwnerReference {
        api_version: "cluster.open-cluster-management.io/v1beta1".to_owned(),
        kind: "Placement".to_owned(),
        name: placement.metadata.name.clone().unwrap_or_default(),
        uid: placement.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The desired owner references of a decision; `None` if it has them. Only one owner may be the controller.
fn owners(placement: &Placement, decision: &PlacementDecision) -> Option<Vec<OwnerReference>> {
    let ours = owner(placement);
    let present = decision.metadata.owner_references.iter().flatten();
    let is_ours = |one: &OwnerReference| one.uid == ours.uid && one.controller == Some(true);
    if present.clone().any(is_ours) {
        return None;
    }
    // References to a deleted placement of the same name, and others with this UID, are replaced.
    let others = present.filter(|one| one.kind != ours.kind && one.uid != ours.uid);
    let mut owners: Vec<OwnerReference> = others
        .cloned()
        .map(|mut one| {
            one.controller = one.controller.map(|_| false);
            one
        })
        .collect();
    owners.push(ours);
    Some(owners)
}
