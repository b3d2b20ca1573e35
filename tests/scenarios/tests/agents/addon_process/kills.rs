//! An add-on that is killed and started again.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{CONFIGURATION, POLICY, configuration, holds};
use reeve_testkit::{SOON, eventually};
use serde_json::json;

use crate::addon_process::Planes;

pub(crate) async fn no_repeated_report(planes: Arc<Planes>) -> Result<()> {
    let (namespace, name) = ("kills", "killed");
    let (hub, managed) = (&planes.hub, &planes.managed);
    let mut addon = planes.setup(namespace).await?.start().await?;
    let mut bad = configuration("killed-bad", "inform");
    bad["spec"]["severity"] = json!("unheard-of");
    let waits = json!([{
        "apiVersion": CONFIGURATION.0, "kind": CONFIGURATION.1,
        "name": "killed-absent", "compliance": "Compliant"
    }]);
    let policy = json!({
        "apiVersion": POLICY.0, "kind": POLICY.1,
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "disabled": false, "policy-templates": [
            { "objectDefinition": bad },
            { "objectDefinition": configuration("killed-waits", "inform"), "extraDependencies": waits },
            { "objectDefinition": configuration("killed-good", "inform") },
        ] }
    });
    hub.apply(&policy.to_string()).await?;
    let status = || async {
        let policy = hub.get(POLICY.0, POLICY.1, Some(namespace), name).await?;
        let status = policy.context("absent")?.data["status"].clone();
        anyhow::Ok(status)
    };
    let reported = |compliance: &'static str, index: usize| async move {
        eventually(
            format!("template {index} is {compliance}"),
            SOON,
            || async {
                let status = status().await?;
                ensure!(
                    status["details"][index]["compliant"] == compliance,
                    "{status:#}"
                );
                Ok(())
            },
        )
        .await
    };
    reported("NonCompliant", 0).await?;
    reported("Pending", 1).await?;
    let objects = || async {
        let (api, kind) = CONFIGURATION;
        managed.list(api, kind, Some(namespace)).await
    };
    eventually("the good one is made", SOON, || async {
        ensure!(objects().await?.len() == 1, "not yet");
        Ok(())
    })
    .await?;
    let reports = || async {
        let events = managed.list("v1", "Event", Some(namespace)).await?;
        let is_report = |event: &&reeve_testkit::Object| {
            let reason = event.data["reason"].as_str();
            reason.is_some_and(|reason| reason.starts_with("policy:"))
        };
        anyhow::Ok(events.iter().filter(is_report).count())
    };
    ensure!(reports().await? == 2, "{} reports", reports().await?);
    let before = (status().await?, objects().await?);
    for _ in 0..2 {
        addon.component().kill().await;
        addon.component().restart()?;
        addon = addon.ready().await?;
    }
    holds("everything is as before", || async {
        let count = reports().await?;
        ensure!(count == 2, "{count} reports");
        ensure!(status().await? == before.0, "{:#}", status().await?);
        ensure!(objects().await? == before.1);
        Ok(())
    })
    .await
}
