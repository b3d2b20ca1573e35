//! PROP-78: bindings that enforce, on some clusters only.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::{Choice, Hubs, Root, Site, Via, on, plain};
use serde_json::{Value, json};

const POLICY: [(&str, &str); 1] = [("Policy", "policy")];

fn enforcing(restricted: bool) -> Value {
    let mut fields = json!({ "bindingOverrides": { "remediationAction": "enforce" } });
    if restricted {
        fields["subFilter"] = json!("restricted");
    }
    fields
}

async fn wait_for_remediation(root: &Root<'_>, want: &[(&str, &str)]) -> Result<()> {
    let clusters: Vec<&str> = want.iter().map(|(cluster, _)| *cluster).collect();
    root.replicas_are(&clusters).await?;
    for (cluster, action) in want {
        root.wait_for_remediation(cluster, action).await?;
    }
    Ok(())
}

/// A choice with a binding of its name to the policy, and more fields of the binding.
async fn bound<'a>(
    site: &'a Site<'a>,
    via: Via,
    name: &str,
    also: Value,
    clusters: &[&str],
) -> Result<Choice<'a>> {
    let choice = site.choice(via, name);
    choice.make().await?;
    choice.decides(clusters).await?;
    site.bind(name, &choice, &POLICY, also).await?;
    Ok(choice)
}

pub(crate) async fn selective(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2", "m3"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let all = ["m1", "m2", "m3"];
    let some = bound(&site, via, "enforce", enforcing(true), &all).await?;
    let plainly = bound(&site, via, "inform", json!({}), &["m1", "m2"]).await?;
    wait_for_remediation(&root, &[("m1", "enforce"), ("m2", "enforce")]).await?;
    let (restricted, placing) = (some.entry("enforce"), plainly.entry("inform"));
    let observed = |entries: &[&Value], clusters: &[&str]| {
        let clusters: Vec<Value> = clusters.iter().map(|cluster| on(cluster, "")).collect();
        json!({ "placement": entries, "status": clusters })
    };
    // PROP-144: m3 is nowhere, as the policy is not there.
    root.status_is(observed(&[&restricted, &placing], &["m1", "m2"]))
        .await?;
    some.decides(&["m2"]).await?;
    wait_for_remediation(&root, &[("m1", "inform"), ("m2", "enforce")]).await?;
    root.status_is(observed(&[&restricted, &placing], &["m1", "m2"]))
        .await?;
    plainly.decides(&["m1"]).await?;
    wait_for_remediation(&root, &[("m1", "inform")]).await?;
    root.status_is(observed(&[&placing], &["m1"])).await?;
    some.decides(&all).await?;
    wait_for_remediation(&root, &[("m1", "enforce")]).await?;
    root.replicas_stay(&["m1"]).await?;
    // The binding places by itself, then without overriding anything.
    site.bind("enforce", &some, &POLICY, enforcing(false))
        .await?;
    wait_for_remediation(
        &root,
        &[("m1", "enforce"), ("m2", "enforce"), ("m3", "enforce")],
    )
    .await?;
    site.bind("enforce", &some, &POLICY, json!({})).await?;
    wait_for_remediation(
        &root,
        &[("m1", "inform"), ("m2", "inform"), ("m3", "inform")],
    )
    .await
}

/// What a root reports of itself goes before; the override is taken as it is written.
pub(crate) async fn overrides(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e53-words", &["m1"]).await?;
    let root = site.root("policy");
    let mut spec = plain();
    spec["remediationAction"] = Value::Null;
    let absent = {
        let mut absent = plain();
        if let Some(fields) = absent.as_object_mut() {
            fields.remove("remediationAction");
        }
        absent
    };
    root.apply(absent.clone()).await?;
    let capital = json!({ "bindingOverrides": { "remediationAction": "Enforce" } });
    let choice = bound(&site, Via::Rule, "choice", capital, &["m1"]).await?;
    root.wait_for_remediation("m1", "Enforce").await?;
    let mut own = plain();
    own["remediationAction"] = json!("enforce");
    root.apply(own).await?;
    root.wait_for_remediation("m1", "enforce").await?;
    root.apply(absent.clone()).await?;
    root.wait_for_remediation("m1", "Enforce").await?;
    choice.bind(&POLICY).await?;
    root.spec_is("m1", &absent).await
}

/// Clusters on which a policy is not placed have no entry in the status.
pub(crate) async fn restricted_only(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-02", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let placing = bound(&site, Via::Placement, "a", json!({}), &["m1"]).await?;
    let both = ["m1", "m2"];
    let first = bound(&site, Via::Placement, "b", enforcing(true), &both).await?;
    // Of its clusters only the binding before it has one.
    bound(&site, Via::Placement, "c", enforcing(true), &["m2"]).await?;
    root.reports("m1", "Compliant").await?;
    let want = json!({
        "compliant": "Compliant",
        "placement": [placing.entry("a"), first.entry("b")],
        "status": [on("m1", "Compliant")]
    });
    root.status_stays(want).await?;
    root.replicas_are(&["m1"]).await
}

/// The remaining bindings of a cluster are those that place it, not those that only enforce.
pub(crate) async fn remaining(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-03", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.set_without("set", &["policy"], &[("policy", &["m2"])])
        .await?;
    let set = site.choice(Via::Placement, "set");
    set.make().await?;
    set.bind(&[("PolicySet", "set")]).await?;
    set.decides(&["m1", "m2"]).await?;
    let direct = bound(&site, Via::Placement, "direct", json!({}), &["m2"]).await?;
    let also = bound(&site, Via::Placement, "also", enforcing(true), &["m2"]).await?;
    let mut entry = set.entry_of_set("set", "set");
    entry["exclusions"] = json!([{ "clusterName": "m2" }]);
    let mut m2 = on("m2", "");
    m2["remainingBindings"] = json!([{ "placementBinding": "direct" }]);
    let want = json!({
        "placement": [also.entry("also"), direct.entry("direct"), entry],
        "status": [on("m1", ""), m2]
    });
    root.status_is(want).await?;
    wait_for_remediation(&root, &[("m1", "inform"), ("m2", "enforce")]).await
}

/// A restricted binding through a set enforces where the set has the policy, and nowhere else.
pub(crate) async fn through_sets(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e53-sets", &["m1", "m2", "m3"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.set_without("set", &["policy"], &[("policy", &["m2"])])
        .await?;
    bound(&site, Via::Placement, "direct", json!({}), &["m1", "m2"]).await?;
    let set = site.choice(Via::Placement, "set");
    set.make().await?;
    set.decides(&["m1", "m2", "m3"]).await?;
    let subjects = [("PolicySet", "set")];
    site.bind("set", &set, &subjects, enforcing(true)).await?;
    wait_for_remediation(&root, &[("m1", "enforce"), ("m2", "inform")]).await?;
    // Without the restriction it places, too; what it overrides follows the set.
    site.bind("set", &set, &subjects, enforcing(false)).await?;
    wait_for_remediation(
        &root,
        &[("m1", "enforce"), ("m2", "inform"), ("m3", "enforce")],
    )
    .await?;
    site.set("set", &["policy"]).await?;
    wait_for_remediation(
        &root,
        &[("m1", "enforce"), ("m2", "enforce"), ("m3", "enforce")],
    )
    .await?;
    site.set("set", &[]).await?;
    wait_for_remediation(&root, &[("m1", "inform"), ("m2", "inform")]).await
}
