//! CFG-83: templates that speak of the object at hand.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, indent, same};
use serde_json::{Value, json};

async fn maps(world: &Evaluator, namespace: &str, names: &[&str]) -> Result<()> {
    world.namespaces(&[namespace]).await?;
    for name in names {
        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}, \
             labels: {{case44: ''}}}}, data: {{own: {name}}}}}"
        );
        world.apply(&map).await?;
    }
    Ok(())
}

async fn labels(world: &Evaluator, namespace: &str, name: &str) -> Result<Value> {
    let map = world
        .get("v1", "ConfigMap", Some(namespace), name)
        .await?
        .context("no ConfigMap")?;
    Ok(serde_json::to_value(map.metadata.labels)?)
}

/// A policy for `ConfigMaps` of namespaces, chosen by their label `case44` unless `select` is false.
fn policy(namespaces: &str, select: bool, metadata: &str) -> String {
    let selector = if select {
        "  objectSelector: {matchExpressions: [{key: case44, operator: Exists}]}\n"
    } else {
        ""
    };
    let metadata = indent(metadata, 6);
    format!(
        "remediationAction: enforce
namespaceSelector: {{include: [{namespaces}]}}
object-templates:
- complianceType: musthave
{selector}  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata:
{metadata}"
    )
}

pub(crate) async fn namespace_variable(world: Arc<Evaluator>) -> Result<()> {
    maps(&world, "case44-ns-1", &["map"]).await?;
    maps(&world, "case44-ns-2", &["map"]).await?;
    let subject = world.policy("case44-namespaces");
    let metadata = "name: map
namespace: '{{ .ObjectNamespace }}'
labels: {case44: passed, namespace: '{{ .ObjectNamespace }}'}
";
    subject
        .apply(&policy("'case44-ns-*'", false, metadata))
        .await?;
    let observed = subject
        .until("both are found as specified", |observed| {
            observed.message(0)
                == "configmaps [map] found as specified in namespaces: case44-ns-1, case44-ns-2"
        })
        .await?;
    let want = ["case44-ns-1", "case44-ns-2"].map(|namespace| format!("ConfigMap {namespace}/map"));
    same(
        "the related objects",
        observed.related_objects(),
        want.to_vec(),
    )?;
    for namespace in ["case44-ns-1", "case44-ns-2"] {
        let want = json!({ "case44": "passed", "namespace": namespace });
        same("the labels", labels(&world, namespace, "map").await?, want)?;
    }

    let wrong = world.policy("case44-wrong-namespace");
    let metadata = "{name: map, namespace: '{{ .ObjectNamespace }}-not'}";
    wrong
        .apply(&policy("'case44-ns-*'", false, metadata))
        .await?;
    let message = "The object definition's namespace must match the result from the namespace selector \
                   after template resolution";
    let observed = wrong.reports(message).await?;
    same("the compliance", observed.compliance(), "NonCompliant")
}

pub(crate) async fn name_variable(world: Arc<Evaluator>) -> Result<()> {
    maps(&world, "case44-name", &["map-1", "map-2", "map-3"]).await?;
    let subject = world.policy("case44-names");
    let metadata =
        "name: '{{ if eq .ObjectName \"map-1\" }}{{ skipObject }}{{ end }}{{ .ObjectName }}'
namespace: '{{ .ObjectNamespace }}'
labels: {case44: passed, name: '{{ .ObjectName }}', namespace: '{{ .ObjectNamespace }}'}
";
    subject
        .apply(&policy("case44-name", true, metadata))
        .await?;
    let observed = subject
        .reports("configmaps [map-2, map-3] found as specified in namespace case44-name")
        .await?;
    let want = ["map-2", "map-3"].map(|name| format!("ConfigMap case44-name/{name}"));
    same(
        "the related objects",
        observed.related_objects(),
        want.to_vec(),
    )?;
    same(
        "the skipped one",
        labels(&world, "case44-name", "map-1").await?,
        json!({ "case44": "" }),
    )?;
    for name in ["map-2", "map-3"] {
        let want = json!({ "case44": "passed", "name": name, "namespace": "case44-name" });
        same(
            "the labels",
            labels(&world, "case44-name", name).await?,
            want,
        )?;
    }

    let wrong = world.policy("case44-wrong-name");
    let metadata = "{name: '{{ .ObjectName }}-not', namespace: '{{ .ObjectNamespace }}'}";
    wrong.apply(&policy("case44-name", true, metadata)).await?;
    let message = "The object definition's name must match the result from the object selector after template resolution";
    let observed = wrong.reports(message).await?;
    same("the compliance", observed.compliance(), "NonCompliant")
}

