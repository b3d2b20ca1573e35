//! Labels, claims and expressions.

use anyhow::Result;
use serde_json::{Value, json};

use crate::hub::Hub;

fn predicate(selector: &Value) -> Value {
    json!({"predicates": [{"requiredClusterSelector": selector}]})
}

pub async fn labels(hub: Hub) -> Result<()> {
    by(
        &hub,
        "labels",
        |cloud| json!({"labelSelector": {"matchLabels": {"cloud": cloud}}}),
    )
    .await
}

pub async fn claims(hub: Hub) -> Result<()> {
    by(&hub, "claims", |cloud| {
        let requirement = json!({"key": "cloud", "operator": "In", "values": [cloud]});
        json!({"claimSelector": {"matchExpressions": [requirement]}})
    })
    .await
}

async fn by(hub: &Hub, what: &str, selector: impl Fn(&str) -> Value) -> Result<()> {
    hub.set("s1").await?;
    hub.bind("s1").await?;
    for (name, cloud) in [
        ("a1", "Amazon"),
        ("a2", "Amazon"),
        ("a3", "Amazon"),
        ("z1", "Azure"),
        ("z2", "Azure"),
    ] {
        hub.cluster(name, json!({"set": "s1", what: {"cloud": cloud}}))
            .await?;
    }
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(5).await?;
    hub.edit(predicate(&selector("Amazon"))).await?;
    hub.wait_for_clusters(&["a1", "a2", "a3"]).await?;
    hub.edit(predicate(&selector("Azure"))).await?;
    hub.wait_for_clusters(&["z1", "z2"]).await
}

fn expression(text: &str) -> Value {
    predicate(&json!({"celSelector": {"celExpressions": [text]}}))
}

const ABOVE: &str =
    "managedCluster.scores('usage').filter(s, s.name == 'cpu').all(s, s.value > 80)";

pub async fn expressions(hub: Hub) -> Result<()> {
    hub.filled("s1", 2).await?;
    hub.score(
        "s1-001",
        "usage",
        json!({"scores": [{"name": "cpu", "value": 70}]}),
    )
    .await?;
    hub.score(
        "s1-002",
        "usage",
        json!({"scores": [{"name": "cpu", "value": 90}]}),
    )
    .await?;
    hub.placement(expression("xxxx.expression")).await?;
    hub.wait_for_clusters(&[]).await?;
    hub.wait_for_groups(&[("", 0)]).await?;
    hub.wait_for_condition("PlacementMisconfigured", "True", "Misconfigured")
        .await?;
    hub.edit(expression(ABOVE)).await?;
    hub.wait_for_clusters(&["s1-002"]).await?;
    hub.wait_for_condition("PlacementMisconfigured", "False", "Succeedconfigured")
        .await
}

pub async fn scores_by_cel(hub: Hub) -> Result<()> {
    hub.filled("s1", 2).await?;
    hub.placement(expression(ABOVE)).await?;
    hub.wait_for_clusters(&[]).await?;
    hub.score(
        "s1-001",
        "usage",
        json!({"scores": [{"name": "cpu", "value": 95}]}),
    )
    .await?;
    hub.wait_for_clusters(&["s1-001"]).await
}
