//! Taints and leases.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use reeve_testkit::eventually;
use serde_json::{Value, json};

use crate::hub::Hub;
use crate::sets::wait_for_condition;

const AVAILABLE: &str = "ManagedClusterConditionAvailable";
const STOPPED: (&str, &str, &str) = (
    "Unknown",
    "ManagedClusterLeaseUpdateStopped",
    "Registration agent stopped updating its lease.",
);

fn condition(kind: &str, status: &str) -> Value {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": now})
}

/// Sets the conditions of the cluster `c1`: accepted, and its availability.
async fn set_available(hub: &Hub, available: Option<&str>) -> Result<()> {
    let mut conditions = vec![condition("HubAcceptedManagedCluster", "True")];
    conditions.extend(available.map(|status| condition(AVAILABLE, status)));
    let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
    let api = hub.all("ManagedCluster");
    api.patch_status(&hub.full("c1"), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

async fn set_lease_duration(hub: &Hub, seconds: i32) -> Result<()> {
    let patch = json!({"spec": {"leaseDurationSeconds": seconds}});
    hub.merge(&hub.all("ManagedCluster"), &hub.full("c1"), patch)
        .await
}

/// Waits until `c1` has exactly these taints of the hub.
async fn tainted(hub: &Hub, expected: &[&str]) -> Result<()> {
    let api = hub.all("ManagedCluster");
    let name = hub.full("c1");
    eventually(
        format!("the taints are {expected:?}"),
        Duration::from_secs(30),
        || async {
            let cluster = api.get(&name).await?;
            let taints = cluster.data["spec"]["taints"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let keys: Vec<&str> = taints
                .iter()
                .filter_map(|one| {
                    one["key"]
                        .as_str()?
                        .strip_prefix("cluster.open-cluster-management.io/")
                })
                .collect();
            ensure!(keys == expected, "{taints:?}");
            Ok(())
        },
    )
    .await
}

fn leases(hub: &Hub) -> Api<Lease> {
    Api::namespaced(hub.client.clone(), &hub.full("c1"))
}

/// Renews the lease of `c1`, once it exists.
async fn renew(hub: &Hub) -> Result<()> {
    let api = leases(hub);
    eventually("there is a lease", Duration::from_secs(30), || async {
        api.get_opt("managed-cluster-lease")
            .await?
            .context("not yet")
    })
    .await?;
    let now = Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string();
    let patch = Patch::Merge(json!({"spec": {"renewTime": now}}));
    api.patch("managed-cluster-lease", &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

async fn cluster(hub: &Hub) -> Result<()> {
    hub.namespace(&hub.full("c1")).await?;
    hub.cluster("c1", json!({})).await
}

pub async fn taints(hub: Hub) -> Result<()> {
    cluster(&hub).await?;
    tainted(&hub, &["unreachable"]).await?;
    set_available(&hub, Some("True")).await?;
    tainted(&hub, &[]).await?;
    set_available(&hub, Some("False")).await?;
    tainted(&hub, &["unavailable"]).await?;
    set_lease_duration(&hub, 1).await?;
    // No agent renews the lease.
    wait_for_condition(
        &hub.all("ManagedCluster"),
        &hub.full("c1"),
        AVAILABLE,
        STOPPED,
    )
    .await?;
    tainted(&hub, &["unreachable"]).await
}

pub async fn steady(hub: Hub) -> Result<()> {
    cluster(&hub).await?;
    set_lease_duration(&hub, 1).await?;
    set_available(&hub, Some("True")).await?;
    for _ in 0..8 {
        renew(&hub).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let api = hub.all("ManagedCluster");
    wait_for_condition(&api, &hub.full("c1"), AVAILABLE, ("True", "Test", "")).await
}

pub async fn recovered(hub: Hub) -> Result<()> {
    cluster(&hub).await?;
    set_available(&hub, Some("True")).await?;
    renew(&hub).await?;
    // The duration is shortened while the controller runs.
    set_lease_duration(&hub, 1).await?;
    let (api, name) = (hub.all("ManagedCluster"), hub.full("c1"));
    wait_for_condition(&api, &name, AVAILABLE, STOPPED).await?;
    renew(&hub).await?;
    set_lease_duration(&hub, 60).await?;
    set_available(&hub, Some("True")).await?;
    tainted(&hub, &[]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    wait_for_condition(&api, &name, AVAILABLE, ("True", "Test", "")).await
}

pub async fn restored(hub: Hub) -> Result<()> {
    cluster(&hub).await?;
    set_available(&hub, None).await?;
    let api = leases(&hub);
    renew(&hub).await?;
    api.delete("managed-cluster-lease", &kube::api::DeleteParams::default())
        .await?;
    renew(&hub).await
}

pub async fn terminating(hub: Hub) -> Result<()> {
    hub.namespace(&hub.full("c1")).await?;
    hub.cluster("c1", json!({"finalizers": ["reeve.test/held"]}))
        .await?;
    set_available(&hub, Some("True")).await?;
    renew(&hub).await?;
    hub.drop_cluster("c1").await?;
    let params = kube::api::DeleteParams::default();
    leases(&hub)
        .delete("managed-cluster-lease", &params)
        .await?;
    let (api, name) = (hub.all("ManagedCluster"), hub.full("c1"));
    wait_for_condition(&api, &name, AVAILABLE, STOPPED).await?;
    hub.merge(&api, &name, json!({"metadata": {"finalizers": null}}))
        .await
}
