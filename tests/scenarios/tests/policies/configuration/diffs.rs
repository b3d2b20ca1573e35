//! Recorded differences, and objects that must reach a status.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, same, spec, steadily, within};
use serde_json::json;

pub(crate) async fn recorded(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case39"]).await?;
    let fake = |words: &str| {
        format!(
            "apiVersion: config-policy-controller.io/v1
kind: FakeAPI
metadata: {{name: fake, namespace: case39}}
spec: {{name: {words}}}
"
        )
    };
    world.apply(&fake("live")).await?;
    let recording = |action: &str, mode: &str, object: &str| {
        spec(action, &[("musthave", object)]).replace(
            "- complianceType",
            &format!("- recordDiff: {mode}\n  complianceType"),
        )
    };
    let policy = world.policy("case39-diff");
    policy
        .apply(&recording("inform", "Log", &fake("wanted")))
        .await?;
    let observed = policy.is("NonCompliant").await?;
    same("the diff in the status", observed.related()[0].diff(), "")?;
    logged(&world).await?;

    policy
        .apply(&recording("inform", "InStatus", &fake("wanted")))
        .await?;
    let observed = policy
        .until("the diff is in the status", |observed| {
            observed
                .related()
                .first()
                .is_some_and(|related| !related.diff().is_empty())
        })
        .await?;
    let related = observed.related();
    let diff = related[0].diff();
    ensure!(
        diff.starts_with("--- case39/fake : existing\n+++ case39/fake : updated\n@@ "),
        "{diff}"
    );
    ensure!(
        diff.contains("\n-  name: live\n+  name: wanted\n"),
        "{diff}"
    );

    policy
        .apply(&recording("inform", "None", &fake("wanted")))
        .await?;
    policy
        .until("no diff", |observed| {
            observed
                .related()
                .first()
                .is_some_and(|related| related.diff().is_empty())
        })
        .await?;
    Ok(())
}

/// The diff is in the log: its heading, its lines as they are, and whom it is about.
async fn logged(world: &Evaluator) -> Result<()> {
    let log = within("the diff is in the log", || async {
        let log = world.controller().log();
        let at = log
            .find("--- case39/fake : existing")
            .context("it is not")?;
        let begin = log[..at]
            .rfind("Logging the diff:")
            .context("without its heading")?;
        Ok(log[begin..].to_owned())
    })
    .await?;
    let lines: Vec<&str> = log.lines().collect();
    same("the second line", lines[1], "--- case39/fake : existing")?;
    same("the third line", lines[2], "+++ case39/fake : updated")?;
    let fields = lines
        .iter()
        .find(|line| line.starts_with("\t{"))
        .context("no line of fields")?;
    for field in [
        "\"name\": \"case39-diff\"",
        "\"objName\": \"fake\"",
        "\"objNamespace\": \"case39\"",
        "\"resource\": \"fakeapis\"",
    ] {
        ensure!(
            fields.contains(field),
            "{field} is not among the fields: {fields}"
        );
    }
    let until_fields: Vec<&&str> = lines
        .iter()
        .take_while(|line| !line.starts_with("\t{"))
        .collect();
    ensure!(until_fields.contains(&&"-  name: live"), "{log}");
    ensure!(until_fields.contains(&&"+  name: wanted"), "{log}");
    Ok(())
}

pub(crate) async fn censored(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case39"]).await?;
    let secret = |value: &str| {
        format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: s, namespace: case39}}, data: {{a: {value}}}}}"
        )
    };
    world.apply(&secret("b2xk")).await?;
    let policy = world.policy("case39-secret");
    policy
        .apply(&spec("inform", &[("musthave", &secret("bmV3"))]))
        .await?;
    let observed = policy.is("NonCompliant").await?;
    let related = observed.related();
    let diff = related.first().context("no related object")?.diff();
    let text = "# The difference is redacted because it contains sensitive data. To override, the \
                spec[\"object-templates\"][].recordDiff field must be set to \"InStatus\" for the difference to be \
                recorded in the policy status. Consider existing access to the ConfigurationPolicy objects and the \
                etcd encryption configuration before you proceed with an override.";
    same("the diff", diff, text)
}

/// No message of being compliant until the status is what the policy wants.
async fn never_compliant(policy: &reeve_scenarios::Subject<'_>) -> Result<()> {
    steadily("it is never Compliant", || async {
        for messages in [
            policy.observed().await?.history(),
            policy.parent_messages().await?,
        ] {
            let good = messages
                .iter()
                .any(|message| message.starts_with("Compliant"));
            ensure!(!good, "{messages:#?}");
        }
        Ok(())
    })
    .await
}

pub(crate) async fn status_on_creation(world: Arc<Evaluator>) -> Result<()> {
    let namespace = |phase: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: case34}}\nstatus: {{phase: {phase}}}\n"
        )
    };
    let policy = world.policy("case34-create");
    policy
        .apply(&spec("enforce", &[("musthave", &namespace("Terminating"))]))
        .await?;
    let observed = policy
        .until("its diff is about the phase", |observed| {
            let related = observed.related();
            related.first().is_some_and(|it| {
                it.diff()
                    .contains("\n-  phase: Active\n+  phase: Terminating\n")
            })
        })
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    never_compliant(&policy).await?;
    let created = "namespaces [case34] was created successfully, the status of the object will be verified in the \
                   next evaluation";
    let history = policy.observed().await?.history();
    ensure!(
        history.iter().any(|message| message.ends_with(created)),
        "the history is {history:#?}"
    );
    // Across an update of the rest too.
    let labelled =
        namespace("Terminating").replace("name: case34", "name: case34, labels: {more: here}");
    policy
        .apply(&spec("enforce", &[("musthave", &labelled)]))
        .await?;
    within("the label is there", || async {
        let live = world
            .get("v1", "Namespace", None, "case34")
            .await?
            .context("absent")?;
        ensure!(
            live.metadata
                .labels
                .unwrap_or_default()
                .contains_key("more"),
            "not yet"
        );
        Ok(())
    })
    .await?;
    never_compliant(&policy).await?;
    policy
        .apply(&spec("enforce", &[("musthave", &namespace("Active"))]))
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn status_that_comes(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case34-fakes"]).await?;
    let fake = |name: &str, status: &str| {
        format!(
            "apiVersion: config-policy-controller.io/v1
kind: FakeAPI
metadata: {{name: fake, namespace: case34-fakes}}
spec: {{name: {name}}}
{status}"
        )
    };
    let policy = world.policy("case34-comes");
    policy
        .apply(&spec(
            "enforce",
            &[("musthave", &fake("first", "status: {phase: Ready}\n"))],
        ))
        .await?;
    policy.is("NonCompliant").await?;
    never_compliant(&policy).await?;
    policy
        .apply(&spec(
            "enforce",
            &[("musthave", &fake("second", "status: {phase: Ready}\n"))],
        ))
        .await?;
    let (api, kind) = ("config-policy-controller.io/v1", "FakeAPI");
    within("the spec is updated", || async {
        let live = world
            .get(api, kind, Some("case34-fakes"), "fake")
            .await?
            .context("absent")?;
        ensure!(live.data["spec"]["name"] == "second", "{}", live.data);
        Ok(())
    })
    .await?;
    never_compliant(&policy).await?;
    let ready = json!({ "status": { "phase": "Ready" } });
    world
        .patch_status(api, kind, Some("case34-fakes"), "fake", ready)
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}
