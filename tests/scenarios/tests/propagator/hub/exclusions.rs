//! PROP-77 and PROP-146: sets that keep their policies from clusters.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Choice, Hubs, Root, Site, Via, on, plain, within};
use serde_json::{Value, json};

const EXCLUDED: &str = "; One or more policies were excluded. For details, see status.exclusions.";

async fn roots<'a, const N: usize>(site: &'a Site<'a>, names: [&str; N]) -> Result<[Root<'a>; N]> {
    let roots = names.map(|name| site.root(name));
    for root in &roots {
        root.apply(plain()).await?;
    }
    Ok(roots)
}

async fn bound<'a>(site: &'a Site<'a>, name: &str, clusters: &[&str]) -> Result<Choice<'a>> {
    let choice = site.choice(Via::Placement, name);
    choice.make().await?;
    choice.bind(&[("PolicySet", name)]).await?;
    choice.decides(clusters).await?;
    Ok(choice)
}

fn excluding(mut entry: Value, clusters: &[&str]) -> Value {
    let clusters: Vec<Value> = clusters
        .iter()
        .map(|cluster| json!({ "clusterName": cluster }))
        .collect();
    entry["exclusions"] = json!(clusters);
    entry
}

/// Waits until a root's placements are these.
async fn placements_are(root: &Root<'_>, want: &[Value]) -> Result<()> {
    within("its placements", || async {
        let status = root.status().await?;
        ensure!(
            status["placement"] == json!(want),
            "the status of {} is {status:#}, its placement should be {:#}",
            root.name,
            json!(want)
        );
        Ok(())
    })
    .await
}

/// E55, and PROP-147: a cluster that is kept out does not keep the others from being compliant.
pub(crate) async fn one(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e55", &["m1", "m2"]).await?;
    let [root] = roots(&site, ["policy"]).await?;
    site.set_without("set", &["policy"], &[("policy", &["m2"])])
        .await?;
    let choice = bound(&site, "set", &["m1", "m2"]).await?;
    root.replicas_are(&["m1"]).await?;
    root.reports("m1", "Compliant").await?;
    root.status_stays(json!({
        "compliant": "Compliant",
        "placement": [excluding(choice.entry_of_set("set", "set"), &["m2"])],
        "status": [on("m1", "Compliant"), on("m2", "")]
    }))
    .await?;
    root.replicas_are(&["m1"]).await?;
    site.set_reports(
        "set",
        json!({
            "compliant": "Compliant", "placement": [choice.entry("set")],
            "statusMessage": format!("All policies are reporting status{EXCLUDED}"),
            "exclusions": [{ "policyName": "policy", "clusters": ["m2"] }]
        }),
    )
    .await
}

pub(crate) async fn several(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e56", &["m1", "m2"]).await?;
    let [first, second] = roots(&site, ["first", "second"]).await?;
    let members = ["first", "second"];
    site.set_without("set", &members, &[("first", &["m2"])])
        .await?;
    let choice = bound(&site, "set", &["m1", "m2"]).await?;
    first.replicas_are(&["m1"]).await?;
    second.replicas_are(&["m1", "m2"]).await?;
    // Excluding what is there removes it.
    let both: [(&str, &[&str]); 2] = [("second", &["m1"]), ("first", &["m2"])];
    site.set_without("set", &members, &both).await?;
    first.replicas_are(&["m1"]).await?;
    second.replicas_are(&["m2"]).await?;
    let entry = choice.entry_of_set("set", "set");
    placements_are(&first, &[excluding(entry.clone(), &["m2"])]).await?;
    placements_are(&second, &[excluding(entry.clone(), &["m1"])]).await?;
    let message =
        format!("No status provided while awaiting policy status: first, second{EXCLUDED}");
    site.set_reports(
        "set",
        json!({
            "placement": [choice.entry("set")], "statusMessage": message,
            "exclusions": [
                { "policyName": "first", "clusters": ["m2"] }, { "policyName": "second", "clusters": ["m1"] }
            ]
        }),
    )
    .await?;
    // The exclusion moves, and goes.
    let both: [(&str, &[&str]); 2] = [("second", &["m2", "m1"]), ("first", &["m1"])];
    site.set_without("set", &members, &both).await?;
    first.replicas_are(&["m2"]).await?;
    second.replicas_are(&[]).await?;
    placements_are(&second, &[excluding(entry.clone(), &["m1", "m2"])]).await?;
    site.set("set", &members).await?;
    for root in [&first, &second] {
        root.replicas_are(&["m1", "m2"]).await?;
        placements_are(root, std::slice::from_ref(&entry)).await?;
        root.reports("m1", "Compliant").await?;
        root.reports("m2", "Compliant").await?;
    }
    site.set_reports(
        "set",
        json!({
            "compliant": "Compliant", "placement": [choice.entry("set")],
            "statusMessage": "All policies are reporting status"
        }),
    )
    .await
}

