//! `ManifestWork`, by which OCM brings objects to a cluster: the fields that Reeve reads. Its CRD belongs to OCM.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Objects for one cluster, in the cluster's namespace on the hub.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "work.open-cluster-management.io",
    version = "v1",
    kind = "ManifestWork",
    plural = "manifestworks",
    namespaced,
    status = "ManifestWorkStatus",
    schema = "disabled",
    doc = "Objects for one cluster."
)]
#[serde(transparent)]
pub struct ManifestWorkSpec(
    /// The spec as stored, for a comparison field by field.
    pub Map<String, Value>,
);

/// The status, which the work agent writes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestWorkStatus {
    /// The conditions of the work.
    pub conditions: Vec<Condition>,
    /// The status of the objects.
    pub resource_status: ManifestResourceStatus,
}

/// The status of all objects.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ManifestResourceStatus {
    /// One entry per object.
    pub manifests: Vec<ManifestCondition>,
}

/// The status of one object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestCondition {
    /// The object.
    pub resource_meta: ManifestResourceMeta,
    /// The feedback values of its status.
    pub status_feedback: StatusFeedback,
    /// The conditions `Applied` and `Available`.
    pub conditions: Vec<Condition>,
}

/// The reference to an object of a work.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ManifestResourceMeta {
    /// The plural.
    pub resource: String,
    /// The kind.
    pub kind: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// The feedback values of an object's status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct StatusFeedback {
    /// The named values.
    pub values: Vec<FeedbackValue>,
}

/// A feedback value.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct FeedbackValue {
    /// Its name, such as `PodPhase`.
    pub name: String,
    /// The value.
    pub field_value: FieldValue,
}

/// A typed value.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct FieldValue {
    /// A string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
}
