//! PROP-46 and PROP-147: the status of a root policy.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Hubs, Via, on, plain, refused, same, steadily};
use reeve_testkit::{AuditQuery, count};
use serde_json::{Value, json};

use crate::hub::V1;

pub(crate) async fn mismatched(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e11", &[]).await?;
    for (group, kind) in [
        ("apps.open-cluster-management.io", "Placement"),
        ("cluster.open-cluster-management.io", "PlacementRule"),
    ] {
        let binding = json!({
            "apiVersion": V1, "kind": "PlacementBinding",
            "metadata": { "name": "faulty", "namespace": site.name },
            "placementRef": { "apiGroup": group, "kind": kind, "name": "choice" },
            "subjects": [{ "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "policy" }]
        });
        refused(
            site.apply(&binding.to_string()).await,
            "\"faulty\" is invalid:",
        )?;
    }
    Ok(())
}

fn observed(placement: &[Value], status: &[Value]) -> Value {
    let mut observed = json!({ "placement": placement });
    if !status.is_empty() {
        observed["status"] = json!(status);
    }
    observed
}

pub(crate) async fn decisions(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let first = site.placed(via, "choice", "policy", &["m1"]).await?;
    let (m1, m2) = (on("m1", ""), on("m2", ""));
    let entry = first.entry("choice");
    let both = [m1.clone(), m2.clone()];
    // One binding.
    let placement = [entry.clone()];
    root.status_is(observed(&placement, &both[..1])).await?;
    first.decides(&["m1", "m2"]).await?;
    root.status_is(observed(&placement, &both)).await?;
    first.decides(&["m2"]).await?;
    root.status_is(observed(&placement, &both[1..])).await?;
    first.decides(&["m1"]).await?;
    root.status_is(observed(&placement, &both[..1])).await?;
    // A second binding.
    let second = site.placed(via, "choice-2", "policy", &[]).await?;
    let placement = [entry, second.entry("choice-2")];
    root.status_is(observed(&placement, &both[..1])).await?;
    second.decides(&["m1"]).await?;
    root.status_is(observed(&placement, &both[..1])).await?;
    second.decides(&["m1", "m2"]).await?;
    root.status_is(observed(&placement, &both)).await?;
    // First the placement is deleted, then the binding.
    first.remove().await?;
    let bare = |binding: &str| json!({ "placementBinding": binding });
    let placement = [bare("choice"), second.entry("choice-2")];
    root.status_is(observed(&placement, &both)).await?;
    second.remove().await?;
    let placement = [bare("choice"), bare("choice-2")];
    root.status_is(observed(&placement, &[])).await?;
    site.unbind("choice").await?;
    site.unbind("choice-2").await?;
    root.status_is(json!({})).await?;
    root.replicas_are(&[]).await
}

pub(crate) async fn compliance(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e15", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site
        .placed(Via::Rule, "choice", "policy", &["m1", "m2"])
        .await?;
    let observed = |overall: &str, m1: &str, m2: &str| {
        let mut observed = json!({
            "placement": [choice.entry("choice")], "status": [on("m1", m1), on("m2", m2)]
        });
        if !overall.is_empty() {
            observed["compliant"] = json!(overall);
        }
        observed
    };
    root.status_is(observed("", "", "")).await?;
    root.reports("m1", "Compliant").await?;
    root.status_is(observed("", "Compliant", "")).await?;
    root.reports("m2", "Compliant").await?;
    root.status_is(observed("Compliant", "Compliant", "Compliant"))
        .await?;
    root.reports("m1", "NonCompliant").await?;
    root.status_is(observed("NonCompliant", "NonCompliant", "Compliant"))
        .await?;
    root.reports("m2", "Pending").await?;
    root.status_is(observed("NonCompliant", "NonCompliant", "Pending"))
        .await?;
    root.reports("m1", "Compliant").await?;
    root.status_is(observed("Pending", "Compliant", "Pending"))
        .await?;
    // A disabled policy keeps its placements and nothing else; enabled again, its replicas are new.
    root.disable(true).await?;
    root.status_is(json!({ "placement": [choice.entry("choice")] }))
        .await?;
    root.disable(false).await?;
    root.status_is(observed("", "", "")).await
}

/// What others keep in the status of a root is theirs.
pub(crate) async fn others_fields(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e12-others", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let mut want = observed(&[choice.entry("choice")], &[on("m1", "")]);
    root.status_is(want.clone()).await?;
    let details = json!([{ "templateMeta": { "name": "other" } }]);
    let patch = json!({ "status": { "details": details } });
    site.patch_status(V1, "Policy", Some(&site.name), "policy", patch)
        .await?;
    root.reports("m1", "Compliant").await?;
    want["status"] = json!([on("m1", "Compliant")]);
    want["compliant"] = json!("Compliant");
    want["details"] = details;
    root.status_is(want).await
}

/// The propagator patches a status that it has not seen yet: another writer removes it while the clusters answer.
pub(crate) async fn removed(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("status-removed", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    for compliance in ["Compliant", "NonCompliant", "Pending", "Compliant"] {
        root.reports("m1", compliance).await?;
        site.patch_status(
            V1,
            "Policy",
            Some(&site.name),
            "policy",
            json!({ "status": null }),
        )
        .await?;
        root.status_is(json!({
            "compliant": compliance,
            "placement": [choice.entry("choice")],
            "status": [on("m1", compliance)],
        }))
        .await?;
    }
    Ok(())
}

/// A root that nothing binds reports so, once.
pub(crate) async fn unbound(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-04", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.reports("m1", "Compliant").await?;
    root.is("Compliant").await?;
    site.unbind("choice").await?;
    root.status_is(json!({})).await?;
    let audit = world.hub.plane().audit()?;
    let mark = audit.mark()?;
    // Many changes follow, and none changes the status.
    for round in 0..5 {
        root.annotate("round", &round.to_string()).await?;
        choice
            .decides(if round % 2 == 0 { &[] } else { &["m1"] })
            .await?;
    }
    steadily("the status is not written again", || async {
        same("its status", root.status().await?, json!({}))
    })
    .await?;
    let mut events = audit.since(mark)?;
    events.retain(|event| event.namespace == site.name && event.name == "policy");
    let looked = count(&events, &AuditQuery::default());
    ensure!(looked > 0, "the audit log has no request for the policy");
    let query = AuditQuery {
        user_agent: Some("governance-policy-propagator"),
        resource: Some("policies/status"),
        ..AuditQuery::default()
    };
    same("writes of its status", count(&events, &query), 0)
}
