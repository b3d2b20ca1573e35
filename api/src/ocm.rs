//! The OCM resources that Reeve reads, with only the fields it reads. Their CRDs belong to OCM.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// A cluster known to the hub.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1",
    kind = "ManagedCluster",
    plural = "managedclusters",
    status = "ManagedClusterStatus",
    schema = "disabled",
    doc = "A cluster known to the hub."
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSpec {}

/// The status of a cluster, which its agent and the hub write.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterStatus {
    /// The conditions: accepted, joined, available.
    pub conditions: Vec<ClusterCondition>,
    /// The versions of its software.
    pub version: ClusterVersion,
    /// Its claims.
    pub cluster_claims: Vec<ClusterFact>,
}

/// A condition. It has fewer required fields than a Kubernetes condition, so that none is unreadable.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ClusterCondition {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// The versions of a cluster's software.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ClusterVersion {
    /// The version of Kubernetes, such as `v1.36.1`; empty until the agent has reported it.
    pub kubernetes: String,
}

/// A cluster claim: a named fact about a cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ClusterFact {
    /// The name, such as `id.k8s.io`.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A group of managed clusters.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSet",
    plural = "managedclustersets",
    schema = "disabled",
    doc = "A group of managed clusters."
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSetSpec {}

/// Chooses clusters. Its choice is read from its decisions, never from its spec.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "Placement",
    plural = "placements",
    namespaced,
    schema = "disabled",
    doc = "Chooses clusters."
)]
#[serde(rename_all = "camelCase")]
pub struct PlacementSpec {}

/// The clusters that a placement chose; a large choice has several of these.
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
    doc = "The clusters a placement chose."
)]
pub struct PlacementDecisionFields {}

/// The clusters a placement chose.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementDecisionStatus {
    /// One entry per cluster.
    pub decisions: Vec<ClusterDecision>,
}

/// One chosen cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterDecision {
    /// The cluster's name.
    pub cluster_name: String,
    /// Why it was chosen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The older way to choose clusters, where spec and decisions are one object.
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
#[serde(rename_all = "camelCase")]
pub struct PlacementRuleSpec {}

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

/// A claim of a managed cluster about itself.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterClaim",
    plural = "clusterclaims",
    schema = "disabled",
    doc = "A fact a managed cluster states about itself."
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClaimSpec {
    /// The claim's value.
    #[serde(default)]
    pub value: String,
}
