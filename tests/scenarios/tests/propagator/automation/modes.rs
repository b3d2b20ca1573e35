//! PROP-167 and PROP-169: the modes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use reeve_scenarios::{Hub, Site, label, same, within};
use reeve_testkit::Object;
use serde_json::{Value, json};

use crate::automation::harness::{
    CLUSTERS, DOMAIN, automation, policy, report_all, site, violated_on,
};

const PREFIX: &str = "policy.open-cluster-management.io/";

pub(crate) async fn disabled(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e18").await?;
    let root = policy(&site).await?;
    let automation = automation(&site, "automation", "disabled", json!({})).await?;
    report_all(&root, &CLUSTERS, "NonCompliant").await?;
    violated_on(&root, &CLUSTERS).await?;
    automation.targets_stay(&[]).await
}

/// What a cluster's addon reports of a violation.
fn violation() -> Value {
    let history = json!([
        { "lastTimestamp": "2026-11-21T10:00:02Z", "message": "NonCompliant; it is not there", "eventName": "a.1" },
        { "lastTimestamp": "2026-11-21T10:00:01Z", "message": "Compliant; it is there", "eventName": "a.0" }
    ]);
    json!({
        "compliant": "NonCompliant",
        "details": [
            { "compliant": "NonCompliant", "templateMeta": { "name": "plain" }, "history": history },
            { "compliant": "Compliant", "templateMeta": { "name": "other" }, "history": [] }
        ]
    })
}

pub(crate) async fn once(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e19").await?;
    let root = policy(&site).await?;
    let automation = automation(&site, "an.automation", "once", json!({})).await?;
    let policy = root.read().await?;
    within("the policy owns it", || async {
        let owners = automation.read().await?.metadata.owner_references;
        let owners = owners.unwrap_or_default();
        let [owned] = owners.as_slice() else {
            anyhow::bail!("its owners are {owners:?}");
        };
        ensure!(
            policy.metadata.uid.as_ref() == Some(&owned.uid)
                && (owned.kind.as_str(), owned.name.as_str()) == ("Policy", "policy")
                && owned.api_version == format!("{PREFIX}v1")
                && owned.block_owner_deletion == Some(true),
            "its owner is {owned:?}"
        );
        Ok(())
    })
    .await?;
    report_all(&root, &CLUSTERS, "Pending").await?;
    root.is("Pending").await?;
    report_all(&root, &CLUSTERS, "Compliant").await?;
    root.is("Compliant").await?;
    automation.targets_stay(&[]).await?;

    root.reports_all("m1", violation()).await?;
    automation.mode_is("disabled").await?;
    automation.targets_are(&[&["m1"]]).await?;
    report_all(&root, &["m2", "m3"], "NonCompliant").await?;
    automation.targets_stay(&[&["m1"]]).await?;
    let jobs = automation.jobs().await?;
    complete(
        &site,
        jobs.first().context("the job is gone")?,
        &automation.read().await?,
    )?;

    automation.set_mode("once").await?;
    automation.targets_are(&[&["m1"], &CLUSTERS]).await?;
    automation.mode_is("disabled").await?;
    report_all(&root, &CLUSTERS, "Compliant").await?;
    automation.targets_stay(&[&["m1"], &CLUSTERS]).await?;
    automation.delete().await?;
    no_jobs(&site).await
}

async fn no_jobs(site: &Site<'_>) -> Result<()> {
    if !site_collects(site).await? {
        return Ok(());
    }
    within("the jobs go too", || async {
        let jobs = crate::automation::harness::jobs(site).await?;
        ensure!(jobs.is_empty(), "{} jobs are there", jobs.len());
        Ok(())
    })
    .await
}

/// Whether somebody collects what belonged to objects that are gone.
pub(crate) async fn site_collects(site: &Site<'_>) -> Result<bool> {
    let account = site.get("v1", "ServiceAccount", Some("default"), "default");
    Ok(account.await?.is_some())
}