pub(crate) async fn name_left_open(world: Arc<Evaluator>) -> Result<()> {
    for (key, skip) in [
        (
            "if",
            "{{ if ne .ObjectName \"map-3\" }}{{ skipObject }}{{ end }}{{ .ObjectName }}",
        ),
        (
            "argument",
            "{{ skipObject (ne .ObjectName \"map-3\") }}{{ .ObjectName }}",
        ),
    ] {
        let namespace = format!("case44-open-{key}");
        maps(&world, &namespace, &["map-1", "map-2", "map-3"]).await?;
        let subject = world.policy(&format!("case44-open-{key}"));
        let metadata = format!(
            "labels: {{case44: passed, name: '{skip}', namespace: '{{{{ .ObjectNamespace }}}}'}}"
        );
        subject.apply(&policy(&namespace, true, &metadata)).await?;
        let message = format!("configmaps [map-3] found as specified in namespace {namespace}");
        let observed = subject.reports(&message).await?;
        same(
            "the related objects",
            observed.related_objects(),
            vec![format!("ConfigMap {namespace}/map-3")],
        )?;
        let want = json!({ "case44": "passed", "name": "map-3", "namespace": namespace });
        same(
            "the labels",
            labels(&world, &namespace, "map-3").await?,
            want,
        )?;
    }
    Ok(())
}

pub(crate) async fn errors(world: Arc<Evaluator>) -> Result<()> {
    maps(&world, "case44-errors", &["map"]).await?;
    for (name, select, label, ends) in [
        (
            "many",
            true,
            "{{ skipObject true false true }}",
            "error calling skipObject: expected one optional boolean argument but received 3 arguments",
        ),
        (
            "text",
            true,
            "{{ skipObject \"not a boolean\" }}",
            "error calling skipObject: expected boolean but received 'not a boolean'",
        ),
        (
            "no-selector",
            false,
            "{{ .ObjectName }}",
            "at <.ObjectName>: can't evaluate field ObjectName in type struct { ObjectNamespace string }",
        ),
    ] {
        let subject = world.policy(&format!("case44-error-{name}"));
        subject
            .apply(&policy(
                "case44-errors",
                select,
                &format!("labels: {{a: '{label}'}}"),
            ))
            .await?;
        let observed = subject.is("NonCompliant").await?;
        ensure!(
            observed.message(0).ends_with(ends),
            "the status is {}",
            observed.message(0)
        );
        same(
            "the reason",
            observed.reason(0),
            "Error processing template",
        )?;
    }
    let nowhere = world.policy("case44-error-nowhere");
    nowhere
        .apply(
            "
remediationAction: enforce
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: '{{ .ObjectName }}'
      namespace: '{{ \"case44-errors\" }}'
",
        )
        .await?;
    let observed = nowhere.is("NonCompliant").await?;
    let ends = "tmpl:4:12: executing \"tmpl\" at <.ObjectName>: can't evaluate field ObjectName in type struct {}";
    ensure!(
        observed.message(0).ends_with(ends),
        "the status is {}",
        observed.message(0)
    );
    Ok(())
}

pub(crate) async fn all_skipped(world: Arc<Evaluator>) -> Result<()> {
    maps(&world, "case44-skipped", &["map-1", "map-2"]).await?;
    let subject = world.policy("case44-skipped");
    subject
        .apply(&policy(
            "case44-skipped",
            true,
            "labels: {a: '{{ skipObject }}'}",
        ))
        .await?;
    let observed = subject
        .reports("All objects of kind ConfigMap were skipped by the `skipObject` template function")
        .await?;
    same("the compliance", observed.compliance(), "Compliant")?;

    let unknown = world.policy("case44-unknown-kind");
    unknown
        .apply(
            "
remediationAction: enforce
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: example.com/v1
    kind: Unheard
    metadata: {name: '{{ skipObject }}', namespace: case44-skipped}
",
        )
        .await?;
    let observed = unknown
        .reports("All objects of kind Unheard were skipped by the `skipObject` template function")
        .await?;
    same("the compliance", observed.compliance(), "Compliant")?;
    same(
        "the related objects",
        observed.related_objects(),
        Vec::<String>::new(),
    )
}

/// `.Object`, read by watching or by asking, chosen by name or by label.
pub(crate) async fn object_variable(world: Arc<Evaluator>) -> Result<()> {
    for (interval, proxy) in [
        ("", "watch"),
        (
            "evaluationInterval: {compliant: 5s, noncompliant: 5s}\n",
            "poll",
        ),
    ] {
        for select in [true, false] {
            let namespace = format!(
                "case44-object-{proxy}-{}",
                if select { "select" } else { "name" }
            );
            let names: &[&str] = if select {
                &["map-1", "map-2"]
            } else {
                &["map-1"]
            };
            maps(&world, &namespace, names).await?;
            let metadata = format!(
                "{}labels: {{own: '{{{{ .Object.data.own }}}}', again: '{{{{ .Object.metadata.name }}}}'}}",
                if select { "" } else { "name: map-1\n" },
            );
            let subject = world.policy(&namespace);
            let text = format!("{}{interval}", policy(&namespace, select, &metadata));
            subject
                .apply(&text.replace("remediationAction: enforce", "remediationAction: inform"))
                .await?;
            subject.is("NonCompliant").await?;
            subject.remediate("enforce").await?;
            let observed = subject.is("Compliant").await?;
            let want: Vec<String> = names
                .iter()
                .map(|name| format!("ConfigMap {namespace}/{name}"))
                .collect();
            same("the related objects", observed.related_objects(), want)?;
            for name in names {
                let want = json!({ "case44": "", "own": name, "again": name });
                same("the labels", labels(&world, &namespace, name).await?, want)?;
            }
        }
    }
    Ok(())
}
