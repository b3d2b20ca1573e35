//! A policy on more clusters than its status has room for in etcd.

use anyhow::{Context, Result, ensure};
use reeve_testkit::{Plane, SOON, eventually};
use serde_json::{Value, json};

use crate::hub_guarantees::{Propagator, V1, plane};

const NAMESPACE: &str = "roots";
/// With the longest names, nine thousand fit.
const CLUSTERS: usize = 12_000;
const PER_DECISION: usize = 1_000;

pub(crate) async fn omitted() -> Result<()> {
    let hub = plane("large").await?;
    objects(&hub).await?;
    // No cluster has a namespace, so all that is written is the status.
    let mut propagator = Propagator::start(&hub, &[], &[]).await?;
    let outcome = status_fits(&hub).await;
    propagator.with_log(outcome)?;
    propagator.component.stop().await?;
    Ok(())
}

async fn status_fits(hub: &Plane) -> Result<()> {
    let condition = eventually("the status counts all clusters", SOON, || async {
        let root = root(hub).await?;
        let condition = root["status"]["conditions"][0].clone();
        let message = condition["message"].as_str().unwrap_or_default();
        let counts = format!("of {CLUSTERS} clusters");
        ensure!(message.contains(&counts), "{condition}");
        Ok(condition)
    })
    .await?;
    println!("{condition}");
    ensure!(condition["type"] == "ClustersOmitted", "{condition}");
    let root = root(hub).await?;
    let listed = root["status"]["status"].as_array().context("no clusters")?;
    let message = condition["message"].as_str().unwrap_or_default();
    let lists = format!("lists {} of", listed.len());
    ensure!(
        message.contains(&lists),
        "{} are listed: {message}",
        listed.len()
    );
    let length = serde_json::to_vec(&root)?.len();
    println!("the policy has {length} bytes");
    ensure!(length > 1_400_000, "it has room for more: {length} bytes");
    // One cluster fewer: the new count is written, over a status of this size.
    let gone = json!({ "status": { "decisions": decisions(0, PER_DECISION - 1) } });
    hub.patch_status(
        DECISIONS,
        "PlacementDecision",
        Some(NAMESPACE),
        "all-0",
        gone,
    )
    .await?;
    eventually("the status counts one cluster fewer", SOON, || async {
        let root = self::root(hub).await?;
        let message = root["status"]["conditions"][0]["message"].clone();
        let counts = format!("of {} clusters", CLUSTERS - 1);
        ensure!(
            message.as_str().unwrap_or_default().contains(&counts),
            "{message}"
        );
        Ok(())
    })
    .await
}

const DECISIONS: &str = "cluster.open-cluster-management.io/v1beta1";

async fn root(hub: &Plane) -> Result<Value> {
    let root = hub.get(V1, "Policy", Some(NAMESPACE), "p").await?;
    Ok(serde_json::to_value(root.context("no policy")?)?)
}

fn decisions(from: usize, to: usize) -> Vec<Value> {
    let name = |number: usize| format!("{number:05}-{}", "c".repeat(57));
    let decision = |number| json!({ "clusterName": name(number), "reason": "" });
    (from..to).map(decision).collect()
}

async fn objects(hub: &Plane) -> Result<()> {
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } }),
        json!({
            "apiVersion": DECISIONS, "kind": "Placement",
            "metadata": { "name": "all", "namespace": NAMESPACE }, "spec": {},
        }),
    ];
    for (number, from) in (0..CLUSTERS).step_by(PER_DECISION).enumerate() {
        objects.push(json!({
            "apiVersion": DECISIONS, "kind": "PlacementDecision",
            "metadata": {
                "name": format!("all-{number}"), "namespace": NAMESPACE,
                "labels": { "cluster.open-cluster-management.io/placement": "all" },
            },
            "status": { "decisions": decisions(from, from + PER_DECISION) },
        }));
    }
    objects.push(json!({
        "apiVersion": V1, "kind": "PlacementBinding",
        "metadata": { "name": "all", "namespace": NAMESPACE },
        "placementRef": {
            "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "all",
        },
        "subjects": [{
            "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "p",
        }],
    }));
    objects.push(json!({
        "apiVersion": V1, "kind": "Policy", "metadata": { "name": "p", "namespace": NAMESPACE },
        "spec": { "disabled": false, "remediationAction": "inform", "policy-templates": [] },
    }));
    let objects: Vec<String> = objects.iter().map(ToString::to_string).collect();
    hub.apply(&objects.join("\n---\n")).await?;
    Ok(())
}
