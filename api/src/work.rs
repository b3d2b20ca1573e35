//! `ManifestWork`, by which OCM brings objects to a cluster: what is read of it. Its CRD belongs to OCM.

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
    /// As it is stored: it is compared field by field.
    pub Map<String, Value>,
);

/// What the work agent says of the objects.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestWorkStatus {
    /// Of all together.
    pub conditions: Vec<Condition>,
    /// Of each.
    pub resource_status: ManifestResourceStatus,
}

/// What is said of each object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ManifestResourceStatus {
    /// One entry an object.
    pub manifests: Vec<ManifestCondition>,
}

/// What is said of one object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestCondition {
    /// Which one.
    pub resource_meta: ManifestResourceMeta,
    /// Values of its status that were asked for.
    pub status_feedback: StatusFeedback,
    /// Whether it is applied and available.
    pub conditions: Vec<Condition>,
}

/// Names an object of a work.
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

/// Values of an object's status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct StatusFeedback {
    /// Each with its name.
    pub values: Vec<FeedbackValue>,
}

/// A value of an object's status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct FeedbackValue {
    /// Its name, such as `PodPhase`.
    pub name: String,
    /// The value.
    pub field_value: FieldValue,
}

/// A value and its type.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct FieldValue {
    /// A text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
}
