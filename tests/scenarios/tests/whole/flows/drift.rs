//! What is enforced is restored at once, by the API server's own clock.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use reeve_scenarios::Governed;
use reeve_testkit::{AuditEvent, Cluster, Mark, World, eventually};
use serde_json::{Value, json};

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" },
        "data": { "mode": "strict" }
    })
}

async fn enforced<'a>(world: &'a World, name: &str) -> Result<Governed<'a>> {
    let template = Governed::template(name, "musthave", &config_map(name));
    let policy = Governed::apply(world, name, "enforce", vec![template]).await?;
    policy.place(&["c1"]).await?;
    policy.root_is("Compliant").await?;
    let found = format!(
        "Compliant; notification - configmaps [{name}] found as specified in namespace default"
    );
    policy.reports("c1", name, &found).await?;
    Ok(policy)
}

/// When the first write of this kind to the ConfigMap was answered.
fn written(events: &[AuditEvent], name: &str, verbs: &[&str], by_us: bool) -> Option<Timestamp> {
    let found = events.iter().find(|event| {
        event.resource == "configmaps"
            // A create carries no name in its address.
            && (event.name == name || event.name.is_empty())
            && verbs.contains(&event.verb.as_str())
            // Before it writes the controller asks what would become of it.
            && !event.dry_run
            && event.code < 300
            && event.user_agent.starts_with("config-policy-controller") == by_us
    });
    found.map(|event| event.stage_timestamp)
}

async fn restored_within_a_second(
    cluster: &Cluster,
    mark: Mark,
    name: &str,
    (drift, repair): (&[&str], &[&str]),
) -> Result<()> {
    let audit = cluster.plane.audit()?;
    let what = format!("the audit log shows that {name} was restored");
    let (drifted, repaired) = eventually(what, Duration::from_secs(10), || async {
        let events = audit.since(mark)?;
        let drifted = written(&events, name, drift, false).context("no drift yet")?;
        let repaired = written(&events, name, repair, true).context("no repair yet")?;
        anyhow::Ok((drifted, repaired))
    })
    .await?;
    let took = repaired.duration_since(drifted);
    ensure!(
        took < SignedDuration::from_secs(1),
        "{name} was restored after {took:#}"
    );
    Ok(())
}

pub(crate) async fn deleted(world: Arc<World>) -> Result<()> {
    let name = "drift-deleted";
    let policy = enforced(&world, name).await?;
    let cluster = world.cluster("c2")?;
    policy.place(&["c2"]).await?;
    policy
        .exists("c2", ("v1", "ConfigMap"), Some("default"), name)
        .await?;
    let found = format!(
        "Compliant; notification - configmaps [{name}] found as specified in namespace default"
    );
    policy.reports("c2", name, &found).await?;
    let mark = cluster.plane.audit()?.mark()?;
    cluster.plane.delete(&config_map(name).to_string()).await?;
    restored_within_a_second(cluster, mark, name, (&["delete"], &["create"])).await?;
    policy
        .exists("c2", ("v1", "ConfigMap"), Some("default"), name)
        .await?;
    policy.root_is("Compliant").await?;
    Ok(())
}

pub(crate) async fn edited(world: Arc<World>) -> Result<()> {
    let name = "drift-edited";
    let policy = enforced(&world, name).await?;
    let cluster = world.cluster("c1")?;
    let mark = cluster.plane.audit()?.mark()?;
    let edit = json!({ "data": { "mode": "lax", "mine": "kept" } });
    cluster
        .plane
        .patch("v1", "ConfigMap", Some("default"), name, edit)
        .await?;
    restored_within_a_second(cluster, mark, name, (&["patch"], &["update", "patch"])).await?;
    let live = policy
        .exists("c1", ("v1", "ConfigMap"), Some("default"), name)
        .await?;
    let want = json!({ "mode": "strict", "mine": "kept" });
    ensure!(
        live.data["data"] == want,
        "the data is {}",
        live.data["data"]
    );
    policy.root_is("Compliant").await?;
    Ok(())
}
