//! PROP-166 and PROP-164: runs by hand, and the end.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Hub, same, within};
use serde_json::{Value, json};

use crate::automation::harness::{
    CLUSTERS, KIND, V1BETA1, automation, jobs, policy, report_all, site, violated_on,
};
use crate::automation::modes::site_collects;

pub(crate) async fn violated_and_not(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e22").await?;
    let root = policy(&site).await?;
    let automation = automation(&site, "automation", "disabled", json!({})).await?;
    report_all(&root, &CLUSTERS, "NonCompliant").await?;
    violated_on(&root, &CLUSTERS).await?;
    automation.rerun().await?;
    automation.targets_stay(&[&CLUSTERS]).await?;
    let vars = |jobs: &[reeve_testkit::Object], index: usize| {
        let job = jobs.get(index).context("no job")?;
        anyhow::Ok(job.data["spec"]["extra_vars"].clone())
    };
    let first = vars(&automation.jobs().await?, 0)?;
    let violations = first["policy_violations"].as_object();
    same(
        "the violations",
        violations.map(serde_json::Map::len),
        Some(3),
    )?;
    let name = automation.jobs().await?.remove(0).metadata.name;
    ensure!(
        name.as_ref()
            .is_some_and(|name| name.starts_with("automation-manual-")),
        "it is called {name:?}"
    );
    automation.mode_is("disabled").await?;

    report_all(&root, &CLUSTERS, "Compliant").await?;
    violated_on(&root, &[]).await?;
    automation.rerun().await?;
    automation.targets_stay(&[&CLUSTERS, &[]]).await?;
    let second = vars(&automation.jobs().await?, 1)?;
    same("the clusters", second["target_clusters"].clone(), json!([]))?;
    let violations = second.get("policy_violations").cloned();
    same("the violations", violations, Some(Value::Null))
}

pub(crate) async fn disabled_policy(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e23").await?;
    let root = policy(&site).await?;
    report_all(&root, &CLUSTERS, "NonCompliant").await?;
    violated_on(&root, &CLUSTERS).await?;
    root.disable(true).await?;
    root.replicas_are(&[]).await?;
    violated_on(&root, &[]).await?;
    let automation = automation(&site, "automation", "disabled", json!({})).await?;
    automation.rerun().await?;
    automation.targets_stay(&[&[]]).await?;
    root.disable(false).await?;
    root.replicas_are(&CLUSTERS).await?;
    automation.targets_stay(&[&[]]).await?;
    report_all(&root, &CLUSTERS, "NonCompliant").await?;
    violated_on(&root, &CLUSTERS).await?;
    automation.rerun().await?;
    automation.targets_stay(&[&[], &CLUSTERS]).await
}

pub(crate) async fn goes_with_the_policy(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e24").await?;
    if !site_collects(&site).await? {
        return Ok(());
    }
    let root = policy(&site).await?;
    let automation = automation(&site, "automation", "everyEvent", json!({})).await?;
    root.reports("m1", "NonCompliant").await?;
    automation.targets_are(&[&["m1"]]).await?;
    root.delete().await?;
    within("automation and jobs are gone", || async {
        let found = site
            .get(V1BETA1, KIND, Some(&site.name), "automation")
            .await?;
        ensure!(found.is_none(), "the automation is there");
        let jobs = jobs(&site).await?;
        ensure!(jobs.is_empty(), "{} jobs are there", jobs.len());
        Ok(())
    })
    .await
}
