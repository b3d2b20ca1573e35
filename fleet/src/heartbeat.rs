//! Renews the Leases of the clusters as long as this process runs.

use std::time::Duration;

use kube::Client;
use reeve_runtime::CancellationToken;

use crate::objects::{LEASE, renewal};
use crate::start::merge;

/// The interval between two renewals.
const EVERY: Duration = Duration::from_mins(1);

/// Renews the Leases of clusters until `stop`.
pub(crate) async fn run(hub: Client, clusters: Vec<String>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        for cluster in &clusters {
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{cluster}/leases/{LEASE}");
            if let Err(error) = merge(&hub, &path, &renewal()).await {
                // Registration marks the cluster as unknown when the Lease expires.
                tracing::warn!(%cluster, %error, "cannot renew the lease");
            }
        }
    }
}
