//! `PolicySet` v1beta1: policies that are bound and judged together.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a policy set groups.
// Each column of the table has its own `type_` and `json_path`.
#[allow(clippy::duplicated_attributes)]
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1beta1",
    kind = "PolicySet",
    plural = "policysets",
    shortname = "plcset",
    namespaced,
    status = "PolicySetStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "PolicySet groups policies of its namespace, so that they are bound and judged together.",
    printcolumn(
        name = "Compliance state",
        type_ = "string",
        json_path = ".status.compliant"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct PolicySetSpec {
    /// What the set is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Clusters to which single policies of the set do not go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusions: Option<Vec<PolicyExclusion>>,
    /// Names of policies in the set's namespace.
    #[schemars(inner(length(min = 1)))]
    pub policies: Vec<String>,
}

/// Keeps one policy of the set from some clusters.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExclusion {
    /// The clusters to leave out.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub cluster_names: Vec<String>,
    /// The policy, which must be listed in the set.
    #[schemars(length(min = 1))]
    pub policy_name: String,
    /// Why, for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What is known about a policy set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicySetStatus {
    /// The sum over the set's policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant"]))]
    pub compliant: Option<String>,
    /// The exclusions in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusions: Option<Vec<PolicySetExclusionStatus>>,
    /// The bindings and placements that chose the clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Vec<PolicySetPlacement>>,
    /// What stands in the way of a complete answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
}

/// One exclusion in force.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicySetExclusionStatus {
    /// The clusters left out, sorted.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub clusters: Vec<String>,
    /// The policy.
    #[schemars(length(min = 1))]
    pub policy_name: String,
}

/// One way by which a policy set reaches clusters.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicySetPlacement {
    /// The `Placement`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The `PlacementBinding`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_binding: Option<String>,
    /// The `PlacementRule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_rule: Option<String>,
}