/// The job for m1, field by field.
fn complete(site: &Site<'_>, job: &Object, automation: &Object) -> Result<()> {
    let short = |value: &Value| -> Result<Value> {
        Ok(serde_json::from_str(&site.shortened(&value.to_string()))?)
    };
    let mut want = json!({
        "job_template_name": "Policy Compliance Template",
        "tower_auth_secret": "toweraccess",
        "job_ttl": 86400,
        "extra_vars": {
            "sn_severity": 1,
            "target_clusters": ["m1"],
            "policy_name": "policy",
            "policy_namespace": site.name,
            "hub_cluster": DOMAIN,
            "policy_sets": ["set"],
            "policy_violations": { "m1": {
                "compliant": "NonCompliant",
                "violation_message": "NonCompliant; it is not there",
                "details": [
                    { "compliant": "NonCompliant", "history": [
                        { "lastTimestamp": "2026-11-21T10:00:02Z", "message": "NonCompliant; it is not there" },
                        { "lastTimestamp": "2026-11-21T10:00:01Z", "message": "Compliant; it is there" }
                    ] },
                    { "compliant": "Compliant", "history": [] }
                ]
            } }
        }
    });
    let spec = short(&job.data["spec"])?;
    // An empty history may be left out.
    let last = "/extra_vars/policy_violations/m1/details/1/history";
    if spec.pointer(last).is_none_or(Value::is_null) {
        let details = want.pointer_mut("/extra_vars/policy_violations/m1/details/1");
        let details = details.and_then(Value::as_object_mut).context("details")?;
        details.remove("history");
    }
    same("the spec of the job", spec, want)?;
    same(
        "its label",
        label(job, &format!("{PREFIX}policyautomation-name")),
        Some("an.automation"),
    )?;
    ensure!(
        job.name_any().starts_with("an-automation-once-"),
        "it is called {}",
        job.name_any()
    );
    for annotation in ["generation", "resource-version"] {
        let key = format!("{PREFIX}policyautomation-{annotation}");
        let value = job.annotations().get(&key);
        ensure!(
            value.is_some_and(|value| value.parse::<u64>().is_ok()),
            "{key} is {value:?}"
        );
    }
    let owners = job.metadata.owner_references.clone().unwrap_or_default();
    ensure!(
        owners.len() == 1
            && owners.iter().all(|owner| {
                Some(&owner.uid) == automation.metadata.uid.as_ref()
                    && owner.controller == Some(true)
            }),
        "its owners are {owners:?}"
    );
    Ok(())
}

/// The clusters notice one after another, 200 ms apart: the job does not wait for the second. The first 200 ms begin
/// when the root publishes of the first violation, because a busy machine may need them for that alone.
pub(crate) async fn first_of_several(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e19-first").await?;
    let root = policy(&site).await?;
    report_all(&root, &CLUSTERS, "Compliant").await?;
    root.is("Compliant").await?;
    let automation = automation(&site, "automation", "once", json!({})).await?;
    within("the automation is known", || async {
        let owners = automation.read().await?.metadata.owner_references;
        ensure!(owners.is_some(), "nobody owns it");
        Ok(())
    })
    .await?;
    root.reports("m1", "NonCompliant").await?;
    violated_on(&root, &["m1"]).await?;
    for cluster in ["m2", "m3"] {
        tokio::time::sleep(Duration::from_millis(200)).await;
        root.reports(cluster, "NonCompliant").await?;
    }
    automation.targets_stay(&[&["m1"]]).await
}

pub(crate) async fn every_event(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e20").await?;
    let root = policy(&site).await?;
    let ttl = json!({ "automationDef": { "jobTtl": 3600 } });
    let automation = automation(&site, "automation", "everyEvent", ttl).await?;
    report_all(&root, &CLUSTERS, "Compliant").await?;
    root.is("Compliant").await?;
    automation.targets_stay(&[]).await?;
    root.reports("m3", "NonCompliant").await?;
    automation.targets_stay(&[&["m3"]]).await?;
    let jobs = automation.jobs().await?;
    let spec = &jobs.first().context("the job is gone")?.data["spec"];
    same("its time to live", spec["job_ttl"].clone(), json!(3600))?;
    let reported = &spec["extra_vars"]["policy_violations"][site.cluster("m3")]["compliant"];
    same("the violation", reported.clone(), json!("NonCompliant"))?;
    root.reports("m3", "Compliant").await?;
    root.is("Compliant").await?;
    automation.targets_stay(&[&["m3"]]).await?;
    same(
        "what is remembered",
        automation.event("m3").await?,
        Value::Null,
    )?;
    root.reports("m3", "NonCompliant").await?;
    automation.targets_are(&[&["m3"], &["m3"]]).await?;
    root.reports("m1", "NonCompliant").await?;
    automation.targets_stay(&[&["m3"], &["m3"], &["m1"]]).await
}

