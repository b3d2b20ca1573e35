//! CFG-120: labels and annotations.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, same, spec, within};
use serde_json::{Value, json};

fn pod(metadata: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: pod, namespace: case9{metadata}}}
spec:
  containers: [{{name: nginx, image: nginx}}]
"
    )
}

pub(crate) async fn annotations_and_labels(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case9"]).await?;
    world.apply(&pod(", annotations: {mine: kept}")).await?;
    let policy = world.policy("case9-pod");
    let apply = |action: &'static str, metadata: &'static str| {
        let policy = &policy;
        async move {
            policy
                .apply(&spec(action, &[("musthave", &pod(metadata))]))
                .await
        }
    };
    apply("inform", ", annotations: {wanted: here}").await?;
    policy.is("NonCompliant").await?;
    apply("inform", "").await?;
    policy.is("Compliant").await?;
    apply("enforce", ", labels: {test: test}").await?;
    policy.is("Compliant").await?;
    let live = world
        .get("v1", "Pod", Some("case9"), "pod")
        .await?
        .context("no Pod")?;
    let labels = live.metadata.labels.unwrap_or_default();
    same(
        "the label",
        labels.get("test").map(String::as_str),
        Some("test"),
    )?;
    apply("inform", ", labels: {test: test}").await?;
    policy.is("Compliant").await?;
    // kubectl's own record is no wish.
    apply(
        "inform",
        ", annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}",
    )
    .await?;
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn of_a_namespace(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case9-namespace");
    policy
        .apply(
            "
remediationAction: enforce
object-templates:
- complianceType: musthave
  metadataComplianceType: mustonlyhave
  objectDefinition:
    apiVersion: v1
    kind: Namespace
    metadata:
      name: case9-namespace
      annotations: {openshift.io/sa.scc.policy: wanted, other: wanted}
",
        )
        .await?;
    policy.is("Compliant").await?;
    let annotate = json!({ "metadata": { "annotations": {
        "openshift.io/sa.scc.test": "kept", "openshift.io/sa.scc.policy": "changed",
        "other": "changed", "more": "removed"
    } } });
    world
        .patch("v1", "Namespace", None, "case9-namespace", annotate)
        .await?;
    let want = json!({
        "openshift.io/sa.scc.test": "kept", "openshift.io/sa.scc.policy": "wanted", "other": "wanted"
    });
    within("the annotations are restored", || async {
        let live = world
            .get("v1", "Namespace", None, "case9-namespace")
            .await?
            .context("absent")?;
        let annotations: Value = serde_json::to_value(live.metadata.annotations)?;
        ensure!(annotations == want, "they are {annotations}");
        Ok(())
    })
    .await?;
    policy.is("Compliant").await?;
    Ok(())
}

fn own(compliance_type: &str, of_metadata: &str, metadata: &str) -> String {
    format!(
        "remediationAction: inform
object-templates:
- complianceType: {compliance_type}
  metadataComplianceType: {of_metadata}
  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata: {{name: own, namespace: case9-own{metadata}}}
    data: {{a: x}}
"
    )
}

pub(crate) async fn own_type(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case9-own"]).await?;
    world
        .apply(
            "apiVersion: v1
kind: ConfigMap
metadata:
  name: own
  namespace: case9-own
  labels: {one: '1', two: '2'}
  annotations: {three: '3', four: '4'}
data: {a: x}
",
        )
        .await?;
    let subset = ", labels: {one: '1'}, annotations: {three: '3'}";
    let policy = world.policy("case9-own");
    // What the policy does not speak of is nobody's business.
    policy
        .apply(&own("mustonlyhave", "mustonlyhave", ""))
        .await?;
    policy.is("Compliant").await?;
    policy
        .apply(&own("mustonlyhave", "musthave", subset))
        .await?;
    policy.is("Compliant").await?;
    policy
        .apply(&own("musthave", "mustonlyhave", subset))
        .await?;
    policy.is("NonCompliant").await?;
    Ok(())
}
