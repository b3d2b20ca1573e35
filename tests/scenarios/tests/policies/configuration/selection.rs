//! CFG-78: objects chosen by their labels.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, Subject, same, steadily, within};
use serde_json::{Value, json};

fn fake(namespace: &str, name: &str, labels: &str) -> String {
    format!(
        "apiVersion: config-policy-controller.io/v1
kind: FakeAPI
metadata: {{name: {name}, namespace: {namespace}, labels: {labels}}}
spec: {{name: '{name}'}}
"
    )
}

async fn fakes(world: &Evaluator, namespace: &str, count: usize) -> Result<()> {
    world.namespaces(&[namespace]).await?;
    for number in 1..=count {
        world
            .apply(&fake(
                namespace,
                &format!("fake-{number}"),
                "{case42: chosen}",
            ))
            .await?;
    }
    Ok(())
}

/// A policy for every object of a namespace that a selector, if any, chooses.
fn unnamed(namespace: &str, selector: &str) -> String {
    let selector = match selector {
        "" => String::new(),
        selector => format!("  objectSelector: {selector}\n"),
    };
    format!(
        "remediationAction: inform
namespaceSelector: {{include: [{namespace}]}}
object-templates:
- complianceType: musthave
{selector}  objectDefinition:
    apiVersion: config-policy-controller.io/v1
    kind: FakeAPI
"
    )
}

const NOTHING: &str = "No objects of kind FakeAPI were matched from the policy objectSelector";

pub(crate) async fn results(world: Arc<Evaluator>) -> Result<()> {
    fakes(&world, "case42-results", 5).await?;
    let all = "fakeapis [fake-1, fake-2, fake-3, fake-4, fake-5] found as specified in namespace case42-results";
    let policy = world.policy("case42-results");
    policy.apply(&unnamed("case42-results", "")).await?;
    let observed = policy.reports(all).await?;
    same("the compliance", observed.compliance(), "Compliant")?;
    for selector in [
        "{}",
        "{matchLabels: {}}",
        "{matchExpressions: []}",
        "{matchLabels: {}, matchExpressions: []}",
        "{matchExpressions: [{key: case42, operator: Exists}]}",
    ] {
        policy
            .apply(&unnamed(
                "case42-results",
                "{matchLabels: {selects: nothing}}",
            ))
            .await?;
        let observed = policy.reports(NOTHING).await?;
        same("the compliance", observed.compliance(), "Compliant")?;
        policy.apply(&unnamed("case42-results", selector)).await?;
        let observed = policy
            .reports(all)
            .await
            .with_context(|| selector.to_owned())?;
        same("the compliance", observed.compliance(), "Compliant")?;
    }
    Ok(())
}