pub(crate) async fn set_goes(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e57", &["m1", "m2"]).await?;
    let [root, other] = roots(&site, ["policy", "other"]).await?;
    let exclusions: [(&str, &[&str]); 1] = [("policy", &["m2"])];
    let members = ["policy", "other"];
    site.set_without("set", &members, &exclusions).await?;
    bound(&site, "set", &["m1", "m2"]).await?;
    root.replicas_are(&["m1"]).await?;
    site.set("set", &["other"]).await?;
    root.replicas_are(&[]).await?;
    root.status_is(json!({})).await?;
    site.set_without("set", &members, &exclusions).await?;
    root.replicas_are(&["m1"]).await?;
    other.replicas_are(&["m1", "m2"]).await?;
    site.remove("PolicySet", "set").await?;
    root.replicas_are(&[]).await?;
    other.replicas_are(&[]).await?;
    root.status_is(json!({})).await
}

pub(crate) async fn direct(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e58", &["m1", "m2"]).await?;
    let [root] = roots(&site, ["policy"]).await?;
    let exclusions: [(&str, &[&str]); 1] = [("policy", &["m2"])];
    let direct = site
        .placed(Via::Placement, "direct", "policy", &["m2"])
        .await?;
    site.set_without("set-1", &["policy"], &exclusions).await?;
    let first = bound(&site, "set-1", &["m1", "m2"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    let mut m2 = on("m2", "");
    m2["remainingBindings"] = json!([{ "placementBinding": "direct" }]);
    let one = excluding(first.entry_of_set("set-1", "set-1"), &["m2"]);
    let status = [on("m1", ""), m2];
    let placement = [direct.entry("direct"), one];
    root.status_is(json!({ "placement": placement, "status": status }))
        .await?;
    site.set_without("set-2", &["policy"], &exclusions).await?;
    let second = bound(&site, "set-2", &["m1", "m2"]).await?;
    let two = excluding(second.entry_of_set("set-2", "set-2"), &["m2"]);
    let [direct, one] = placement;
    let placement = [direct.clone(), one, two];
    root.status_is(json!({ "placement": placement, "status": status }))
        .await?;
    root.replicas_are(&["m1", "m2"]).await?;
    site.remove("PolicySet", "set-1").await?;
    site.remove("PolicySet", "set-2").await?;
    root.replicas_are(&["m2"]).await?;
    root.status_is(json!({ "placement": [direct], "status": [on("m2", "")] }))
        .await
}

/// A cluster that one set excludes and another binding places counts as any other.
pub(crate) async fn counted(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-01", &["m1", "m2", "m3"]).await?;
    let [root] = roots(&site, ["policy"]).await?;
    site.set_without("set", &["policy"], &[("policy", &["m2", "m3"])])
        .await?;
    bound(&site, "set", &["m1", "m2", "m3"]).await?;
    let direct = site
        .placed(Via::Placement, "direct", "policy", &["m2"])
        .await?;
    root.replicas_are(&["m1", "m2"]).await?;
    root.reports("m1", "Compliant").await?;
    within("the status of m1 is aggregated", || async {
        let status = root.status().await?;
        ensure!(
            status["status"][0] == on("m1", "Compliant") && status["compliant"].is_null(),
            "its status is {status:#}"
        );
        Ok(())
    })
    .await?;
    root.reports("m2", "Compliant").await?;
    root.is("Compliant").await?;
    root.reports("m2", "NonCompliant").await?;
    root.is("NonCompliant").await?;
    direct.decides(&[]).await?;
    root.replicas_are(&["m1"]).await?;
    root.is("Compliant").await
}
