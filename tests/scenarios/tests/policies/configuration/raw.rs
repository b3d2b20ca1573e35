//! CFG-71: object templates that a template makes.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, indent, same, steadily};
use serde_json::json;

fn raw(remediation: &str, text: &str) -> String {
    format!(
        "remediationAction: {remediation}\nobject-templates-raw: |\n{}",
        indent(text, 2)
    )
}

const RANGE: &str = r#"
{{- range (lookup "v1" "ConfigMap" "case30" "" "case30=chosen").items }}
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ .metadata.name }}
      namespace: case30
    data: {extra: added}
{{- end }}
"#;

pub(crate) async fn range(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case30"]).await?;
    for name in ["one", "two"] {
        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: case30, \
             labels: {{case30: chosen}}}}, data: {{own: {name}}}}}"
        );
        world.apply(&map).await?;
    }
    let policy = world.policy("case30-range");
    policy.apply(&raw("enforce", RANGE)).await?;
    let observed = policy.is("Compliant").await?;
    same("the number of details", observed.details(), 2)?;
    for name in ["one", "two"] {
        let live = world
            .get("v1", "ConfigMap", Some("case30"), name)
            .await?
            .context("absent")?;
        same(
            "the data",
            &live.data["data"],
            &json!({ "own": name, "extra": "added" }),
        )?;
    }
    Ok(())
}

pub(crate) async fn without_a_template(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case30"]).await?;
    let policy = world.policy("case30-plain");
    let plain = "- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: plain, namespace: case30}}
";
    policy.apply(&raw("enforce", plain)).await?;
    policy.is("Compliant").await?;
    ensure!(
        world
            .get("v1", "ConfigMap", Some("case30"), "plain")
            .await?
            .is_some()
    );
    Ok(())
}

pub(crate) async fn errors(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case30-errors");
    for (text, part) in [
        (
            "- {{ lookup \"v1\" 'unterminated }}",
            "unterminated character constant",
        ),
        (
            "- {{ lookup \"v1\" }}",
            "wrong number of args for lookup: want at least 4 got 1",
        ),
    ] {
        policy.apply(&raw("enforce", text)).await?;
        let observed = policy.mentions(&[part]).await?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
        same("the number of details", observed.details(), 1)?;
        same(
            "the reason",
            observed.reason(0),
            "Error processing template",
        )?;
    }
    // Not YAML at all, and nothing that a template could mend.
    policy
        .apply(&raw("enforce", "- complianceType: *odd\n"))
        .await?;
    let observed = policy
        .mentions(&["Error parsing object-templates-raw YAML: "])
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")
}

pub(crate) async fn empty(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case30-empty");
    policy
        .apply(&raw(
            "enforce",
            &RANGE.replace("case30=chosen", "case30=nobody"),
        ))
        .await?;
    let observed = policy.is("Compliant").await?;
    let message = "case30-empty contains no object templates to check, and thus has no violations";
    same("the message", observed.message(0), message)?;
    same("the reason", observed.reason(0), "No object templates")?;
    let want = format!("Compliant; notification - {message}");
    steadily("it is reported to the parent once", || async {
        same(
            "the messages",
            policy.parent_messages().await?,
            vec![want.clone()],
        )
    })
    .await
}
