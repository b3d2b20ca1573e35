//! A hub that manages itself.

use std::sync::Arc;

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{ADDON, Agents, Mode, configuration, holds};
use serde_json::json;

/// Templates are made and statuses written where the policies are, and nothing is copied.
pub(crate) async fn works_locally(world: Arc<Agents>) -> Result<()> {
    let name = "on-hub-1-local";
    let place = world.place(Mode::OnHub)?;
    let policy = place.policy(name);
    policy
        .apply("enforce", &[configuration(name, "inform")])
        .await?;
    policy
        .template(name, |object| {
            object.data["spec"]["remediationAction"] == "enforce"
        })
        .await?;
    policy.report(name, "NonCompliant; violation").await?;
    policy.is("NonCompliant").await?;
    // Nobody reverts what is written to it.
    let annotation = json!({ "metadata": { "annotations": { "mine": "1" } } });
    policy.patch(annotation).await?;
    holds("the annotation stays", || async {
        let policy = policy.on_hub().await?;
        ensure!(policy.annotations().contains_key("mine"));
        Ok(())
    })
    .await?;
    policy.delete().await?;
    policy.no_object(reeve_scenarios::CONFIGURATION, name).await
}

/// No policy is made on the hub of others, nor written to: there is no connection.
pub(crate) async fn reads_no_hub(world: Arc<Agents>) -> Result<()> {
    let name = "on-hub-2-alone";
    let place = world.place(Mode::OnHub)?;
    let policy = place.policy(name);
    let mark = world.hub.audit()?.mark()?;
    policy.apply("", &[configuration(name, "inform")]).await?;
    policy.report(name, "Compliant; fine").await?;
    policy.is("Compliant").await?;
    let asked = world.hub.audit()?.since(mark)?;
    let ours = asked
        .iter()
        .filter(|event| event.user_agent.starts_with(ADDON) && event.namespace == place.namespace);
    let ours: Vec<_> = ours.collect();
    ensure!(ours.is_empty(), "{ours:#?}");
    let addon = place.addon;
    let spec_sync = addon
        .metric(
            "controller_runtime_reconcile_total",
            &["controller=\"policy-spec-sync\""],
        )
        .await?;
    ensure!(spec_sync.is_empty(), "{spec_sync:?}");
    Ok(())
}
