//! One object in every namespace of a kind.

use std::sync::Arc;

use anyhow::{Context, Result};
use reeve_scenarios::{Evaluator, Related, Subject, same, steadily, within};
use serde_json::{Value, json};

const LIMITS: &str = "spec: {limits: [{type: Container, default: {memory: 512Mi}, defaultRequest: {memory: 256Mi}}]}";

fn limit_range(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: v1
kind: LimitRange
metadata: {{name: {name}, namespace: {namespace}}}
{LIMITS}
"
    )
}

fn limits(remediation: &str, namespaces: &str, metadata: &str) -> String {
    format!(
        "remediationAction: {remediation}
namespaceSelector: {{include: ['{namespaces}']}}
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: LimitRange
{metadata}    {LIMITS}
"
    )
}

fn objects(related: &[Related]) -> Vec<String> {
    related
        .iter()
        .map(|related| format!("{} {}", related.object, related.compliant))
        .collect()
}

async fn relates(policy: &Subject<'_>, want: &[&str]) -> Result<()> {
    policy
        .until(&format!("relates {want:?}"), |observed| {
            objects(&observed.related()) == want
        })
        .await?;
    Ok(())
}

async fn both_are(policies: &[&Subject<'_>], compliance: &str) -> Result<()> {
    for policy in policies {
        policy.is(compliance).await?;
    }
    Ok(())
}

/// A policy that names its object and one that does not, in `case14-range*`.
pub(crate) async fn named_and_unnamed(world: Arc<Evaluator>) -> Result<()> {
    world
        .namespaces(&["case14-range1", "case14-range2"])
        .await?;
    world.apply(&limit_range("case14-range1", "limits")).await?;
    let (named, unnamed) = (world.policy("case14-named"), world.policy("case14-unnamed"));
    let metadata = "    metadata: {name: limits}\n";
    named
        .apply(&limits("inform", "case14-range*", metadata))
        .await?;
    unnamed
        .apply(&limits("inform", "case14-range*", ""))
        .await?;
    both_are(&[&named, &unnamed], "NonCompliant").await?;
    world.apply(&limit_range("case14-range2", "limits")).await?;
    both_are(&[&named, &unnamed], "Compliant").await?;

    world.namespaces(&["case14-range3"]).await?;
    both_are(&[&named, &unnamed], "NonCompliant").await?;
    let there = [
        "LimitRange case14-range1/limits Compliant",
        "LimitRange case14-range2/limits Compliant",
    ];
    relates(
        &named,
        &[
            there[0],
            there[1],
            "LimitRange case14-range3/limits NonCompliant",
        ],
    )
    .await?;
    relates(
        &unnamed,
        &[
            there[0],
            there[1],
            "LimitRange case14-range3/- NonCompliant",
        ],
    )
    .await?;

    // The one that names it makes it, which is what the other one looks for too.
    named.remediate("enforce").await?;
    unnamed.remediate("enforce").await?;
    both_are(&[&named, &unnamed], "Compliant").await?;
    let third = "LimitRange case14-range3/limits Compliant";
    for (policy, metadata) in [(&named, metadata), (&unnamed, "")] {
        policy
            .apply(&limits("enforce", "case14-range[2-3]", metadata))
            .await?;
        relates(policy, &[there[1], third]).await?;
        policy
            .apply(&limits("enforce", "case14-range*", metadata))
            .await?;
        relates(policy, &[there[0], there[1], third]).await?;
    }
    world
        .delete("{apiVersion: v1, kind: Namespace, metadata: {name: case14-range3}}")
        .await?;
    for policy in [&named, &unnamed] {
        relates(policy, &there).await?;
        policy.is("Compliant").await?;
    }
    Ok(())
}

fn config_map(selector: &str, interval: &str) -> String {
    format!(
        "remediationAction: inform
evaluationInterval: {{compliant: {interval}, noncompliant: {interval}}}
namespaceSelector: {selector}
object-templates:
- complianceType: musthave
  objectDefinition: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: case19}}}}
"
    )
}

