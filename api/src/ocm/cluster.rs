//! `ManagedCluster`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::or_default;

/// The spec of a managed cluster.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1",
    kind = "ManagedCluster",
    plural = "managedclusters",
    status = "ManagedClusterStatus",
    schema = "disabled",
    doc = "A cluster known to the hub.",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterSpec {
    /// Whether the hub accepts the cluster's agent. Placement does not read it.
    pub hub_accepts_client: bool,
    /// How often the agent renews its lease; 0 reads as 60.
    pub lease_duration_seconds: i32,
    /// Taints, which repel placements that do not tolerate them.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// All other fields, for CEL.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A taint repels placements that do not tolerate it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// The value; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// `NoSelect`, `PreferNoSelect` or `NoSelectIfNew`.
    pub effect: String,
    /// When the taint was added; admission sets it.
    pub time_added: Option<Timestamp>,
}

/// The status, which the agent and the hub write.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterStatus {
    /// The conditions: accepted, joined, available.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<Value>,
    /// The allocatable resources, by name.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub allocatable: BTreeMap<String, Value>,
    /// The capacity, by resource.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub capacity: BTreeMap<String, Value>,
    /// The cluster claims.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub cluster_claims: Vec<ClusterFact>,
    /// The versions of its software.
    #[serde(deserialize_with = "or_default")]
    pub version: Map<String, Value>,
    /// All other fields, for CEL.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl ManagedClusterStatus {
    /// A condition's status (`True`, `False`, `Unknown`), if it is set.
    pub fn condition(&self, kind: &str) -> Option<&str> {
        let of_kind =
            |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(kind);
        self.conditions
            .iter()
            .find(of_kind)?
            .get("status")?
            .as_str()
    }

    /// The version of Kubernetes, such as `v1.36.1`; empty until the agent has reported it.
    pub fn kubernetes_version(&self) -> &str {
        let version = self.version.get("kubernetes");
        version.and_then(Value::as_str).unwrap_or_default()
    }
}

/// A cluster claim: a named fact about a cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ClusterFact {
    /// The name, such as `id.k8s.io`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
}

impl ManagedCluster {
    /// Its name.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Whether its `deletionTimestamp` is set.
    pub fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Its claims by name; of two claims with one name, the last.
    pub fn claims(&self) -> BTreeMap<String, String> {
        let claims = self.status.iter().flat_map(|status| &status.cluster_claims);
        claims
            .map(|claim| (claim.name.clone(), claim.value.clone()))
            .collect()
    }
}
