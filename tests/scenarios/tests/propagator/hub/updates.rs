//! PROP-92: a replica is updated whoever else writes it.

use std::sync::Arc;

use anyhow::{Result, ensure};
use futures::try_join;
use reeve_scenarios::{Hubs, Via, plain, same};
use serde_json::json;

/// Edits of the root policy.
const EDITS: usize = 20;

/// The cluster reports while the root policy is edited: what the propagator's watch has delivered is out of date again and again.
pub(crate) async fn reported_meanwhile(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("prop-92-reports", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.replicas_are(&["m1"]).await?;
    let audit = world.hub.plane().audit()?;
    let mark = audit.mark()?;
    let edits = async {
        for edit in 0..EDITS {
            let mut spec = plain();
            spec["remediationAction"] = ["enforce", "inform"][edit % 2].into();
            root.apply(spec.clone()).await?;
            root.spec_is("m1", &spec).await?;
        }
        anyhow::Ok(())
    };
    let reports = async {
        for report in 0..10 * EDITS {
            let compliance = ["NonCompliant", "Compliant"][report % 2];
            root.reports("m1", compliance).await?;
        }
        anyhow::Ok(())
    };
    try_join!(edits, reports)?;
    root.is("Compliant").await?;
    // No report is in the way of an edit.
    let mut events = audit.since(mark)?;
    events.retain(|event| event.namespace == site.cluster("m1") && event.resource == "policies");
    events.retain(|event| event.user_agent.starts_with("governance-policy-propagator"));
    let refused = events.iter().filter(|event| event.code >= 400).count();
    ensure!(
        events.len() >= EDITS && refused == 0,
        "{EDITS} edits took {} writes, and {refused} were refused",
        events.len()
    );
    Ok(())
}

/// Finalizers of others stay on a replica that is updated, and a replica that has them is updated all the same.
pub(crate) async fn finalizers(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("prop-92-finalizers", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.replicas_are(&["m1"]).await?;
    let held = ["example.com/held".to_owned()];
    for action in ["enforce", "inform"] {
        root.patch_replica("m1", json!({ "metadata": { "finalizers": held } }))
            .await?;
        let mut spec = plain();
        spec["remediationAction"] = action.into();
        root.apply(spec.clone()).await?;
        root.spec_is("m1", &spec).await?;
        let finalizers = root.replica("m1").await?.metadata.finalizers;
        same("the finalizers", finalizers, Some(held.to_vec()))?;
    }
    root.patch_replica("m1", json!({ "metadata": { "finalizers": null } }))
        .await?;
    Ok(())
}