const NO_NAMESPACE: &str = "namespaced object case19 of kind ConfigMap has no namespace specified from the \
                            policy namespaceSelector nor the object metadata";

pub(crate) async fn no_selector(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case19-empty");
    policy.apply(&config_map("{}", "watch")).await?;
    let observed = policy.reports(NO_NAMESPACE).await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    let settled = world.settled(policy.name()).await?;
    world.namespaces(&["case19-unrelated"]).await?;
    steadily("a namespace is no reason to look", || async {
        same(
            "the message",
            policy.observed().await?.message(0),
            NO_NAMESPACE,
        )?;
        same(
            "the evaluations",
            world.evaluations(policy.name()).await?,
            settled,
        )
    })
    .await
}

async fn labelled(world: &Evaluator, name: &str, labels: Value) -> Result<()> {
    world.namespaces(&[name]).await?;
    world
        .patch(
            "v1",
            "Namespace",
            None,
            name,
            json!({ "metadata": { "labels": labels } }),
        )
        .await?;
    Ok(())
}

pub(crate) async fn results(world: Arc<Evaluator>) -> Result<()> {
    for number in 1..=5 {
        let name = format!("case19-table-{number}");
        labelled(&world, &name, json!({ "name19": name, "case19-table": "" })).await?;
    }
    let missing = |numbers: &[u8]| {
        let names: Vec<String> = numbers
            .iter()
            .map(|number| format!("case19-table-{number}"))
            .collect();
        format!(
            "configmaps [case19] not found in namespaces: {}",
            names.join(", ")
        )
    };
    let all = missing(&[1, 2, 3, 4, 5]);
    let failed =
        |why: &str| format!("Error filtering namespaces with provided namespaceSelector: {why}");
    let table = [
        ("{include: ['case19-table-*']}", all.clone()),
        (
            "{exclude: ['*-[3-4]'], matchExpressions: [{key: name19, operator: In, values: \
             [case19-table-1, case19-table-2, case19-table-3]}]}",
            missing(&[1, 2]),
        ),
        (
            "{exclude: ['*-[3-5]'], include: ['case19-table-*']}",
            missing(&[1, 2]),
        ),
        (
            "{matchLabels: {name19: not-a-namespace}}",
            NO_NAMESPACE.to_owned(),
        ),
        ("{exclude: ['case19-table-[3-5]']}", NO_NAMESPACE.to_owned()),
        (
            "{matchLabels: {}, include: ['case19-table-*']}",
            all.clone(),
        ),
        (
            "{matchExpressions: [], include: ['case19-table-*'], exclude: ['*-[^x]']}",
            NO_NAMESPACE.to_owned(),
        ),
        (
            "{matchLabels: {}, matchExpressions: [], include: ['case19-table-[^3-5]']}",
            missing(&[1, 2]),
        ),
        (
            "{matchExpressions: [{key: case19-table, operator: Exists}]}",
            all,
        ),
        (
            "{include: ['*-[a-z-*']}",
            failed("error parsing 'include' pattern '*-[a-z-*': syntax error in pattern"),
        ),
        (
            "{include: ['*'], exclude: ['*-[a-z-*']}",
            failed("error parsing 'exclude' pattern '*-[a-z-*': syntax error in pattern"),
        ),
        (
            "{matchExpressions: [{key: name19, operator: Seriously}]}",
            failed(
                "error parsing namespace LabelSelector: \"Seriously\" is not a valid label selector operator",
            ),
        ),
        (
            "{matchExpressions: [{key: name19, operator: In, values: []}]}",
            failed(
                "error parsing namespace LabelSelector: values: Invalid value: null: for 'in', 'notin' \
                 operators, values set can't be empty",
            ),
        ),
    ];
    let policy = world.policy("case19-table");
    for (selector, message) in table {
        policy.apply(&config_map(selector, "watch")).await?;
        let observed = policy
            .reports(&message)
            .await
            .with_context(|| selector.to_owned())?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
    }
    Ok(())
}

/// Waits until it is evaluated for the next time, and then not again.
async fn evaluated_once_more(world: &Evaluator, policy: &Subject<'_>, before: f64) -> Result<f64> {
    within("it is evaluated", || async {
        anyhow::ensure!(world.evaluations(policy.name()).await? > before, "not yet");
        Ok(())
    })
    .await?;
    world.settled(policy.name()).await
}

