//! Groups of decisions.

use anyhow::Result;
use serde_json::json;

use crate::hub::Hub;

async fn one(hub: &Hub, name: &str, canary: bool) -> Result<()> {
    let labels = if canary {
        json!({"canary": "true"})
    } else {
        json!({})
    };
    hub.cluster(name, json!({"set": "s1", "labels": labels}))
        .await
}

pub async fn follow(hub: Hub) -> Result<()> {
    hub.set("s1").await?;
    hub.bind("s1").await?;
    for (name, canary) in [
        ("k1", true),
        ("k2", true),
        ("o1", false),
        ("o2", false),
        ("o3", false),
    ] {
        one(&hub, name, canary).await?;
    }
    let selector = json!({"labelSelector": {"matchLabels": {"canary": "true"}}});
    hub.placement(json!({"decisionStrategy": {"groupStrategy": {
        "clustersPerDecisionGroup": 2,
        "decisionGroups": [{"groupName": "canary", "groupClusterSelector": selector}],
    }}}))
    .await?;
    hub.wait_for_groups(&[("canary", 2), ("", 2), ("", 1)])
        .await?;
    hub.drop_cluster("k1").await?;
    hub.drop_cluster("o1").await?;
    hub.wait_for_groups(&[("canary", 1), ("", 2)]).await?;
    one(&hub, "k3", true).await?;
    hub.wait_for_groups(&[("canary", 2), ("", 2)]).await?;
    one(&hub, "o4", false).await?;
    hub.wait_for_groups(&[("canary", 2), ("", 2), ("", 1)])
        .await?;
    for name in ["k2", "k3", "o2", "o3", "o4"] {
        hub.drop_cluster(name).await?;
    }
    hub.wait_for_groups(&[("", 0)]).await
}
