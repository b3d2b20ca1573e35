//! CFG-100.3: objects that can only be changed by making them anew.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, Related, Subject, same, within};
use reeve_testkit::Object;
use serde_json::json;

fn deployment(name: &str, label: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: case40}}
spec:
  replicas: 0
  selector: {{matchLabels: {{selected: {label}}}}}
  template:
    metadata: {{labels: {{selected: {label}}}}}
    spec:
      containers: [{{name: c, image: c}}]
"
    )
}

fn policy(remediation: &str, recreate: &str, object: &str) -> String {
    let object = reeve_scenarios::indent(object, 4);
    format!(
        "remediationAction: {remediation}
object-templates:
- complianceType: musthave
  recreateOption: {recreate}
  objectDefinition:
{object}"
    )
}

async fn read(world: &Evaluator, name: &str) -> Result<Object> {
    world
        .get("apps/v1", "Deployment", Some("case40"), name)
        .await?
        .context("no Deployment")
}

/// Waits until the only related object is like this, and the policy Compliant.
async fn relates(policy: &Subject<'_>, what: &str, holds: impl Fn(&Related) -> bool) -> Result<()> {
    policy
        .until(what, |observed| {
            let related = observed.related();
            observed.compliance() == "Compliant" && related.len() == 1 && holds(&related[0])
        })
        .await?;
    Ok(())
}

pub(crate) async fn immutable(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case40"]).await?;
    world.apply(&deployment("there", "old")).await?;
    let old = read(&world, "there").await?.metadata.uid;
    let subject = world.policy("case40-there");
    subject
        .apply(&policy("enforce", "None", &deployment("there", "new")))
        .await?;
    let message = "deployments [there] in namespace case40 cannot be updated, likely due to immutable fields not \
                   matching, you may set spec[\"object-templates\"][].recreateOption to recreate the object";
    let observed = subject.reports(message).await?;
    same(
        "the reason",
        observed.reason(0),
        "K8s update template error",
    )?;
    let related = observed.related();
    let diff = related.first().context("no related object")?.diff();
    ensure!(
        diff.contains("\n-      selected: old\n+      selected: new\n"),
        "the diff is {diff}"
    );
    subject
        .stays(message, |observed| {
            observed.message(0) == message && observed.compliance() == "NonCompliant"
        })
        .await?;
    same("the UID", &read(&world, "there").await?.metadata.uid, &old)?;

    // With inform, the message does not mention a recreation.
    subject
        .apply(&policy("inform", "None", &deployment("there", "new")))
        .await?;
    subject
        .reports("deployments [there] found but not as specified in namespace case40")
        .await?;

    subject
        .apply(&policy(
            "enforce",
            "IfRequired",
            &deployment("there", "new"),
        ))
        .await?;
    subject.is("Compliant").await?;
    let new = read(&world, "there").await?.metadata.uid;
    ensure!(new != old, "it is the same object");
    // As the Deployment controller does, if there is one: another look at it finds nothing that differs.
    let observed = json!({ "status": { "observedGeneration": 1 } });
    world
        .patch_status("apps/v1", "Deployment", Some("case40"), "there", observed)
        .await?;
    relates(&subject, "no diff, not created by the policy", |related| {
        related.diff().is_empty() && related.properties["createdByPolicy"] == false
    })
    .await
}

pub(crate) async fn created_by_the_policy(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case40"]).await?;
    let subject = world.policy("case40-ours");
    subject
        .apply(&policy("enforce", "IfRequired", &deployment("ours", "old")))
        .await?;
    subject.is("Compliant").await?;
    let old = read(&world, "ours").await?.metadata.uid;
    subject
        .apply(&policy("enforce", "IfRequired", &deployment("ours", "new")))
        .await?;
    subject.is("Compliant").await?;
    let new = read(&world, "ours").await?.metadata.uid;
    ensure!(new != old, "it is the same object");
    let uid = json!(new);
    relates(
        &subject,
        "created by the policy, with the new UID",
        |related| related.properties["createdByPolicy"] == true && related.properties["uid"] == uid,
    )
    .await
}

pub(crate) async fn held(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case40"]).await?;
    let map = |value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: held, namespace: case40}}\ndata: {{a: {value}}}\n"
        )
    };
    world.apply(&map("old")).await?;
    let hold = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    world
        .patch("v1", "ConfigMap", Some("case40"), "held", hold)
        .await?;
    let subject = world.policy("case40-held");
    subject
        .apply(&policy("enforce", "Always", &map("new")))
        .await?;
    let message = "configmaps [held] in namespace case40 timed out waiting for the object to delete during \
                   recreate, will retry on the next policy evaluation";
    let observed = subject.reports(message).await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    let release = json!({ "metadata": { "finalizers": null } });
    world
        .patch("v1", "ConfigMap", Some("case40"), "held", release)
        .await?;
    subject.is("Compliant").await?;
    within("it is the new object", || async {
        let live = world
            .get("v1", "ConfigMap", Some("case40"), "held")
            .await?
            .context("absent")?;
        same("the data", &live.data["data"], &json!({ "a": "new" }))
    })
    .await
}
