//! `ManagedClusterSet` and `ManagedClusterSetBinding`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{LabelSelector, or_default};

/// The spec of a set.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSet",
    plural = "managedclustersets",
    status = "SetStatus",
    schema = "disabled",
    doc = "A group of managed clusters.",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSetSpec {
    /// The selector of its members.
    #[serde(deserialize_with = "or_default")]
    pub cluster_selector: SetSelector,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Chooses the members of a set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct SetSelector {
    /// `ExclusiveClusterSetLabel` (also when empty) or `LabelSelector`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selector_type: String,
    /// The selector of `LabelSelector`: an absent one matches nothing, an empty one everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// The status of a set or a binding.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SetStatus {
    /// The conditions `ClusterSetEmpty` or `Bound`.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
}

/// The spec of a binding, which allows a namespace to use a set.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSetBinding",
    plural = "managedclustersetbindings",
    namespaced,
    status = "SetStatus",
    schema = "disabled",
    doc = "Lets the placements of a namespace choose among the clusters of a set.",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSetBindingSpec {
    /// The set's name, which is the binding's name too.
    pub cluster_set: String,
}
