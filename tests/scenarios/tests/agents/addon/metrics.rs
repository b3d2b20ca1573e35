//! What the metrics page reports.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{
    Agents, Mode, Replicated, all_metrics_are_documented, configuration, within,
};
use serde_json::json;

const USER: &str = "policy_user_errors_total";
const SYSTEM: &str = "policy_system_errors_total";

/// Lines with both, as someone who searches the page finds them.
async fn lines(policy: &Replicated<'_>, metric: &str) -> Result<Vec<String>> {
    let page = policy.place().addon.metrics().await?;
    all_metrics_are_documented(&page)?;
    let found = page
        .lines()
        .filter(|line| line.contains(metric) && line.contains(policy.name()));
    Ok(found.map(str::to_owned).collect())
}

async fn one(policy: &Replicated<'_>, metric: &str, kind: &str) -> Result<()> {
    within(format!("one line of {metric}"), || async {
        let lines = lines(policy, metric).await?;
        ensure!(lines.len() == 1, "{lines:#?}");
        let value: f64 = lines[0].rsplit(' ').next().unwrap_or_default().parse()?;
        let kind = format!("type=\"{kind}\"");
        ensure!(value >= 1.0 && lines[0].contains(&kind), "{lines:#?}");
        Ok(())
    })
    .await
}

async fn none(policy: &Replicated<'_>, metric: &str) -> Result<()> {
    within(format!("no line of {metric}"), || async {
        let lines = lines(policy, metric).await?;
        ensure!(lines.is_empty(), "{lines:#?}");
        Ok(())
    })
    .await
}

/// Controllers with one series of successes each, from the start.
pub(crate) async fn reconciles(world: Arc<Agents>, mode: Mode, controllers: &[&str]) -> Result<()> {
    let addon = world.place(mode)?.addon;
    let page = addon.metrics().await?;
    for controller in controllers {
        let series = "controller_runtime_reconcile_total{";
        let labels = [
            format!("controller=\"{controller}\""),
            "result=\"success\"".to_owned(),
        ];
        let found = page
            .lines()
            .filter(|line| {
                line.starts_with(series) && labels.iter().all(|label| line.contains(label))
            })
            .count();
        ensure!(found == 1, "{controller} has {found} series: {page}");
    }
    // Others come with the first work.
    let policy = world.place(mode)?.policy("case-c13-metrics");
    policy.apply("", &[]).await?;
    policy.is("Compliant").await?;
    let page = policy.place().addon.metrics().await?;
    for metric in [
        "controller_runtime_reconcile_errors_total{",
        "controller_runtime_reconcile_time_seconds_bucket{",
        "controller_runtime_active_workers{",
        "controller_runtime_max_concurrent_reconciles{",
        "rest_client_requests_total{",
        "workqueue_depth{",
        "workqueue_adds_total{",
    ] {
        let found = page.lines().any(|line| line.starts_with(metric));
        ensure!(found, "no {metric}: {page}");
    }
    Ok(())
}

pub(crate) async fn decode_error(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c14-metric");
    let undecodable = json!({ "metadata": { "name": "case-c14" }, "spec": {} });
    policy.apply("inform", &[undecodable]).await?;
    one(&policy, USER, "format-error").await?;
    policy.delete().await?;
    none(&policy, USER).await
}

pub(crate) async fn invalid_spec(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c21-invalid";
    let policy = world.place(mode)?.policy(name);
    let mut invalid = configuration(name, "inform");
    invalid["spec"]["object-templates"] = json!(false);
    policy
        .apply("inform", std::slice::from_ref(&invalid))
        .await?;
    one(&policy, USER, "format-error").await?;
    none(&policy, SYSTEM).await?;
    policy.delete().await?;
    none(&policy, USER).await?;

    let name = "case-c21-patched";
    let policy = world.place(mode)?.policy(name);
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    policy.template(name, |_| true).await?;
    none(&policy, USER).await?;
    invalid["metadata"]["name"] = json!(name);
    policy.apply("inform", &[invalid]).await?;
    one(&policy, USER, "format-error").await?;
    none(&policy, SYSTEM).await
}
