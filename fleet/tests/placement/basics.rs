//! How many clusters a placement chooses, of which sets, and its decisions.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use reeve_testkit::eventually;
use serde_json::json;

use crate::hub::Hub;

pub async fn deleted_decisions(hub: Hub) -> Result<()> {
    hub.filled("s1", 5).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(5).await?;
    let before = hub.decisions().await?;
    for one in &before {
        hub.delete(&hub.own("PlacementDecision"), &one.name_any())
            .await?;
    }
    eventually("the decision is back", Duration::from_secs(30), || async {
        let now = hub.decisions().await?;
        ensure!(now.len() == 1 && now[0].uid() != before[0].uid(), "{now:?}");
        Ok(())
    })
    .await?;
    hub.wait_for_cluster_count(5).await?;
    let owner = hub.decisions().await?[0].owner_references()[0].clone();
    ensure!(
        (owner.kind.as_str(), owner.name.as_str()) == ("Placement", "p1"),
        "{owner:?}"
    );
    ensure!(owner.controller == Some(true) && owner.block_owner_deletion == Some(true));
    ensure!(Some(owner.uid) == hub.read().await?.uid());
    Ok(())
}

pub async fn terminating_cluster(hub: Hub) -> Result<()> {
    hub.filled("s1", 4).await?;
    let held = json!({"set": "s1", "finalizers": ["reeve.test/held"]});
    hub.cluster("held", held).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.drop_cluster("held").await?;
    hub.wait_for_cluster_count(4).await?;
    let api = hub.all("ManagedCluster");
    let held = api.get(&hub.full("held")).await?;
    ensure!(held.metadata.deletion_timestamp.is_some(), "{held:?}");
    hub.merge(
        &api,
        &hub.full("held"),
        json!({"metadata": {"finalizers": null}}),
    )
    .await
}

pub async fn nothing_bound(hub: Hub) -> Result<()> {
    hub.placement(json!({"numberOfClusters": 10})).await?;
    hub.wait_for_clusters(&[]).await?;
    hub.wait_for_groups(&[("", 0)]).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NoManagedClusterSetBindings")
        .await
}

pub async fn many(hub: Hub) -> Result<()> {
    hub.filled("s1", 101).await?;
    hub.placement(json!({"numberOfClusters": 101})).await?;
    hub.wait_for_cluster_count(101).await?;
    hub.wait_for_groups(&[("", 101)]).await?;
    ensure!(hub.decisions().await?.len() == 2);
    hub.wait_until_satisfied().await
}

pub async fn fewer_sets(hub: Hub) -> Result<()> {
    hub.filled("s1", 3).await?;
    hub.filled("s2", 2).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.edit(json!({"clusterSets": [hub.full("s2")]})).await?;
    hub.wait_for_clusters(&["s2-001", "s2-002"]).await
}

pub async fn fewer(hub: Hub) -> Result<()> {
    hub.filled("s1", 5).await?;
    hub.placement(json!({"numberOfClusters": 10})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NotAllDecisionsScheduled")
        .await?;
    hub.edit(json!({"numberOfClusters": 4})).await?;
    hub.wait_for_cluster_count(4).await?;
    hub.wait_until_satisfied().await
}

pub async fn more(hub: Hub) -> Result<()> {
    hub.filled("s1", 10).await?;
    hub.placement(json!({"numberOfClusters": 5})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.wait_until_satisfied().await?;
    hub.edit(json!({"numberOfClusters": 8})).await?;
    hub.wait_for_cluster_count(8).await?;
    hub.wait_until_satisfied().await
}

pub async fn mistake(hub: Hub) -> Result<()> {
    hub.filled("s1", 1).await?;
    let wrong = json!([{"key": "key1", "operator": "Exists", "value": "value1"}]);
    hub.placement(json!({"tolerations": wrong})).await?;
    hub.wait_for_clusters(&[]).await?;
    hub.wait_for_condition("PlacementMisconfigured", "True", "Misconfigured")
        .await?;
    hub.edit(json!({"tolerations": [{"key": "key1", "operator": "Equal", "value": "value1"}]}))
        .await?;
    hub.wait_for_clusters(&["s1-001"]).await?;
    hub.wait_for_condition("PlacementMisconfigured", "False", "Succeedconfigured")
        .await?;
    hub.wait_until_satisfied().await
}

pub async fn clusters_come(hub: Hub) -> Result<()> {
    hub.filled("s1", 5).await?;
    hub.placement(json!({"numberOfClusters": 10})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NotAllDecisionsScheduled")
        .await?;
    hub.fill("s1", 6..=10).await?;
    hub.wait_for_cluster_count(10).await?;
    hub.wait_until_satisfied().await
}

pub async fn adopted(hub: Hub) -> Result<()> {
    hub.filled("s1", 1).await?;
    let labels = json!({"cluster.open-cluster-management.io/placement": "p1", "foreign": "yes"});
    let status = json!({"decisions": [{"clusterName": "elsewhere", "reason": ""}]});
    let object = json!({"metadata": {"name": "p1-decision-1", "labels": labels,
        "annotations": {"kept": "yes"}}, "status": status});
    hub.create(&hub.own("PlacementDecision"), "PlacementDecision", object)
        .await?;
    hub.placement(json!({})).await?;
    hub.wait_for_clusters(&["s1-001"]).await?;
    hub.wait_for_groups(&[("", 1)]).await?;
    let one = hub.decisions().await?.remove(0);
    ensure!(one.owner_references().len() == 1, "{one:?}");
    ensure!(!one.labels().contains_key("foreign"), "{one:?}");
    ensure!(one.annotations().contains_key("kept"), "{one:?}");
    Ok(())
}

pub async fn disabled(hub: Hub) -> Result<()> {
    hub.filled("s1", 2).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(2).await?;
    let key = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    let api = hub.own("Placement");
    hub.merge(
        &api,
        "p1",
        json!({"metadata": {"annotations": {key: "true"}}}),
    )
    .await?;
    hub.fill("s1", [3]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    hub.wait_for_cluster_count(2).await?;
    hub.merge(
        &api,
        "p1",
        json!({"metadata": {"annotations": {key: "false"}}}),
    )
    .await?;
    hub.wait_for_cluster_count(3).await
}

pub async fn idle(hub: Hub) -> Result<()> {
    hub.filled("s1", 2).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(2).await?;
    hub.wait_until_satisfied().await?;
    let versions = || async {
        let placement = hub.read().await?.resource_version();
        anyhow::Ok((placement, hub.decisions().await?[0].resource_version()))
    };
    let before = versions().await?;
    // A heartbeat.
    let condition = json!({"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "Alive",
        "message": "", "lastTransitionTime": "2026-08-01T12:00:00Z"});
    let patch = kube::api::Patch::Merge(json!({"status": {"conditions": [condition]}}));
    let clusters = hub.all("ManagedCluster");
    let name = hub.full("s1-001");
    clusters
        .patch_status(&name, &kube::api::PatchParams::default(), &patch)
        .await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    ensure!(versions().await? == before);
    Ok(())
}
