//! Taints and tolerations. Admission does not run here: the tests call its function, which sets the time of a taint.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::hub::Hub;

fn taint(key: &str, value: &str, effect: &str) -> Value {
    json!({"key": key, "value": value, "effect": effect})
}

async fn cluster(hub: &Hub, name: &str, taints: &[Value]) -> Result<()> {
    hub.cluster(name, json!({"set": "s1", "taints": taints}))
        .await
}

async fn set(hub: &Hub) -> Result<()> {
    hub.set("s1").await?;
    hub.bind("s1").await
}

async fn retaint(hub: &Hub, name: &str, taints: &[Value]) -> Result<()> {
    let api = hub.all("ManagedCluster");
    hub.merge(&api, &hub.full(name), json!({"spec": {"taints": taints}}))
        .await
}

pub async fn tolerations(hub: Hub) -> Result<()> {
    set(&hub).await?;
    cluster(&hub, "c1", &[taint("key1", "value1", "NoSelect")]).await?;
    cluster(&hub, "c2", &[taint("key2", "value2", "NoSelect")]).await?;
    cluster(&hub, "c3", &[taint("key2", "value3", "NoSelect")]).await?;
    hub.placement(json!({"numberOfClusters": 3, "tolerations": [
        {"key": "key1", "operator": "Exists"},
        {"key": "key2", "operator": "Equal", "value": "value2"},
    ]}))
    .await?;
    hub.wait_for_clusters(&["c1", "c2"]).await?;
    hub.wait_for_condition("PlacementSatisfied", "False", "NotAllDecisionsScheduled")
        .await
}

pub async fn effects(hub: Hub) -> Result<()> {
    set(&hub).await?;
    cluster(&hub, "c1", &[taint("key1", "value1", "NoSelect")]).await?;
    cluster(&hub, "c2", &[taint("key2", "value2", "NoSelectIfNew")]).await?;
    cluster(&hub, "c3", &[taint("key3", "value3", "PreferNoSelect")]).await?;
    cluster(&hub, "c4", &[]).await?;
    hub.placement(json!({"tolerations": [
        {"key": "key1", "operator": "Equal", "value": "value1", "effect": "NoSelectIfNew"},
        {"key": "key2", "operator": "Equal", "value": "value2", "effect": "PreferNoSelect"},
    ]}))
    .await?;
    hub.wait_for_clusters(&["c3", "c4"]).await?;
    retaint(&hub, "c4", &[taint("key4", "value4", "NoSelectIfNew")]).await?;
    // The placement is reconciled again when another object changes too.
    retaint(&hub, "c3", &[taint("key3", "value3", "NoSelect")]).await?;
    hub.wait_for_clusters(&["c4"]).await
}

pub async fn seconds(hub: Hub) -> Result<()> {
    set(&hub).await?;
    let now = Timestamp::now();
    let since = |mut taint: Value, seconds: i64| {
        let at = now - SignedDuration::from_secs(seconds);
        taint["timeAdded"] = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
        taint
    };
    cluster(&hub, "c1", &[since(taint("key1", "value1", "NoSelect"), 0)]).await?;
    cluster(&hub, "c2", &[since(taint("key2", "value2", "NoSelect"), 0)]).await?;
    cluster(
        &hub,
        "c3",
        &[since(taint("key2", "value2", "NoSelect"), 60)],
    )
    .await?;
    cluster(&hub, "c4", &[]).await?;
    hub.placement(json!({"numberOfClusters": 4, "tolerations": [
        {"key": "key1", "operator": "Exists", "tolerationSeconds": 10},
        {"key": "key2", "operator": "Equal", "value": "value2", "tolerationSeconds": 20},
    ]}))
    .await?;
    hub.wait_for_clusters(&["c1", "c2", "c4"]).await?;
    hub.wait_for_clusters(&["c2", "c4"]).await?;
    hub.wait_for_clusters(&["c4"]).await?;
    retaint(&hub, "c4", &[taint("key3", "value3", "NoSelect")]).await?;
    hub.wait_for_clusters(&[]).await
}
