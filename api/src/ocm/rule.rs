//! `PlacementRule`, the older way to choose clusters: spec and decisions are one object.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::LabelSelector;

/// The spec of a rule.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "apps.open-cluster-management.io",
    version = "v1",
    kind = "PlacementRule",
    plural = "placementrules",
    namespaced,
    status = "PlacementRuleStatus",
    schema = "disabled",
    doc = "The older way to choose clusters."
)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementRuleSpec {
    /// The scheduler of the rule; a rule with a name here is left to that scheduler.
    pub scheduler_name: Option<String>,
    /// The largest number of clusters.
    pub cluster_replicas: Option<i64>,
    /// Only these clusters; all, if it is absent or empty.
    pub clusters: Option<Vec<ClusterReference>>,
    /// Only clusters with matching labels.
    pub cluster_selector: Option<LabelSelector>,
    /// Only clusters with all these conditions.
    pub cluster_conditions: Option<Vec<ConditionFilter>>,
}

/// A cluster by its name.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ClusterReference {
    /// The name.
    pub name: String,
}

/// The given fields are compared with the conditions of a `ManagedCluster`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ConditionFilter {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// The clusters a placement rule chose.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementRuleStatus {
    /// One entry per cluster.
    pub decisions: Vec<RuleDecision>,
}

/// One cluster chosen by a placement rule.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct RuleDecision {
    /// The cluster's name.
    pub cluster_name: String,
    /// The cluster's namespace on the hub, always equal to its name.
    pub cluster_namespace: String,
}

impl RuleDecision {
    /// The cluster: its name, or its namespace where only that is given.
    pub fn cluster(&self) -> &str {
        if self.cluster_name.is_empty() {
            &self.cluster_namespace
        } else {
            &self.cluster_name
        }
    }
}
