//! Whole lives of placements, and their events.

use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_testkit::eventually;
use serde_json::json;

use crate::hub::Hub;

pub async fn lifecycle(hub: Hub) -> Result<()> {
    hub.filled("s1", 5).await?;
    hub.placement(json!({
        "numberOfClusters": 10,
        "tolerations": [{"key": "cluster.open-cluster-management.io/unreachable", "operator": "Exists"}],
    }))
    .await?;
    hub.wait_for_cluster_count(5).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NotAllDecisionsScheduled")
        .await?;
    hub.edit(json!({"numberOfClusters": 6})).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NotAllDecisionsScheduled")
        .await?;
    hub.set_by_label("all", "scenario", "e1").await?;
    hub.bind("all").await?;
    let unreachable =
        json!([{"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}]);
    for name in ["x1", "x2"] {
        hub.cluster(name, json!({"taints": unreachable})).await?;
    }
    hub.wait_for_cluster_count(6).await?;
    hub.wait_until_satisfied().await?;
    hub.delete(&hub.own("Placement"), "p1").await?;
    eventually("the decisions are gone", Duration::from_mins(1), || async {
        let left = hub.decisions().await?;
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await
}

pub async fn plain(hub: Hub) -> Result<()> {
    hub.placement(json!({})).await?;
    hub.wait_for_clusters(&[]).await?;
    let spec = hub.own("Placement").get("p1").await?.data["spec"].clone();
    ensure!(
        spec["sortBy"] == "ClusterName" && spec["scoreRateLimit"] == "1m",
        "{spec}"
    );
    Ok(())
}

pub async fn events(hub: Hub) -> Result<()> {
    hub.filled("s1", 101).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(101).await?;
    let name = &hub.name;
    let of = |number: u32, verb: &str| {
        format!("Decision p1-decision-{number} is {verb} with placement p1 in namespace {name}")
    };
    let created = hub
        .wait_for_event("Normal", "DecisionCreate", &of(1, "created"))
        .await?;
    ensure!(
        created.action.as_deref() == Some("DecisionCreated"),
        "{created:?}"
    );
    ensure!(created.reporting_controller.as_deref() == Some("placement-controller"));
    let about = created.regarding.unwrap_or_default();
    ensure!(about.kind.as_deref() == Some("Placement"), "{about:?}");
    let related = created.related.unwrap_or_default();
    ensure!(
        related.name.as_deref() == Some("p1-decision-1"),
        "{related:?}"
    );
    hub.wait_for_event("Normal", "DecisionUpdate", &of(2, "updated"))
        .await?;
    hub.wait_for_event("Normal", "ScoreUpdate", "......")
        .await?;
    hub.edit(json!({"numberOfClusters": 1})).await?;
    hub.wait_for_event("Normal", "DecisionDelete", &of(2, "deleted"))
        .await?;
    Ok(())
}

pub async fn withdrawal(hub: Hub) -> Result<()> {
    hub.filled("s1", 1).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(1).await?;
    let wrong = json!([{"key": "key1", "operator": "Exists", "value": "value1"}]);
    hub.edit(json!({"tolerations": wrong})).await?;
    hub.wait_for_clusters(&[]).await?;
    let why = ": If the operator is Exists, the value should be empty. in plugin TaintToleration";
    hub.wait_for_event("Warning", "DecisionUpdate", why).await?;
    Ok(())
}
