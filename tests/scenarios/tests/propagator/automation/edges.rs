//! PROP-162, PROP-169 and PROP-164.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Hub, same, steadily, within};
use serde_json::json;

use crate::automation::harness::{
    Automation, CLUSTERS, automation, automation_with, policy, report_all, site, violated_on,
};
use crate::automation::modes::{noticed, remembered};

/// All automations of a policy start their jobs.
pub(crate) async fn several(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-48").await?;
    let root = policy(&site).await?;
    let once = automation(&site, "once", "once", json!({})).await?;
    let first = automation(&site, "first", "everyEvent", json!({})).await?;
    let second = automation(&site, "second", "everyEvent", json!({})).await?;
    let disabled = automation(&site, "disabled", "disabled", json!({})).await?;
    root.reports("m1", "NonCompliant").await?;
    for automation in [&once, &first, &second] {
        automation.targets_are(&[&["m1"]]).await?;
    }
    root.reports("m2", "NonCompliant").await?;
    for automation in [&first, &second] {
        automation.targets_are(&[&["m1"], &["m2"]]).await?;
    }
    once.targets_are(&[&["m1"]]).await?;
    disabled.targets_stay(&[]).await
}

/// An event in the second in which the automation started counts; the targets are in order.
pub(crate) async fn within_a_second(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-51").await?;
    let root = policy(&site).await?;
    report_all(&root, &["m3", "m2", "m1"], "NonCompliant").await?;
    violated_on(&root, &CLUSTERS).await?;
    let delay = json!({ "delayAfterRunSeconds": 5 });
    let automation = automation(&site, "automation", "everyEvent", delay).await?;
    automation.targets_are(&[&CLUSTERS]).await?;
    // While its first job is not recorded yet, the automation looks at nothing else.
    let first = remembered(&automation, "m2").await?;
    // As fast as it can be seen: mostly within the second of the start. After the delay the entry is removed.
    root.reports("m2", "Compliant").await?;
    noticed(&automation, "m2", &first).await?;
    root.reports("m2", "NonCompliant").await?;
    violated_on(&root, &CLUSTERS).await?;
    automation.targets_stay(&[&CLUSTERS, &["m2"]]).await
}

/// A limit may be any number; it limits the reported violations, not the jobs.
pub(crate) async fn limits(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-52").await?;
    let root = policy(&site).await?;
    report_all(&root, &CLUSTERS, "NonCompliant").await?;
    violated_on(&root, &CLUSTERS).await?;
    for (name, limit, reported) in [
        ("huge", 70_000_u64, 3),
        ("one", 1, 1),
        ("unlimited", 0, 3),
        ("endless", i64::MAX.unsigned_abs(), 3),
    ] {
        let limit = json!({ "automationDef": { "policyViolationsLimit": limit } });
        let automation = automation(&site, name, "once", limit).await?;
        automation.targets_are(&[&CLUSTERS]).await?;
        let jobs = automation.jobs().await?;
        let spec = &jobs.first().context("the job is gone")?.data["spec"];
        let violations = spec["extra_vars"]["policy_violations"].as_object();
        let violations = violations.map_or(0, serde_json::Map::len);
        ensure!(violations == reported, "{name}: {violations} are reported");
    }
    Ok(())
}

/// The owners of an automation by kind, in order.
async fn owners(automation: &Automation<'_>) -> Result<Vec<String>> {
    let object = automation.read().await?;
    let mut kinds: Vec<String> = object
        .owner_references()
        .iter()
        .map(|owner| owner.kind.clone())
        .collect();
    kinds.sort();
    Ok(kinds)
}

async fn owners_are(automation: &Automation<'_>, want: &[&str]) -> Result<()> {
    let what = format!("{} has its owners", automation.name);
    within(what, || async {
        same("its owners", owners(automation).await?, want.to_vec())
    })
    .await?;
    steadily("the owners", || async {
        same("its owners", owners(automation).await?, want.to_vec())
    })
    .await
}

/// The policy is added to the owners that others have set, once; a former policy is removed from them.
pub(crate) async fn owners_of_others(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-53").await?;
    let root = policy(&site).await?;
    site.config_map("other", json!({})).await?;
    let other = site
        .get("v1", "ConfigMap", Some(&site.name), "other")
        .await?;
    let uid = other.context("the other owner")?.metadata.uid;
    let metadata = json!({ "ownerReferences": [
        { "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid }
    ] });
    let automation =
        automation_with(&site, "automation", "everyEvent", json!({}), metadata).await?;
    owners_are(&automation, &["ConfigMap", "Policy"]).await?;
    root.reports("m1", "NonCompliant").await?;
    automation.targets_are(&[&["m1"]]).await?;
    same(
        "the owners",
        owners(&automation).await?,
        vec!["ConfigMap".to_owned(), "Policy".to_owned()],
    )
}

/// An automation's name may be longer than a label's value.
pub(crate) async fn long_names(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-54").await?;
    let root = policy(&site).await?;
    let name = format!("long.{}", "automation-".repeat(22)) + "end";
    ensure!(
        name.len() > 240 && name.len() < 254,
        "{} letters",
        name.len()
    );
    let long = automation(&site, &name, "everyEvent", json!({})).await?;
    let alike = name.replace("-end", "-eno");
    let other = automation(&site, &alike, "disabled", json!({})).await?;
    root.reports("m2", "NonCompliant").await?;
    long.targets_are(&[&["m2"]]).await?;
    other.rerun().await?;
    other.targets_stay(&[&["m2"]]).await?;
    long.targets_are(&[&["m2"]]).await?;
    long.rerun().await?;
    long.targets_stay(&[&["m2"], &["m2"]]).await
}

/// An automation may exist before its policy.
pub(crate) async fn late_policy(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-55").await?;
    let disabled = automation(&site, "disabled", "disabled", json!({})).await?;
    let every = automation(&site, "every", "everyEvent", json!({})).await?;
    disabled.targets_stay(&[]).await?;
    same("the owners", owners(&disabled).await?, Vec::<String>::new())?;
    let root = policy(&site).await?;
    for automation in [&disabled, &every] {
        owners_are(automation, &["Policy"]).await?;
    }
    root.reports("m1", "NonCompliant").await?;
    every.targets_are(&[&["m1"]]).await
}
