//! How often policies are evaluated, and kinds that cannot be watched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, all_metrics_are_documented, same, spec, within};
use serde_json::json;

const GAUGE: (&str, &[&str]) = (
    "cluster_policy_governance_info",
    &[
        "kind=\"ConfigurationPolicy\"",
        "policy=\"case28-metrics\"",
        "policy_namespace=\"managed\"",
        "severity=\"high\"",
    ],
);
const NAME: &[&str] = &["name=\"case28-metrics\""];
const COMPARED: &[&str] = &[
    "config_policy_name=\"case28-metrics\"",
    "namespace=\"case28\"",
    "object=\"configmaps.map\"",
];
const COUNTERS: [(&str, &[&str]); 4] = [
    ("config_policy_evaluation_total", NAME),
    ("config_policy_evaluation_seconds_total", NAME),
    ("compare_objects_evaluation_total", COMPARED),
    ("compare_objects_seconds_total", COMPARED),
];

pub(crate) async fn metrics(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case28"]).await?;
    let policy = world.policy("case28-metrics");
    world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: case28}, data: {a: b}}").await?;
    let map =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: case28}, data: {a: c}}";
    policy
        .apply(&(spec("inform", &[("musthave", map)]) + "severity: high\n"))
        .await?;
    policy.is("NonCompliant").await?;
    let value = |name: &'static str, labels: &'static [&'static str]| {
        let world = &world;
        async move {
            let series = world.controller().metric(name, labels).await?;
            anyhow::Ok(
                series
                    .first()
                    .with_context(|| format!("no {name} with {labels:?}"))?
                    .1,
            )
        }
    };
    within("the gauge is 1, and the counters count", || async {
        same("the gauge", value(GAUGE.0, GAUGE.1).await?, 1.0)?;
        for (name, labels) in COUNTERS {
            ensure!(value(name, labels).await? > 0.0, "{name} is 0");
        }
        Ok(())
    })
    .await?;
    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    within("the gauge is 0", || async {
        same("the gauge", value(GAUGE.0, GAUGE.1).await?, 0.0)
    })
    .await?;
    all_metrics_are_documented(&world.controller().metrics().await?)?;
    policy.remove().await?;
    within("all series are gone", || async {
        for (name, labels) in COUNTERS.into_iter().chain([(GAUGE.0, &GAUGE.1[..2])]) {
            let series = world.controller().metric(name, labels).await?;
            ensure!(series.is_empty(), "there is {series:?}");
        }
        Ok(())
    })
    .await
}

const STATUS: &str = "{apiVersion: v1, kind: ComponentStatus, metadata: {name: etcd-0}}";
const LOOKING: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: looking, namespace: case45b}
data:
  name: '{{ (lookup "v1" "ComponentStatus" "" "etcd-0").metadata.name }}'
"#;
const UNWATCHABLE: &str =
    "Kind=ComponentStatus cannot be watched: watch not supported on this resource";

pub(crate) async fn unwatchable(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case45b"]).await?;
    let policy = world.policy("case45b-components");
    let templates = [("musthave", STATUS), ("musthave", LOOKING)];
    policy.apply(&spec("inform", &templates)).await?;
    let observed = policy
        .until("both are looked at", |observed| observed.details() == 2)
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    let first =
        "Error with object-template at index [0], it may require evaluationInterval to be set: ";
    let (one, two) = (observed.message(0), observed.message(1));
    ensure!(
        one.starts_with(first) && one.ends_with(UNWATCHABLE),
        "the first status is {one}"
    );
    let second = format!("{UNWATCHABLE} - this template may require evaluationInterval to be set");
    ensure!(two.contains(&second), "the second status is {two}");

    let polling = |action| {
        spec(action, &templates) + "evaluationInterval: {compliant: 5s, noncompliant: 5s}\n"
    };
    policy.apply(&polling("inform")).await?;
    let observed = policy
        .until("the first is found", |observed| {
            observed.compliance_of(0) == "Compliant"
        })
        .await?;
    same(
        "the first",
        observed.message(0),
        "componentstatuses [etcd-0] found as specified",
    )?;
    same(
        "the second",
        observed.message(1),
        "configmaps [looking] not found in namespace case45b",
    )?;
    policy.apply(&polling("enforce")).await?;
    policy.is("Compliant").await?;
    let live = world
        .get("v1", "ConfigMap", Some("case45b"), "looking")
        .await?
        .context("absent")?;
    same("the data", &live.data["data"], &json!({ "name": "etcd-0" }))
}

/// What cannot be listed while watching is not absent.
pub(crate) async fn unlisted(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("rough-edge-5-unwatchable");
    policy
        .apply(&spec(
            "inform",
            &[("mustnothave", "{apiVersion: v1, kind: ComponentStatus}")],
        ))
        .await?;
    let observed = policy
        .mentions(&["cannot be watched: watch not supported on this resource"])
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    same("the reason", observed.reason(0), "unwatchable resource")
}

pub(crate) async fn storm(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case47"]).await?;
    let set = |value: u32| json!({ "data": { "value": format!("value-{value}") } });
    world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: source, namespace: case47}, data: {value: value-0}}").await?;
    let policy = world.policy("case47-storm");
    let follower = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: follower, namespace: case47}
data:
  value: '{{ fromConfigMap "case47" "source" "value" }}'
"#;
    policy
        .apply(&spec("enforce", &[("musthave", follower)]))
        .await?;
    policy.is("Compliant").await?;
    let before = world.settled(policy.name()).await?;
    ensure!(before <= 5.0, "it was evaluated {before} times at first");

    let (start, mut value) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(20) {
        value += 1;
        world
            .patch("v1", "ConfigMap", Some("case47"), "source", set(value))
            .await?;
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let more = world.evaluations(policy.name()).await? - before;
    ensure!(more < 12.0, "it was evaluated {more} times in 20 s");
    within("the last value has arrived", || async {
        let live = world
            .get("v1", "ConfigMap", Some("case47"), "follower")
            .await?
            .context("absent")?;
        same("the data", &live.data["data"], &set(value)["data"])
    })
    .await?;
    policy.is("Compliant").await?;
    Ok(())
}
