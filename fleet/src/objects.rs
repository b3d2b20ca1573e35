//! The objects that an administrator would have created on the hub before the first policy.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::Cluster;

/// The namespace of the samples, and of users' objects without a namespace.
pub(crate) const POLICIES: &str = "policies";
/// The Lease that a cluster's agent renews.
pub(crate) const LEASE: &str = "managed-cluster-lease";
/// The duration of the Lease in seconds; registration waits for five times this.
const LEASE_SECONDS: u32 = 60;

/// The version of Kubernetes that the servers serve.
const VERSION: &str = "v1.36.1";
/// The platform in the claims of the clusters.
const PLATFORM: &str = "Reeve";

const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";

pub(crate) fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// An accepted cluster.
pub(crate) fn managed_cluster(name: &str) -> Value {
    json!({
        "apiVersion": format!("{CLUSTER_GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": { "name": name, "labels": {
            "name": name, "cloud": "Local", "vendor": "Kubernetes", "openshiftVersion": "",
        } },
        "spec": { "hubAcceptsClient": true, "leaseDurationSeconds": LEASE_SECONDS },
    })
}

/// The claims that a klusterlet would publish.
fn claims(cluster: &Cluster) -> Vec<(&str, &str)> {
    let name = cluster.name.as_str();
    let mut claims = vec![
        ("id.k8s.io", name),
        ("kubeversion.open-cluster-management.io", VERSION),
        ("platform.open-cluster-management.io", PLATFORM),
        ("name", name),
    ];
    claims.retain(|(claim, _)| !cluster.claims.contains_key(*claim));
    let own = cluster.claims.iter();
    claims.extend(own.map(|(claim, value)| (claim.as_str(), value.as_str())));
    claims
}

/// The `ClusterClaim` objects of the cluster.
pub(crate) fn cluster_claims(cluster: &Cluster) -> Vec<Value> {
    let claim = |(claim, value)| {
        json!({
            "apiVersion": format!("{CLUSTER_GROUP}/v1alpha1"), "kind": "ClusterClaim",
            "metadata": { "name": claim }, "spec": { "value": value },
        })
    };
    claims(cluster).into_iter().map(claim).collect()
}

/// The status of a cluster that has joined.
pub(crate) fn cluster_status(cluster: &Cluster) -> Value {
    let now = now();
    let condition = |of: &str, reason: &str, message: &str| json!({ "type": of, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now });
    let claims = claims(cluster)
        .into_iter()
        .map(|(claim, value)| json!({ "name": claim, "value": value }));
    let claims: Vec<Value> = claims.collect();
    let resources = json!({ "cpu": "4", "memory": "16Gi" });
    json!({ "status": {
        "conditions": [
            condition("HubAcceptedManagedCluster", "HubClusterAdminAccepted", "Accepted by hub cluster admin"),
            condition("ManagedClusterJoined", "ManagedClusterJoined", "Managed cluster joined"),
            condition(
                "ManagedClusterConditionAvailable", "ManagedClusterAvailable", "Managed cluster is available",
            ),
        ],
        "version": { "kubernetes": VERSION },
        "clusterClaims": claims,
        "allocatable": resources, "capacity": resources,
    } })
}

pub(crate) fn lease(cluster: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": LEASE, "namespace": cluster },
        "spec": { "leaseDurationSeconds": LEASE_SECONDS, "renewTime": micro_now() },
    })
}

/// The patch that renews the Lease of a cluster.
pub(crate) fn renewal() -> Value {
    json!({ "spec": { "renewTime": micro_now() } })
}

/// Binds a set of clusters to a namespace, so that the placements there may choose all clusters.
pub(crate) fn binding(namespace: &str, set: &str) -> Value {
    json!({
        "apiVersion": format!("{CLUSTER_GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
        "metadata": { "name": set, "namespace": namespace }, "spec": { "clusterSet": set },
    })
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn micro_now() -> String {
    Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string()
}
