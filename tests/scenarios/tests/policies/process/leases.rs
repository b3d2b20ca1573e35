//! The leases of the add-ons.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_runtime::CancellationToken;
use reeve_runtime::addon_lease::AddonLease;
use reeve_testkit::{Plane, SOON, eventually};

use crate::process::Planes;

const NAME: &str = "governance-standalone-hub-templating";

async fn kept(plane: &Plane, namespace: &str) -> Result<()> {
    eventually(format!("the lease in {namespace}"), SOON, || async {
        let lease = plane
            .get("coordination.k8s.io/v1", "Lease", Some(namespace), NAME)
            .await?
            .context("absent")?;
        ensure!(
            lease.data["spec"]["leaseDurationSeconds"] == 60,
            "{:#}",
            lease.data
        );
        ensure!(
            lease.data["spec"]["renewTime"].is_string(),
            "{:#}",
            lease.data
        );
        Ok(())
    })
    .await
}

pub(crate) async fn lease_location(planes: Arc<Planes>) -> Result<()> {
    let namespace =
        |name| format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
    planes.target.apply(&namespace("addon")).await?;
    planes
        .hosting
        .apply(&namespace("cluster-of-leases"))
        .await?;
    let stop = CancellationToken::new();
    let lease = |namespace: &str| AddonLease {
        name: NAME,
        managed: (planes.target.client(), namespace.to_owned()),
        hub: Some((planes.hosting.client(), "cluster-of-leases".to_owned())),
        deployment: None,
    };
    let here = tokio::spawn(lease("addon").run(|| true, stop.clone()));
    kept(&planes.target, "addon").await?;
    let found = planes
        .hosting
        .get(
            "coordination.k8s.io/v1",
            "Lease",
            Some("cluster-of-leases"),
            NAME,
        )
        .await?;
    ensure!(found.is_none(), "kept on the hub too");
    let there = tokio::spawn(lease("no-such-namespace").run(|| true, stop.clone()));
    kept(&planes.hosting, "cluster-of-leases").await?;
    stop.cancel();
    here.await?;
    there.await?;
    Ok(())
}
