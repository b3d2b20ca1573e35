//! The lease that reports that the add-on is alive. A process finds its namespace in a file that only Pods have, so this
//! is the library's part of it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_runtime::CancellationToken;
use reeve_runtime::addon_lease::AddonLease;
use reeve_scenarios::{holds, make_namespace};
use reeve_testkit::{SOON, eventually};

use crate::addon_process::Planes;

const NAME: &str = "governance-policy-framework";

/// FWK-17.
pub(crate) async fn only_the_synced(planes: Arc<Planes>) -> Result<()> {
    let plane = &planes.managed;
    let stop = CancellationToken::new();
    let mut running = Vec::new();
    for (namespace, synced) in [("lease-unsynced", false), ("lease-synced", true)] {
        make_namespace(plane, namespace).await?;
        let lease = AddonLease {
            name: NAME,
            managed: (plane.client(), namespace.to_owned()),
            hub: None,
            deployment: None,
        };
        running.push(tokio::spawn(lease.run(move || synced, stop.clone())));
    }
    let find = |namespace| plane.get("coordination.k8s.io/v1", "Lease", Some(namespace), NAME);
    let kept = eventually("the lease is kept", SOON, || async {
        find("lease-synced").await?.context("absent")
    });
    let spec = &kept.await?.data["spec"];
    ensure!(spec["leaseDurationSeconds"] == 60, "{spec:#}");
    holds("the other one is not", || async {
        ensure!(find("lease-unsynced").await?.is_none());
        Ok(())
    })
    .await?;
    stop.cancel();
    for lease in running {
        tokio::time::timeout(Duration::from_mins(5), lease).await??;
    }
    Ok(())
}
