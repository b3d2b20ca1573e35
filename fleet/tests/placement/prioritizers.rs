//! The order in which clusters are preferred.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::hub::Hub;

fn policy(mode: &str, weights: &[(&str, i32)]) -> Value {
    let configurations: Vec<Value> = weights
        .iter()
        .map(|(name, weight)| json!({"scoreCoordinate": {"builtIn": name}, "weight": weight}))
        .collect();
    json!({"mode": mode, "configurations": configurations})
}

const CPU: &str = "ResourceAllocatableCPU";
const MEMORY: &str = "ResourceAllocatableMemory";

/// Three clusters: cpu of 10 and memory of 100.
async fn three(hub: &Hub) -> Result<()> {
    hub.set("s1").await?;
    hub.bind("s1").await?;
    for (name, cpu, memory) in [("c1", "10", "50"), ("c2", "7", "90"), ("c3", "9", "80")] {
        hub.cluster(name, json!({"set": "s1", "cpu": cpu, "memory": memory}))
            .await?;
    }
    Ok(())
}

/// The decision of a placement that does not exist.
async fn foreign(hub: &Hub, cluster: &str) -> Result<()> {
    let labels = json!({"cluster.open-cluster-management.io/placement": "foreign"});
    let status = json!({"decisions": [{"clusterName": hub.full(cluster), "reason": ""}]});
    let object =
        json!({"metadata": {"name": "foreign-decision-1", "labels": labels}, "status": status});
    hub.create(&hub.own("PlacementDecision"), "PlacementDecision", object)
        .await?;
    Ok(())
}

pub async fn defaults(hub: Hub) -> Result<()> {
    three(&hub).await?;
    hub.placement(json!({"numberOfClusters": 2})).await?;
    hub.wait_for_clusters(&["c1", "c2"]).await
}

pub async fn resources(hub: Hub) -> Result<()> {
    three(&hub).await?;
    let policy = policy("Exact", &[(CPU, 1), (MEMORY, 1)]);
    hub.placement(json!({"numberOfClusters": 2, "prioritizerPolicy": policy}))
        .await?;
    hub.wait_for_clusters(&["c1", "c3"]).await?;
    let name = |short: &str| hub.full(short);
    let note = format!("{}:0 {}:0 {}:83 ", name("c1"), name("c2"), name("c3"));
    hub.wait_for_event("Normal", "ScoreUpdate", &note).await?;
    Ok(())
}

pub async fn steady(hub: Hub) -> Result<()> {
    three(&hub).await?;
    let policy = policy("Additive", &[("Steady", 3), (CPU, 1), (MEMORY, 1)]);
    hub.placement(json!({"numberOfClusters": 2, "prioritizerPolicy": policy}))
        .await?;
    hub.wait_for_clusters(&["c1", "c3"]).await?;
    foreign(&hub, "c2").await?;
    hub.cluster("c4", json!({"set": "s1", "cpu": "10", "memory": "100"}))
        .await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    hub.wait_for_clusters(&["c1", "c3"]).await
}

pub async fn balance(hub: Hub) -> Result<()> {
    three(&hub).await?;
    foreign(&hub, "c1").await?;
    let policy = policy("Exact", &[("Balance", 2), (CPU, 1)]);
    hub.placement(json!({"numberOfClusters": 2, "prioritizerPolicy": policy}))
        .await?;
    hub.wait_for_clusters(&["c2", "c3"]).await
}

pub async fn better(hub: Hub) -> Result<()> {
    three(&hub).await?;
    let policy = policy("Exact", &[(CPU, 1), (MEMORY, 1)]);
    hub.placement(json!({"numberOfClusters": 2, "prioritizerPolicy": policy}))
        .await?;
    hub.wait_for_clusters(&["c1", "c3"]).await?;
    hub.cluster("c4", json!({"set": "s1", "cpu": "10", "memory": "100"}))
        .await?;
    hub.wait_for_clusters(&["c3", "c4"]).await?;
    let name = |short: &str| hub.full(short);
    let scores = [("c1", 0), ("c2", -40), ("c3", 52), ("c4", 200)];
    let note: String = scores.iter().fold(String::new(), |note, (short, total)| {
        format!("{note}{}:{total} ", name(short))
    });
    hub.wait_for_event("Normal", "ScoreUpdate", &note).await?;
    hub.drop_cluster("c4").await?;
    hub.wait_for_clusters(&["c1", "c3"]).await
}

fn by_score() -> Value {
    let coordinate =
        json!({"type": "AddOn", "addOn": {"resourceName": "demo", "scoreName": "demo"}});
    let policy = json!({"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate}]});
    json!({"numberOfClusters": 2, "prioritizerPolicy": policy})
}

fn demo(value: i32) -> Value {
    json!({"scores": [{"name": "demo", "value": value}]})
}

pub async fn scores(hub: Hub) -> Result<()> {
    three(&hub).await?;
    for (name, value) in [("c1", 80), ("c2", 90), ("c3", 100)] {
        hub.score(name, "demo", demo(value)).await?;
    }
    hub.placement(by_score()).await?;
    hub.wait_for_clusters(&["c2", "c3"]).await
}

pub async fn scores_come(hub: Hub) -> Result<()> {
    three(&hub).await?;
    hub.placement(by_score()).await?;
    hub.wait_for_clusters(&["c1", "c2"]).await?;
    for (name, value) in [("c1", 80), ("c2", 90), ("c3", 100)] {
        hub.score(name, "demo", demo(value)).await?;
    }
    hub.wait_for_clusters(&["c2", "c3"]).await?;
    let api = hub.within("AddOnPlacementScore", &hub.full("c1"));
    let patch = kube::api::Patch::Merge(json!({ "status": demo(100) }));
    api.patch_status("demo", &kube::api::PatchParams::default(), &patch)
        .await?;
    hub.wait_for_clusters(&["c1", "c3"]).await
}

pub async fn expiring(hub: Hub) -> Result<()> {
    three(&hub).await?;
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(6);
    let mut status = demo(100);
    status["validUntil"] = until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
    hub.score("c3", "demo", status).await?;
    hub.placement(by_score()).await?;
    hub.wait_for_clusters(&["c1", "c3"]).await?;
    // Nothing changes on the hub, only time passes.
    hub.wait_for_clusters(&["c1", "c2"]).await?;
    hub.wait_for_event(
        "Warning",
        "DecisionUpdate",
        "expired in plugin AddOn/demo/demo",
    )
    .await?;
    Ok(())
}
