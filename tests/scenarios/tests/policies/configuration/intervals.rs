//! CFG-38: how often a policy is evaluated. Intervals without a meaning.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Evaluator, ObservedStatus, same, steadily, within};
use serde_json::json;

fn policy(interval: &str, remediation: &str, compliance_type: &str, name: &str) -> String {
    format!(
        "remediationAction: {remediation}
evaluationInterval: {interval}
object-templates:
- complianceType: {compliance_type}
  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata: {{name: {name}, namespace: case17}}
    data: {{a: x}}
"
    )
}

async fn evaluated_after(
    policy: &reeve_scenarios::Subject<'_>,
    earlier: &ObservedStatus,
) -> Result<ObservedStatus> {
    within("it is evaluated again", || async {
        let observed = policy.observed().await?;
        ensure!(
            observed.evaluated() > earlier.evaluated(),
            "last at {}",
            observed.evaluated()
        );
        Ok(observed)
    })
    .await
}

pub(crate) async fn duration(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case17"]).await?;
    let under_test = world.policy("case17-duration");
    let interval = "{compliant: 3s, noncompliant: 3s}";
    under_test
        .apply(&policy(interval, "inform", "mustnothave", "duration"))
        .await?;
    let first = under_test.is("Compliant").await?;
    let generation = under_test.read().await?.metadata.generation;
    let second = evaluated_after(&under_test, &first).await?;
    let third = evaluated_after(&under_test, &second).await?;

    same(
        "the generation",
        under_test.read().await?.metadata.generation,
        generation,
    )?;
    same("the history", third.history().len(), 1)?;
    same(
        "the history",
        third.0["history"].clone(),
        first.0["history"].clone(),
    )?;
    let events = under_test.parent_events().await?;
    let counts: Vec<Option<i32>> = events.iter().map(|event| event.count).collect();
    same("the counts of the parent's events", counts, vec![Some(1)])?;
    same(
        "the policy's events",
        under_test.own_messages().await?.len(),
        1,
    )
}

pub(crate) async fn never(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case17"]).await?;
    let under_test = world.policy("case17-never");
    under_test
        .apply(&policy(
            "{compliant: never}",
            "enforce",
            "musthave",
            "never",
        ))
        .await?;
    let message = "configmaps [never] was created successfully in namespace case17. This policy will \
                   not be evaluated again due to spec.evaluationInterval.compliant being set to \"never\".";
    let observed = under_test.reports(message).await?;
    // Not even when what it looks at changes.
    let edit = json!({ "data": { "a": "edited" } });
    world
        .patch("v1", "ConfigMap", Some("case17"), "never", edit)
        .await?;
    under_test
        .stays("evaluated once", |now| {
            now.evaluated() == observed.evaluated()
        })
        .await
}

pub(crate) async fn never_while_non_compliant(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case17"]).await?;
    let under_test = world.policy("case17-never-bad");
    under_test
        .apply(&policy(
            "{noncompliant: never}",
            "inform",
            "musthave",
            "never-bad",
        ))
        .await?;
    let message = "configmaps [never-bad] not found in namespace case17. This policy will not be \
                   evaluated again due to spec.evaluationInterval.noncompliant being set to \"never\".";
    let observed = under_test.reports(message).await?;
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: never-bad, namespace: case17}, data: {a: x}}";
    world.apply(map).await?;
    under_test
        .stays("evaluated once", |now| {
            now.evaluated() == observed.evaluated()
        })
        .await?;
    // A change of the policy is another matter.
    under_test.remediate("enforce").await?;
    under_test.is("Compliant").await?;
    Ok(())
}

/// The run that turns it Compliant polls; from then on it watches, and no drift is missed.
pub(crate) async fn from_polling_to_watching(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case17"]).await?;
    let under_test = world.policy("rough-edge-1-polling");
    under_test
        .apply(&policy(
            "{noncompliant: 3s}",
            "inform",
            "musthave",
            "polling",
        ))
        .await?;
    under_test.is("NonCompliant").await?;
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: polling, namespace: case17}, data: {a: x}}";
    world.apply(map).await?;
    under_test.is("Compliant").await?;
    let edit = json!({ "data": { "a": "drifted" } });
    world
        .patch("v1", "ConfigMap", Some("case17"), "polling", edit)
        .await?;
    under_test.is("NonCompliant").await?;
    Ok(())
}

/// A nonsense interval is as good as ten seconds, and zero as good as the evaluation backoff: neither
/// stops a policy, and neither makes it spin.
pub(crate) async fn nonsense(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case17"]).await?;
    for (name, interval) in [("nonsense", "neverwatch"), ("zero", "0s")] {
        let under_test = world.policy(&format!("rough-edge-35-{name}"));
        let interval = format!("{{compliant: {interval}, noncompliant: {interval}}}");
        under_test
            .apply(&policy(&interval, "inform", "mustnothave", name))
            .await?;
        under_test.is("Compliant").await?;
        let first = world.evaluations(under_test.name()).await?;
        within("it is evaluated again", || async {
            let more = world.evaluations(under_test.name()).await? - first;
            ensure!(more >= 1.0, "it was evaluated {more} times more");
            Ok(())
        })
        .await?;
        let before = world.evaluations(under_test.name()).await?;
        let start = std::time::Instant::now();
        steadily(format!("{name} does not spin"), || async {
            let more = world.evaluations(under_test.name()).await? - before;
            ensure!(
                more <= 5.0,
                "it was evaluated {more} times within {:?}",
                start.elapsed()
            );
            Ok(())
        })
        .await?;
        same(
            "the history",
            under_test.observed().await?.history().len(),
            1,
        )?;
    }
    Ok(())
}