pub(crate) async fn bad_selectors(world: Arc<Evaluator>) -> Result<()> {
    fakes(&world, "case42-bad", 1).await?;
    let policy = world.policy("case42-bad");
    for (selector, why) in [
        (
            "{matchExpressions: [{key: name, operator: Seriously}]}",
            "\"Seriously\" is not a valid label selector operator",
        ),
        (
            "{matchExpressions: [{key: name, operator: In, values: []}]}",
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
    ] {
        policy.apply(&unnamed("case42-bad", selector)).await?;
        let message = format!(
            "Error parsing provided objectSelector in the object-template at index [0]: {why}"
        );
        let observed = policy.reports(&message).await?;
        same("the reason", observed.reason(0), "objectSelector error")?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
    }
    Ok(())
}

/// A policy for `spec.name: wanted` of the objects with a label `case42`.
fn wanting(namespace: &str, remediation: &str, metadata: &str) -> String {
    format!(
        "remediationAction: {remediation}
namespaceSelector: {{include: [{namespace}]}}
object-templates:
- complianceType: musthave
  objectSelector: {{matchExpressions: [{{key: case42, operator: Exists}}]}}
  objectDefinition:
    apiVersion: config-policy-controller.io/v1
    kind: FakeAPI
    metadata: {metadata}
    spec: {{name: wanted}}
"
    )
}

async fn relabel(world: &Evaluator, namespace: &str, name: &str, label: Value) -> Result<()> {
    let patch = json!({ "metadata": { "labels": { "case42": label } } });
    let (api, kind) = ("config-policy-controller.io/v1", "FakeAPI");
    world.patch(api, kind, Some(namespace), name, patch).await?;
    Ok(())
}

async fn mismatched(policy: &Subject<'_>, names: &str) -> Result<()> {
    let message =
        format!("fakeapis [{names}] found but not as specified in namespace case42-behaviour");
    policy.reports(&message).await?;
    Ok(())
}

pub(crate) async fn behaviour(world: Arc<Evaluator>) -> Result<()> {
    let namespace = "case42-behaviour";
    fakes(&world, namespace, 2).await?;
    let policy = world.policy("case42-behaviour");
    policy.apply(&wanting(namespace, "inform", "{}")).await?;
    mismatched(&policy, "fake-1, fake-2").await?;
    world
        .apply(&fake(namespace, "fake-3", "{case42: chosen}"))
        .await?;
    mismatched(&policy, "fake-1, fake-2, fake-3").await?;
    world
        .apply(&fake(namespace, "fake-4", "{other: label}"))
        .await?;
    policy
        .stays("fake-4 is not chosen", |observed| {
            !observed.message(0).contains("fake-4")
        })
        .await?;
    relabel(&world, namespace, "fake-4", json!("chosen")).await?;
    mismatched(&policy, "fake-1, fake-2, fake-3, fake-4").await?;
    relabel(&world, namespace, "fake-3", Value::Null).await?;
    mismatched(&policy, "fake-1, fake-2, fake-4").await?;

    policy.apply(&wanting(namespace, "enforce", "{}")).await?;
    policy
        .reports(
            "fakeapis [fake-1, fake-2, fake-4] found as specified in namespace case42-behaviour",
        )
        .await?;
    let left = world
        .get(
            "config-policy-controller.io/v1",
            "FakeAPI",
            Some(namespace),
            "fake-3",
        )
        .await?;
    same(
        "the one that is not chosen",
        left.context("absent")?.data["spec"]["name"].clone(),
        json!("fake-3"),
    )?;

    // A name is a choice already.
    policy
        .apply(&wanting(namespace, "enforce", "{name: fake-3}"))
        .await?;
    policy
        .reports("fakeapis [fake-3] found as specified in namespace case42-behaviour")
        .await?;
    Ok(())
}

pub(crate) async fn evaluations(world: Arc<Evaluator>) -> Result<()> {
    let namespace = "case42-evaluations";
    fakes(&world, namespace, 1).await?;
    let policy = world.policy("case42-evaluations");
    policy.apply(&wanting(namespace, "inform", "{}")).await?;
    policy.is("NonCompliant").await?;
    let settled = world.settled(policy.name()).await?;
    let evaluated = policy.observed().await?.evaluated().to_owned();
    steadily("it watches and does nothing", || async {
        same(
            "the evaluations",
            world.evaluations(policy.name()).await?,
            settled,
        )?;
        same(
            "the time of the last",
            policy.observed().await?.evaluated(),
            evaluated.as_str(),
        )
    })
    .await?;

    policy.patch(json!({ "spec": { "evaluationInterval": { "compliant": "5s", "noncompliant": "5s" } } })).await?;
    let mut last = policy.is("NonCompliant").await?;
    for _ in 0..2 {
        last = within("it is evaluated again", || async {
            let observed = policy.observed().await?;
            ensure!(
                observed.evaluated() > last.evaluated(),
                "last at {}",
                observed.evaluated()
            );
            Ok(observed)
        })
        .await?;
        same(
            "the message",
            last.message(0),
            "fakeapis [fake-1] found but not as specified in namespace case42-evaluations",
        )?;
    }
    Ok(())
}

fn config_map(name: &str, labels: &str, data: &str) -> String {
    format!(
        "apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: case42-not, labels: {labels}}}
data: {data}
"
    )
}

pub(crate) async fn must_not_have(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case42-not"]).await?;
    for (name, labels, data) in [
        ("match-1", "{case42: chosen}", "{bad: 'yes', more: x}"),
        ("match-2", "{case42: chosen}", "{bad: 'yes'}"),
        ("other-data", "{case42: chosen}", "{bad: 'no'}"),
        ("other-label", "{}", "{bad: 'yes'}"),
    ] {
        world.apply(&config_map(name, labels, data)).await?;
    }
    let policy = world.policy("case42-not");
    policy
        .apply(
            "
remediationAction: inform
namespaceSelector: {include: [case42-not]}
object-templates:
- complianceType: mustnothave
  objectSelector: {matchLabels: {case42: chosen}}
  objectDefinition: {apiVersion: v1, kind: ConfigMap, data: {bad: 'yes'}}
",
        )
        .await?;
    let observed = policy
        .reports("configmaps [match-1, match-2] found in namespace case42-not")
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    for (name, left) in [
        ("match-1", false),
        ("match-2", false),
        ("other-data", true),
        ("other-label", true),
    ] {
        let found = world
            .get("v1", "ConfigMap", Some("case42-not"), name)
            .await?
            .is_some();
        same(name, found, left)?;
    }
    let observed = policy
        .reports("configmaps missing as expected in namespace case42-not")
        .await?;
    same("the compliance", observed.compliance(), "Compliant")?;
    policy.stays_with("Compliant").await
}

/// Everything that a must-not-have chooses and that does not match in full is named, in order.
pub(crate) async fn must_not_have_names_all(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["rough-4"]).await?;
    for name in ["c", "a", "b"] {
        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: rough-4, \
             labels: {{rough4: chosen}}}}, data: {{bad: 'no'}}}}"
        );
        world.apply(&map).await?;
    }
    let policy = world.policy("rough-edge-4-all");
    policy
        .apply(
            "
remediationAction: inform
namespaceSelector: {include: [rough-4]}
object-templates:
- complianceType: mustnothave
  objectSelector: {matchLabels: {rough4: chosen}}
  objectDefinition: {apiVersion: v1, kind: ConfigMap, data: {bad: 'yes'}}
",
        )
        .await?;
    let observed = policy
        .reports("configmaps missing as expected in namespace rough-4")
        .await?;
    same("the compliance", observed.compliance(), "Compliant")?;
    let want = ["a", "b", "c"].map(|name| format!("ConfigMap rough-4/{name}"));
    same(
        "the related objects",
        observed.related_objects(),
        want.to_vec(),
    )?;

    // A kind without namespaces is not "in namespace" nothing.
    world.apply("{apiVersion: v1, kind: Namespace, metadata: {name: rough-4, labels: {rough4: chosen}}}").await?;
    let policy = world.policy("rough-edge-4-cluster");
    policy
        .apply(
            "
remediationAction: inform
object-templates:
- complianceType: mustnothave
  objectSelector: {matchLabels: {rough4: chosen}}
  objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {annotations: {never: here}}}
",
        )
        .await?;
    policy.reports("namespaces missing as expected").await?;
    Ok(())
}
