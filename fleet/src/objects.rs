//! The objects that an administrator would have created on the hub before the first policy.

use jiff::Timestamp;
use serde_json::{Value, json};

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
fn claims(name: &str) -> [(&'static str, String); 4] {
    [
        ("id.k8s.io", name.to_owned()),
        ("kubeversion.open-cluster-management.io", VERSION.to_owned()),
        ("platform.open-cluster-management.io", PLATFORM.to_owned()),
        ("name", name.to_owned()),
    ]
}

/// The `ClusterClaim` objects of the cluster.
pub(crate) fn cluster_claims(name: &str) -> Vec<Value> {
    let claim = |(claim, value)| {
        json!({
            "apiVersion": format!("{CLUSTER_GROUP}/v1alpha1"), "kind": "ClusterClaim",
            "metadata": { "name": claim }, "spec": { "value": value },
        })
    };
    claims(name).map(claim).into()
}

/// The status of a cluster that has joined.
pub(crate) fn cluster_status(name: &str) -> Value {
    let now = now();
    let condition = |of: &str, reason: &str, message: &str| json!({ "type": of, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now });
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
        "clusterClaims": claims(name).map(|(claim, value)| json!({ "name": claim, "value": value })),
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
