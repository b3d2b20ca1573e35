//! PROP-75 and PROP-74: `PlacementRule`s that are not there, or say it oddly.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::{Hubs, Via, on, plain};
use serde_json::json;

/// On a hub without the CRD of rules, a binding to a rule has no clusters.
pub(crate) async fn unknown(world: Arc<Hubs>) -> Result<()> {
    let hub = world.bare().await?;
    let site = hub.site("rough-edge-08", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.choice(Via::Rule, "rule")
        .bind(&[("Policy", "policy")])
        .await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.reports("m1", "Compliant").await?;
    root.status_is(json!({
        "compliant": "Compliant",
        "placement": [choice.entry("choice"), { "placementBinding": "rule" }],
        "status": [on("m1", "Compliant")]
    }))
    .await?;
    // It goes on like this, and not by retries.
    choice.decides(&[]).await?;
    root.replicas_are(&[]).await?;
    choice.decides(&["m1"]).await?;
    root.replicas_are(&["m1"]).await
}

/// The cluster of a decision is its name; its namespace is only a fallback.
pub(crate) async fn namespaces(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-09", &["m1", "m2", "m3"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let rule = site.placed(Via::Rule, "rule", "policy", &[]).await?;
    let decisions = json!([
        { "clusterName": site.cluster("m1"), "clusterNamespace": "elsewhere" },
        { "clusterName": site.cluster("m2") },
        { "clusterNamespace": site.cluster("m3") }
    ]);
    rule.decides_raw(decisions).await?;
    root.replicas_are(&["m1", "m2", "m3"]).await?;
    root.status_is(json!({
        "placement": [rule.entry("rule")], "status": [on("m1", ""), on("m2", ""), on("m3", "")]
    }))
    .await?;
    rule.decides_raw(json!([])).await?;
    root.replicas_are(&[]).await
}
