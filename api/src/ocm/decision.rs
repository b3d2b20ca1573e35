//! `PlacementDecision`.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::or_default;

/// The label with the name of a decision's placement.
pub const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";
/// The label with the index of a decision's group, from `0`.
pub const GROUP_INDEX_LABEL: &str = "cluster.open-cluster-management.io/decision-group-index";
/// The label with the name of a decision's group, empty when it has none.
pub const GROUP_NAME_LABEL: &str = "cluster.open-cluster-management.io/decision-group-name";

/// A decision has no spec.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "PlacementDecision",
    plural = "placementdecisions",
    namespaced,
    no_spec,
    status = "PlacementDecisionStatus",
    schema = "disabled",
    doc = "The clusters a placement chose, at most 100 of them.",
    derive = "PartialEq"
)]
pub struct PlacementDecisionFields {}

/// The clusters that a placement chose.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct PlacementDecisionStatus {
    /// One entry per cluster, by name.
    #[serde(deserialize_with = "or_default")]
    pub decisions: Vec<ClusterDecision>,
}

/// One chosen cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterDecision {
    /// Its name.
    pub cluster_name: String,
    /// Always empty, and always serialized: the schema requires it.
    pub reason: String,
}

impl PlacementDecision {
    /// The name of its placement, from its label.
    pub fn placement(&self) -> Option<&str> {
        let label = self.metadata.labels.as_ref()?.get(PLACEMENT_LABEL)?;
        (!label.is_empty()).then_some(label)
    }

    /// The clusters in it.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        let decisions = self.status.iter().flat_map(|status| &status.decisions);
        decisions.map(|decision| decision.cluster_name.as_str())
    }
}
