//! The node that a kubelet stands for.

use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::json;

use super::KubeletOptions;
use crate::Objects;

/// Often enough that no controller takes the node for lost.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The labels that every node has, with this one's values.
pub(super) fn labels(options: &KubeletOptions) -> [(&'static str, &str); 3] {
    [
        ("kubernetes.io/hostname", &options.node),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ]
}

/// Makes the node known.
pub(super) async fn register(objects: &Objects, options: &KubeletOptions) -> Result<()> {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let labels: std::collections::BTreeMap<_, _> = labels(options).into_iter().collect();
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": options.node, "labels": labels },
        "status": {
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "processes can be started",
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            }],
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "capacity": { "cpu": "64", "memory": "256Gi", "pods": "1000" },
            "allocatable": { "cpu": "64", "memory": "256Gi", "pods": "1000" },
        },
    });
    objects
        .apply(&node.to_string())
        .await
        .context("registering the node")?;
    // The namespace of leases may come later than the API server.
    crate::eventually("the node's lease is there", crate::SOON, || {
        beat(objects, options)
    })
    .await
}

/// Keeps the node alive until it is dropped.
pub(super) async fn keep_alive(objects: Objects, options: KubeletOptions) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        // One beat may fail: the API server may be stopped by the test.
        let _ = tokio::time::timeout(HEARTBEAT, beat(&objects, &options)).await;
    }
}

async fn beat(objects: &Objects, options: &KubeletOptions) -> Result<()> {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": options.node, "namespace": "kube-node-lease" },
        "spec": {
            "holderIdentity": options.node, "leaseDurationSeconds": 40,
            "renewTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
        },
    });
    objects.apply(&lease.to_string()).await?;
    Ok(())
}