async fn not_evaluated(world: &Evaluator, policy: &Subject<'_>, settled: f64) -> Result<()> {
    steadily("it is not evaluated", || async {
        same(
            "the evaluations",
            world.evaluations(policy.name()).await?,
            settled,
        )
    })
    .await
}

/// What happens to namespaces matters at once even to a policy that looks every two hours; what does
/// not change its selection does not matter.
pub(crate) async fn behaviour(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case19-behaviour");
    let selector =
        "{matchExpressions: [{key: case19-behaviour, operator: Exists}], exclude: ['kube-*']}";
    labelled(&world, "case19-b1", json!({ "case19-behaviour": "" })).await?;
    labelled(&world, "case19-b2", json!({ "case19-behaviour": "" })).await?;
    policy.apply(&config_map(selector, "2h")).await?;
    let missing = |names: &str| format!("configmaps [case19] not found in namespaces: {names}");
    policy.reports(&missing("case19-b1, case19-b2")).await?;

    labelled(&world, "case19-b3", json!({ "case19-behaviour": "" })).await?;
    policy
        .reports(&missing("case19-b1, case19-b2, case19-b3"))
        .await?;
    let settled = world.settled(policy.name()).await?;
    world.namespaces(&["case19-b4"]).await?;
    not_evaluated(&world, &policy, settled).await?;
    labelled(&world, "case19-b4", json!({ "case19-behaviour": "" })).await?;
    policy
        .reports(&missing("case19-b1, case19-b2, case19-b3, case19-b4"))
        .await?;
    labelled(&world, "case19-b3", json!({ "case19-behaviour": null })).await?;
    policy
        .reports(&missing("case19-b1, case19-b2, case19-b4"))
        .await?;

    let settled = world.settled(policy.name()).await?;
    labelled(&world, "kube-case19", json!({ "case19-behaviour": "" })).await?;
    labelled(&world, "case19-b1", json!({ "something-else": "x" })).await?;
    not_evaluated(&world, &policy, settled).await?;

    // Without a selector, and with one that nobody can read: looked at once each.
    let settled = world.settled(policy.name()).await?;
    policy.apply(&config_map("{}", "2h")).await?;
    policy.reports(NO_NAMESPACE).await?;
    let after = evaluated_once_more(&world, &policy, settled).await?;
    same("the evaluations", after, settled + 1.0)?;
    policy
        .apply(&config_map(
            "{matchExpressions: [{key: a, operator: Seriously}]}",
            "2h",
        ))
        .await?;
    policy
        .mentions(&["\"Seriously\" is not a valid label selector operator"])
        .await?;
    let last = evaluated_once_more(&world, &policy, after).await?;
    same("the evaluations", last, after + 1.0)
}

/// A namespace that starts to go is out of a selection that does not want such.
pub(crate) async fn terminating(world: Arc<Evaluator>) -> Result<()> {
    for name in ["rough-33-a", "rough-33-b"] {
        world.namespaces(&[name]).await?;
    }
    let anchor = "apiVersion: v1
kind: ConfigMap
metadata: {name: anchor, namespace: rough-33-b, finalizers: [example.com/hold]}
";
    world.apply(anchor).await?;
    let policy = world.policy("rough-edge-33-never");
    policy
        .apply(&config_map(
            "{include: ['rough-33-*'], terminatingInclusion: Never}",
            "watch",
        ))
        .await?;
    policy
        .reports("configmaps [case19] not found in namespaces: rough-33-a, rough-33-b")
        .await?;
    world
        .delete("{apiVersion: v1, kind: Namespace, metadata: {name: rough-33-b}}")
        .await?;
    policy
        .reports("configmaps [case19] not found in namespace rough-33-a")
        .await?;
    let release = json!({ "metadata": { "finalizers": null } });
    world
        .patch("v1", "ConfigMap", Some("rough-33-b"), "anchor", release)
        .await?;
    Ok(())
}
