//! CFG-147: messages in the policy's own words.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, Subject, within};
use serde_json::json;

fn pod(namespace: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: pod, namespace: {namespace}}}
spec:
  containers: [{{name: c, image: c}}]
"
    )
}

/// A policy for the Pod of a namespace with the custom message `words` for both states.
fn policy(namespace: &str, words: &str, more: &str) -> String {
    let words = reeve_scenarios::indent(words, 4);
    let object = reeve_scenarios::indent(&pod(namespace), 4);
    format!(
        "remediationAction: inform
{more}customMessage:
  compliant: |-
{words}  noncompliant: |-
{words}object-templates:
- complianceType: musthave
  recordDiff: InStatus
  objectDefinition:
{object}"
    )
}

/// Waits until history and parent have this message as their newest.
async fn publishes(policy: &Subject<'_>, message: &str) -> Result<()> {
    within(format!("{} reports {message:?}", policy.name()), || async {
        let history = policy.observed().await?.history();
        ensure!(
            history.first().is_some_and(|newest| newest == message),
            "the history is {history:#?}"
        );
        let reported = policy.parent_messages().await?;
        ensure!(
            reported.last().is_some_and(|newest| newest == message),
            "the events of the parent are {reported:#?}"
        );
        Ok(())
    })
    .await
}

const MISSING: &str = "NonCompliant; violation - pods [pod] not found in namespace";

pub(crate) async fn unparsable(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case41-bad"]).await?;
    let subject = world.policy("case41-bad");
    subject.apply(&policy("case41-bad", "{{ hello", "")).await?;
    subject.is("NonCompliant").await?;
    let value_starts_with = format!(
        "{MISSING} case41-bad (failure processing the custom message: failed to parse custom template: "
    );
    let reported = |messages: &[String]| {
        messages
            .iter()
            .any(|message| message.starts_with(&value_starts_with))
    };
    within("the default message reports the failure", || async {
        let (history, reported_parent) = (
            subject.observed().await?.history(),
            subject.parent_messages().await?,
        );
        ensure!(
            reported(&history) && reported(&reported_parent),
            "{history:#?}, {reported_parent:#?}"
        );
        Ok(())
    })
    .await
}

pub(crate) async fn default_message(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case41-words"]).await?;
    let subject = world.policy("case41-words");
    subject
        .apply(&policy(
            "case41-words",
            "In short: {{ .DefaultMessage }}",
            "",
        ))
        .await?;
    publishes(
        &subject,
        &format!("NonCompliant; In short: {MISSING} case41-words"),
    )
    .await?;
    subject
        .apply(&policy(
            "case41-words",
            "{{ .DefaultMessage }} {{ upper \"now\" }}",
            "",
        ))
        .await?;
    publishes(&subject, &format!("{MISSING} case41-words NOW")).await?;
    world.apply(&pod("case41-words")).await?;
    let found =
        "Compliant; notification - pods [pod] found as specified in namespace case41-words NOW";
    publishes(&subject, found).await
}

const RANGE: &str = "{{ range .Policy.status.relatedObjects }}{{ .object.kind }} {{ .object.metadata.name }} is \
                     {{ .object.nothing }}{{ end }}";

pub(crate) async fn related_objects(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case41-related"]).await?;
    let subject = world.policy("case41-related");
    subject.apply(&policy("case41-related", RANGE, "")).await?;
    publishes(&subject, "NonCompliant; Pod pod is <no value>").await
}

const PHASE: &str = "{{ range .Policy.status.relatedObjects }}{{ .object.metadata.name }} is {{ dig \"status\" \"phase\" \"unseen\" .object }}{{ end }}";
const PLAIN_PHASE: &str = "{{ range .Policy.status.relatedObjects }}{{ with .object }}{{ .metadata.name }} is \
                           {{ with .status }}{{ .phase }}{{ else }}{{ .nothing }}{{ end }}{{ end }}{{ end }}";

/// Who watches has the whole object at hand, who polls has its name.
pub(crate) async fn whole_objects(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case41-phase"]).await?;
    world.apply(&pod("case41-phase")).await?;
    let watching = world.policy("case41-watching");
    watching
        .apply(&policy("case41-phase", PLAIN_PHASE, ""))
        .await?;
    publishes(&watching, "Compliant; pod is Pending").await?;
    watching.apply(&policy("case41-phase", PHASE, "")).await?;
    publishes(&watching, "Compliant; pod is Pending").await?;

    let polling = world.policy("case41-polling");
    let interval = "evaluationInterval: {compliant: 5s, noncompliant: 5s}\n";
    polling
        .apply(&policy("case41-phase", PLAIN_PHASE, interval))
        .await?;
    publishes(&polling, "Compliant; pod is <no value>").await
}

pub(crate) async fn diff(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case41-diff"]).await?;
    world.apply(&pod("case41-diff")).await?;
    let words = "{{ (index .Policy.status.relatedObjects 0).properties.diff }}";
    let subject = world.policy("case41-diff");
    subject.apply(&policy("case41-diff", words, "")).await?;
    subject.is("Compliant").await?;
    let live = world
        .get("v1", "Pod", Some("case41-diff"), "pod")
        .await?
        .context("no Pod")?;
    let mut containers = live.data["spec"]["containers"].clone();
    containers[0]["image"] = json!("other");
    let patch = json!({ "spec": { "containers": containers } });
    world
        .patch("v1", "Pod", Some("case41-diff"), "pod", patch)
        .await?;
    within("the message is the diff", || async {
        let history = subject.observed().await?.history();
        let newest = history.first().cloned().unwrap_or_default();
        let is_diff = newest.starts_with("NonCompliant; --- case41-diff/pod : existing\n")
            && newest.contains("\n-  - image: other\n+  - image: c\n");
        ensure!(is_diff, "the history is {history:#?}");
        Ok(())
    })
    .await
}
