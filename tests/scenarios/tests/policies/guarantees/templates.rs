//! A constraint template that means harm, beside one that does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reeve_scenarios::{Controller, Evaluator};
use reeve_testkit::{Object, SOON, eventually};
use serde_json::{Value, json};

const TEMPLATES: &str = "templates.gatekeeper.sh/v1";
const CONSTRAINTS: &str = "constraints.gatekeeper.sh/v1beta1";
const NAMESPACE: &str = "templates";
/// The probes answer within this, whatever a template does.
const PROBE: Duration = Duration::from_secs(1);

/// A hostile template stops neither the process nor the audit of another constraint; it is quarantined, that is remembered, and an
/// edit lifts it.
pub(crate) async fn hostile(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&[NAMESPACE]).await?;
    let args = ["--constraint-audit=materialised"];
    let mut auditor = Controller::start(world.plane(), NAMESPACE, &args).await?;
    load(&world, "Honest", &harmless("honest")).await?;
    violate(&world, "first").await?;
    total_is(&world, "Honest", 1).await?;

    let (slowest, error) = tokio::try_join!(slowest_probe(&auditor), load_hostile(&world))?;
    println!("slowest probe: {slowest:?}");
    ensure!(slowest < PROBE, "a probe took {slowest:?}");
    let status = status_of(&world, CONSTRAINTS, "Hostile", "one").await?;
    let first = &status["violations"][0]["message"];
    ensure!(
        *first == error,
        "the violation is {first}, the status has {error}"
    );
    let metric = auditor
        .metric("reeve_constraint_templates_quarantined", &[])
        .await?;
    ensure!(
        matches!(&metric[..], [(_, value)] if value.to_bits() == 1_f64.to_bits()),
        "the metric is {metric:?}"
    );

    auditor.stop().await?;
    let before = times_stopped(&auditor);
    auditor.restart().await?;
    violate(&world, "third").await?;
    total_is(&world, "Honest", 3).await?;
    total_is(&world, "Hostile", 3).await?;
    ensure!(
        quarantined(&world, true).await? == error,
        "the reason is another one"
    );
    // Two processes may run the code at once, but none after the restart.
    let times = times_stopped(&auditor);
    ensure!(
        before > 0 && times == before,
        "its code was stopped {before} times, and {times} after the restart"
    );

    apply_template(&world, "Hostile", &harmless("hostile")).await?;
    quarantined(&world, false).await?;
    eventually("the edited template is evaluated", SOON, || async {
        let status = status_of(&world, CONSTRAINTS, "Hostile", "one").await?;
        let first = &status["violations"][0]["message"];
        ensure!(*first == "third is forbidden", "the violation is {first}");
        Ok(())
    })
    .await
}

/// How often the code of a template was stopped.
fn times_stopped(auditor: &Controller) -> usize {
    let log = auditor.log();
    log.matches("constraint template is quarantined").count()
}

/// Requests the health again and again for a while. Returns the longest time of a response.
async fn slowest_probe(auditor: &Controller) -> Result<Duration> {
    let (begin, mut slowest) = (Instant::now(), Duration::ZERO);
    while begin.elapsed() < Duration::from_secs(10) {
        let sent = Instant::now();
        auditor.probe("healthz").await?;
        slowest = slowest.max(sent.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(slowest)
}

/// Loads the hostile template beside the honest one. Returns the reason of its quarantine.
async fn load_hostile(world: &Evaluator) -> Result<String> {
    load(world, "Hostile", &doubling()).await?;
    let begin = Instant::now();
    violate(world, "second").await?;
    total_is(world, "Honest", 2).await?;
    println!("beside a hostile template: {:?}", begin.elapsed());
    let error = quarantined(world, true).await?;
    total_is(world, "Hostile", 2).await?;
    Ok(error)
}

fn harmless(package: &str) -> String {
    format!(
        "package {package}\nviolation[{{\"msg\": msg}}] {{\n  msg := sprintf(\"%v is forbidden\", [input.review.object.metadata.name])\n}}"
    )
}

/// Compares two trees of 2^45 leaves, which share their parts, for every object.
fn doubling() -> String {
    let of = |name: &str| {
        let rules = (1..=45).map(|number| {
            let before = number - 1;
            format!("{name}{number} := [{name}{before}, {name}{before}]")
        });
        let rules: Vec<String> = rules.collect();
        format!("{name}0 := [1]\n{}", rules.join("\n"))
    };
    format!(
        "package hostile\n{}\n{}\nviolation[{{\"msg\": \"m\"}}] {{\n  input.review.object.kind == \"ConfigMap\"\n  s45 == t45\n}}\n",
        of("s"),
        of("t")
    )
}

async fn apply_template(world: &Evaluator, kind: &str, rego: &str) -> Result<()> {
    let template = json!({
        "apiVersion": TEMPLATES, "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    });
    world.apply(&template.to_string()).await.map(drop)
}

/// Applies a template and a constraint of it for the `ConfigMap`s of the scenario.
async fn load(world: &Evaluator, kind: &str, rego: &str) -> Result<()> {
    eventually("the kind of templates is served", SOON, || {
        world.kind(TEMPLATES, "ConstraintTemplate")
    })
    .await?;
    apply_template(world, kind, rego).await?;
    eventually(format!("the kind {kind} is served"), SOON, || {
        world.kind(CONSTRAINTS, kind)
    })
    .await?;
    let constraint = json!({
        "apiVersion": CONSTRAINTS, "kind": kind, "metadata": {"name": "one"},
        "spec": {"match": {
            "kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}],
            "labelSelector": {"matchLabels": {"violates": "yes"}},
            "namespaces": [NAMESPACE],
        }},
    });
    world.apply(&constraint.to_string()).await.map(drop)
}

async fn violate(world: &Evaluator, name: &str) -> Result<()> {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"violates": "yes"}},
    });
    world.apply(&object.to_string()).await.map(drop)
}

async fn object(world: &Evaluator, api: &str, kind: &str, name: &str) -> Result<Object> {
    let object = world.get(api, kind, None, name).await?;
    object.with_context(|| format!("no {kind} {name}"))
}

async fn status_of(world: &Evaluator, api: &str, kind: &str, name: &str) -> Result<Value> {
    Ok(object(world, api, kind, name).await?.data["status"].clone())
}

async fn total_is(world: &Evaluator, kind: &str, total: usize) -> Result<()> {
    eventually(format!("{total} violations of {kind}"), SOON, || async {
        let status = status_of(world, CONSTRAINTS, kind, "one").await?;
        ensure!(
            status["totalViolations"] == json!(total),
            "the status is {status}"
        );
        Ok(())
    })
    .await
}

/// Waits until the status says whether the hostile template is quarantined. Returns the reason.
async fn quarantined(world: &Evaluator, is_quarantined: bool) -> Result<String> {
    eventually("the status of the template", SOON, || async {
        let template = object(world, TEMPLATES, "ConstraintTemplate", "hostile").await?;
        let status = &template.data["status"];
        let pod = &status["byPod"][0];
        let is_present = pod["observedGeneration"] == json!(template.metadata.generation);
        let error = &pod["errors"][0];
        ensure!(
            is_present
                && status["created"] == true
                && (error["code"] == "quarantined") == is_quarantined,
            "the status is {status}"
        );
        let reason: &Value = &error["message"];
        Ok(reason.as_str().unwrap_or_default().to_owned())
    })
    .await
}
