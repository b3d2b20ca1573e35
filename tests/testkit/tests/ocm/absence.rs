//! A cluster that cannot be reached.

use anyhow::{Result, ensure};
use reeve_testkit::ocm::Klusterlet;
use serde_json::json;

use crate::{ADDON_API, Site, WORK_API, condition, offer_and_addon, until};

const WEST: &str = "west";
const CLUSTER: (&str, &str) = ("cluster.open-cluster-management.io/v1", "ManagedCluster");
const WORK: (&str, &str) = (WORK_API, "ManifestWork");

pub(crate) async fn all(site: &Site, klusterlet: &Klusterlet) -> Result<()> {
    offer_and_addon(site, WEST, "spoon").await?;
    klusterlet.pause()?;
    let stopped = "ManagedClusterLeaseUpdateStopped";
    until(&site.hub, CLUSTER, "", WEST, |cluster| {
        let available = condition(cluster, "ManagedClusterConditionAvailable");
        available["status"] == "Unknown" && available["reason"] == stopped
    })
    .await?;
    let addons = (ADDON_API, "ManagedClusterAddOn");
    until(&site.hub, addons, WEST, "spoon", |addon| {
        condition(addon, "Available")["reason"] == stopped
    })
    .await?;
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "far", "namespace": "default" } });
    let work = json!({ "apiVersion": WORK_API, "kind": "ManifestWork",
        "metadata": { "name": "far", "namespace": WEST },
        "spec": { "workload": { "manifests": [map] } } });
    site.hub.apply(&work.to_string()).await?;
    // The time in which it would have come, were the cluster there.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let far = site
        .managed
        .get("v1", "ConfigMap", Some("default"), "far")
        .await?;
    ensure!(far.is_none(), "applied in absence: {far:?}");
    klusterlet.resume()?;
    until(&site.hub, CLUSTER, "", WEST, |cluster| {
        condition(cluster, "ManagedClusterConditionAvailable")["status"] == "True"
    })
    .await?;
    until(&site.hub, WORK, WEST, "far", |work| {
        condition(work, "Applied")["status"] == "True"
    })
    .await?;
    Ok(())
}
