//! An object that never rests, beside what a policy wants of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reeve_scenarios::{Evaluator, same, spec};
use serde_json::json;

/// How long it is written to at least.
const CHURN: Duration = Duration::from_mins(2);
/// How often it is written to at least. A busy machine takes longer than [`CHURN`] for it.
const WRITES: u32 = 600;
/// Between two writes.
const TICK: Duration = Duration::from_millis(100);
/// With a backoff of two seconds: fewer than 12 in each 20 seconds.
const EVALUATIONS_PER_SECOND: f64 = 0.6;

/// Ten writes a second change nothing that the policy wants: it is evaluated seldom, and nobody hears of it.
pub(crate) async fn beside_a_policy(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["churn"]).await?;
    let busy = "{apiVersion: v1, kind: ConfigMap, metadata: {name: busy, namespace: churn}, data: {wanted: x}}";
    world.apply(busy).await?;
    let policy = world.policy("churn-beside");
    // What else is in the namespace is read too: by a template, and by a search without a name.
    let reader = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ if (lookup "v1" "ConfigMap" "churn" "busy") }}busy{{ end }}', namespace: churn}
data: {wanted: x}
"#;
    let search =
        "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: churn}, data: {wanted: x}}";
    let templates = [
        ("musthave", busy),
        ("musthave", reader),
        ("musthave", search),
    ];
    policy.apply(&spec("enforce", &templates)).await?;
    let observed = policy.is("Compliant").await?;
    let before = world.settled(policy.name()).await?;
    let (parents, own) = (
        policy.parent_messages().await?,
        policy.own_messages().await?,
    );

    let (start, mut writes) = (Instant::now(), 0_u32);
    while start.elapsed() < CHURN || writes < WRITES {
        writes += 1;
        let noise = json!({ "data": { "noise": format!("{writes}") } });
        world
            .patch("v1", "ConfigMap", Some("churn"), "busy", noise)
            .await?;
        tokio::time::sleep(TICK).await;
    }
    let more = world.evaluations(policy.name()).await? - before;
    let limit = start.elapsed().as_secs_f64() * EVALUATIONS_PER_SECOND;
    ensure!(
        (1.0..limit).contains(&more),
        "it was evaluated {more} times during {writes} writes"
    );
    same(
        "the events of the parent",
        &policy.parent_messages().await?,
        &parents,
    )?;
    same(
        "the events of the policy itself",
        &policy.own_messages().await?,
        &own,
    )?;
    let now = policy.observed().await?;
    same("the status", &now, &observed)
}
