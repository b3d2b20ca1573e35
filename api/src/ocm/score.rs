//! `AddOnPlacementScore`.

use jiff::Timestamp;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::or_default;

/// A score object has no spec.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnPlacementScore",
    plural = "addonplacementscores",
    namespaced,
    no_spec,
    status = "AddOnPlacementScoreStatus",
    schema = "disabled",
    doc = "How good an add-on finds the cluster in whose namespace it is.",
    derive = "PartialEq"
)]
pub struct AddOnPlacementScoreFields {}

/// The scores of an add-on for one cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnPlacementScoreStatus {
    /// The scores, by name.
    #[serde(deserialize_with = "or_default")]
    pub scores: Vec<Score>,
    /// The expiry of the scores; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
}

/// One score.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct Score {
    /// The name of the score.
    pub name: String,
    /// From -100 to 100.
    pub value: i32,
}