/// Waits until something is remembered of a cluster.
pub(super) async fn remembered(
    automation: &crate::automation::harness::Automation<'_>,
    cluster: &str,
) -> Result<Value> {
    within("it is remembered", || async {
        let event = automation.event(cluster).await?;
        ensure!(event.is_object(), "it is {event}");
        Ok(event)
    })
    .await
}

/// Waits until what is remembered of a cluster is not this any more: the automation has seen the cluster's new compliance.
/// Two changes that come faster are one to it.
pub(super) async fn noticed(
    automation: &crate::automation::harness::Automation<'_>,
    cluster: &str,
    before: &Value,
) -> Result<()> {
    within("the new compliance is noticed", || async {
        let event = automation.event(cluster).await?;
        ensure!(event != *before, "it is still {event}");
        Ok(())
    })
    .await
}

pub(crate) async fn delayed(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e21").await?;
    let root = policy(&site).await?;
    let delay = json!({ "delayAfterRunSeconds": 240 });
    let automation = automation(&site, "automation", "everyEvent", delay).await?;
    report_all(&root, &CLUSTERS, "Compliant").await?;
    root.is("Compliant").await?;
    root.reports("m3", "NonCompliant").await?;
    automation.targets_are(&[&["m3"]]).await?;
    let event = remembered(&automation, "m3").await?;
    for compliance in ["Compliant", "NonCompliant"] {
        root.reports("m3", compliance).await?;
        root.is(compliance).await?;
    }
    automation.targets_stay(&[&["m3"]]).await?;
    let start = event["automationStartTime"].as_str().unwrap_or_default();
    ensure!(
        start.ends_with('Z') && start.len() == 20,
        "it started at {start}"
    );
    let start: Timestamp = start.parse()?;
    let earlier = start - SignedDuration::from_secs(241);
    let mut entry = remembered(&automation, "m3").await?;
    entry["automationStartTime"] = json!(earlier.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let moved = json!({ "status": { "clustersWithEvent": { (site.cluster("m3")): entry } } });
    automation.patch_status(moved).await?;
    let before = remembered(&automation, "m3").await?;
    root.reports("m3", "Compliant").await?;
    root.is("Compliant").await?;
    noticed(&automation, "m3", &before).await?;
    root.reports("m3", "NonCompliant").await?;
    automation.targets_stay(&[&["m3"], &["m3"]]).await
}

/// Nobody asks again: the end of the delay is enough.
pub(crate) async fn after_the_delay(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "case-e21-after").await?;
    let root = policy(&site).await?;
    let delay = json!({ "delayAfterRunSeconds": 8 });
    let automation = automation(&site, "automation", "everyEvent", delay).await?;
    report_all(&root, &CLUSTERS, "Compliant").await?;
    root.is("Compliant").await?;
    root.reports("m1", "NonCompliant").await?;
    automation.targets_are(&[&["m1"]]).await?;
    let first = remembered(&automation, "m1").await?;
    // Times have whole seconds: what comes later is to be seen as later.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    root.reports("m1", "Compliant").await?;
    root.is("Compliant").await?;
    noticed(&automation, "m1", &first).await?;
    root.reports("m1", "NonCompliant").await?;
    root.is("NonCompliant").await?;
    // One that stays violated meanwhile is no event.
    automation.targets_are(&[&["m1"], &["m1"]]).await?;
    let times = automation.jobs().await?;
    let times: Vec<Timestamp> = times
        .iter()
        .filter_map(|job| Some(job.metadata.creation_timestamp.as_ref()?.0))
        .collect();
    let [one, two] = times.as_slice() else {
        anyhow::bail!("the jobs are of {times:?}");
    };
    let apart = two.duration_since(*one).as_secs();
    ensure!(
        (7..=20).contains(&apart),
        "they are {apart} s apart; {first}"
    );
    automation.targets_stay(&[&["m1"], &["m1"]]).await
}
