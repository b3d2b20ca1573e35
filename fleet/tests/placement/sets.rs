//! Creation, deletion and changes of sets and bindings.

use anyhow::Result;
use serde_json::json;

use crate::hub::Hub;

pub async fn by_labels(hub: Hub) -> Result<()> {
    hub.set_by_label("s1", "vendor", "openShift").await?;
    hub.bind("s1").await?;
    hub.cluster("c1", json!({"labels": {"vendor": "openShift"}}))
        .await?;
    hub.cluster("c9", json!({"labels": {"vendor": "other"}}))
        .await?;
    hub.placement(json!({})).await?;
    come_and_go(&hub, "openShift").await
}

async fn come_and_go(hub: &Hub, vendor: &str) -> Result<()> {
    hub.wait_for_clusters(&["c1"]).await?;
    hub.cluster("c2", json!({"labels": {"vendor": vendor}}))
        .await?;
    hub.wait_for_clusters(&["c1", "c2"]).await?;
    hub.drop_cluster("c1").await?;
    hub.wait_for_clusters(&["c2"]).await?;
    hub.drop_cluster("c2").await?;
    hub.wait_for_clusters(&[]).await?;
    hub.wait_for_groups(&[("", 0)]).await
}

/// Other scenarios have clusters too: a predicate excludes them.
pub async fn global(hub: Hub) -> Result<()> {
    let object = json!({
        "metadata": {"name": "global"},
        "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
    });
    // Where the registration controllers run, it exists already.
    let _ = hub
        .create(&hub.all("ManagedClusterSet"), "ManagedClusterSet", object)
        .await;
    hub.bind_named("global").await?;
    hub.cluster("c1", json!({})).await?;
    let labels = json!({"matchLabels": {"scenario": hub.name}});
    hub.placement(json!({"predicates": [{"requiredClusterSelector": {"labelSelector": labels}}]}))
        .await?;
    come_and_go(&hub, "any").await
}

pub async fn second(hub: Hub) -> Result<()> {
    hub.filled("s1", 5).await?;
    hub.placement(json!({"numberOfClusters": 10})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.filled("s2", 3).await?;
    hub.wait_for_cluster_count(8).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NotAllDecisionsScheduled")
        .await
}

pub async fn second_by_labels(hub: Hub) -> Result<()> {
    hub.set_by_label("s1", "vendor", "openShift").await?;
    hub.bind("s1").await?;
    hub.cluster("c1", json!({"labels": {"vendor": "openShift"}}))
        .await?;
    hub.cluster("c2", json!({"labels": {"vendor": "IKS"}}))
        .await?;
    hub.placement(json!({"numberOfClusters": 2})).await?;
    hub.wait_for_clusters(&["c1"]).await?;
    hub.set_by_label("s2", "vendor", "IKS").await?;
    hub.bind("s2").await?;
    hub.wait_for_clusters(&["c1", "c2"]).await?;
    hub.wait_until_satisfied().await
}

pub async fn deleted(hub: Hub) -> Result<()> {
    hub.filled("s1", 5).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.unset("s1").await?;
    hub.wait_for_cluster_count(0).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NoManagedClusterSetBindings")
        .await?;
    // Another selector that matches the same clusters.
    let labels = json!({"matchLabels": {"scenario": hub.name}});
    hub.set_by(
        "s1",
        json!({"selectorType": "LabelSelector", "labelSelector": labels}),
    )
    .await?;
    hub.wait_for_cluster_count(5).await
}

pub async fn deleted_by_labels(hub: Hub) -> Result<()> {
    hub.set_by_label("s1", "vendor", "openShift").await?;
    hub.bind("s1").await?;
    hub.cluster("c1", json!({"labels": {"vendor": "openShift"}}))
        .await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(1).await?;
    hub.unset("s1").await?;
    hub.wait_for_cluster_count(0).await?;
    hub.set_by_label("s1", "vendor", "openShift").await?;
    hub.wait_for_cluster_count(1).await?;
    hub.drop_cluster("c1").await?;
    hub.wait_for_cluster_count(0).await
}

pub async fn unbound(hub: Hub) -> Result<()> {
    hub.filled("s1", 5).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.unbind("s1").await?;
    hub.wait_for_cluster_count(0).await?;
    hub.bind("s1").await?;
    hub.wait_for_cluster_count(5).await
}
