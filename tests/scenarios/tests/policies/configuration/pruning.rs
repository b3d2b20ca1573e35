//! CFG-53: what a policy remembers of its objects, and what it takes with it when it goes.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use reeve_scenarios::{Evaluator, Subject, same, within};
use reeve_testkit::Object;
use serde_json::{Value, json};

const NAMESPACE: &str = "case20";

fn pod(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  containers: [{{name: nginx, image: nginx}}]
"
    )
}

fn policy(remediation: &str, prune: &str, compliance_type: &str, pod: &str) -> String {
    let pod = reeve_scenarios::indent(pod, 4);
    format!(
        "remediationAction: {remediation}
pruneObjectBehavior: {prune}
object-templates:
- complianceType: {compliance_type}
  objectDefinition:
{pod}"
    )
}

async fn find(world: &Evaluator, name: &str) -> Result<Option<Object>> {
    world.get("v1", "Pod", Some(NAMESPACE), name).await
}

async fn is_gone(world: &Evaluator, namespace: &str, name: &str) -> Result<()> {
    let deadline = std::time::Duration::from_mins(1);
    world
        .gone("v1", "Pod", Some(namespace), name, deadline)
        .await
}

/// The properties of the only related object.
async fn properties(policy: &Subject<'_>) -> Result<Value> {
    let related = policy.observed().await?.related();
    same("the number of related objects", related.len(), 1)?;
    Ok(related.into_iter().next().context("none")?.properties)
}

/// Applies a policy for a Pod and waits until it has its way. Returns the Pod.
async fn enforced<'a>(
    world: &'a Evaluator,
    prune: &str,
    name: &str,
) -> Result<(Subject<'a>, Object)> {
    world.namespaces(&[NAMESPACE]).await?;
    let subject = world.policy(&format!("case20-{name}"));
    subject
        .apply(&policy("enforce", prune, "musthave", &pod(NAMESPACE, name)))
        .await?;
    subject.is("Compliant").await?;
    let live = find(world, name).await?.context("it was not made")?;
    Ok((subject, live))
}

pub(crate) async fn related(world: Arc<Evaluator>) -> Result<()> {
    let (created, live) = enforced(&world, "None", "related-created").await?;
    created
        .until("created by the policy, of this UID", |observed| {
            let related = observed.related();
            related.len() == 1
                && related[0].properties["createdByPolicy"] == true
                && related[0].properties["uid"] == json!(live.metadata.uid)
        })
        .await?;

    world.apply(&pod(NAMESPACE, "related-there")).await?;
    let (there, live) = enforced(&world, "None", "related-there").await?;
    let uid = json!(live.metadata.uid);
    same(
        "the one that was there",
        properties(&there).await?,
        json!({ "createdByPolicy": false, "uid": uid }),
    )?;

    world.apply(&pod(NAMESPACE, "related-edited")).await?;
    let edited = world.policy("case20-related-edited");
    let labelled =
        pod(NAMESPACE, "related-edited").replace("metadata: {", "metadata: {labels: {a: b}, ");
    edited
        .apply(&policy("enforce", "None", "musthave", &labelled))
        .await?;
    edited.is("Compliant").await?;
    let found = properties(&edited).await?;
    ensure!(
        found["createdByPolicy"] == false && found["uid"].is_string(),
        "{found}"
    );

    let informed = world.policy("case20-related-inform");
    informed
        .apply(&policy(
            "inform",
            "None",
            "musthave",
            &pod(NAMESPACE, "related-inform"),
        ))
        .await?;
    informed.is("NonCompliant").await?;
    same(
        "of one that is not there",
        properties(&informed).await?,
        Value::Null,
    )
}

pub(crate) async fn inform_keeps(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&[NAMESPACE]).await?;
    world.apply(&pod(NAMESPACE, "inform")).await?;
    let subject = world.policy("case20-inform");
    subject
        .apply(&policy(
            "inform",
            "DeleteAll",
            "musthave",
            &pod(NAMESPACE, "inform"),
        ))
        .await?;
    subject.is("Compliant").await?;
    subject.remove().await?;
    stays(&world, "inform").await
}

async fn stays(world: &Evaluator, name: &str) -> Result<()> {
    reeve_scenarios::steadily(format!("{name} is there"), || async {
        let live = find(world, name).await?.context("it is gone")?;
        ensure!(
            live.metadata.deletion_timestamp.is_none(),
            "it is being deleted"
        );
        Ok(())
    })
    .await
}

pub(crate) async fn if_created(world: Arc<Evaluator>) -> Result<()> {
    let (subject, _) = enforced(&world, "DeleteIfCreated", "if-created").await?;
    let finalizers = subject.read().await?.metadata.finalizers;
    let ours = "policy.open-cluster-management.io/delete-related-objects".to_owned();
    same("the finalizers", finalizers, Some(vec![ours]))?;
    subject.remove().await?;
    is_gone(&world, NAMESPACE, "if-created").await?;

    world.apply(&pod(NAMESPACE, "if-there")).await?;
    let (subject, _) = enforced(&world, "DeleteIfCreated", "if-there").await?;
    subject.remove().await?;
    stays(&world, "if-there").await
}

pub(crate) async fn all(world: Arc<Evaluator>) -> Result<()> {
    let (subject, _) = enforced(&world, "DeleteAll", "all-created").await?;
    subject.remove().await?;
    is_gone(&world, NAMESPACE, "all-created").await?;

    world.apply(&pod(NAMESPACE, "all-there")).await?;
    let (subject, _) = enforced(&world, "DeleteAll", "all-there").await?;
    subject.remove().await?;
    is_gone(&world, NAMESPACE, "all-there").await
}

pub(crate) async fn held_by_a_finalizer(world: Arc<Evaluator>) -> Result<()> {
    let (subject, _) = enforced(&world, "DeleteIfCreated", "held").await?;
    let hold = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    world
        .patch("v1", "Pod", Some(NAMESPACE), "held", hold)
        .await?;
    subject.delete().await?;
    let message = "Failed to delete objects: /v1, Kind=Pod \"held\" in namespace case20";
    let observed = within("it is Terminating", || async {
        let observed = subject.observed().await?;
        ensure!(
            observed.compliance() == "Terminating",
            "the status is {observed}"
        );
        Ok(observed)
    })
    .await?;
    same("the message", observed.message(0), message)?;
    same(
        "the reason",
        observed.reason(0),
        "Error cleaning up child objects",
    )?;
    same("the detail", observed.compliance_of(0), "Terminating")?;
    subject.stays_with("Terminating").await?;
    let release = json!({ "metadata": { "finalizers": null } });
    world
        .patch("v1", "Pod", Some(NAMESPACE), "held", release)
        .await?;
    subject.gone().await?;
    is_gone(&world, NAMESPACE, "held").await
}

pub(crate) async fn action_changes(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&[NAMESPACE]).await?;
    let rising = world.policy("case20-rising");
    rising
        .apply(&policy(
            "inform",
            "DeleteIfCreated",
            "musthave",
            &pod(NAMESPACE, "rising"),
        ))
        .await?;
    rising.is("NonCompliant").await?;
    rising.remediate("enforce").await?;
    rising.is("Compliant").await?;
    rising.remove().await?;
    is_gone(&world, NAMESPACE, "rising").await?;

    let (falling, _) = enforced(&world, "DeleteIfCreated", "falling").await?;
    falling.remediate("inform").await?;
    falling.is("Compliant").await?;
    falling.remove().await?;
    stays(&world, "falling").await
}

pub(crate) async fn deleted_by_hand(world: Arc<Evaluator>) -> Result<()> {
    let (subject, first) = enforced(&world, "DeleteIfCreated", "by-hand").await?;
    world.delete(&pod(NAMESPACE, "by-hand")).await?;
    let second = within("another Pod is there", || async {
        match find(&world, "by-hand").await? {
            Some(live) if live.metadata.uid != first.metadata.uid => Ok(live),
            found => bail!("there is {found:?}"),
        }
    })
    .await?;
    subject.is("Compliant").await?;
    let uid = json!(second.metadata.uid);
    subject
        .until("it is the policy's own", |observed| {
            let related = observed.related();
            related.len() == 1
                && related[0].properties["uid"] == uid
                && related[0].properties["createdByPolicy"] == true
        })
        .await?;
    subject.remove().await?;
    is_gone(&world, NAMESPACE, "by-hand").await
}

pub(crate) async fn unknown_kind(world: Arc<Evaluator>) -> Result<()> {
    let (subject, _) = enforced(&world, "DeleteAll", "unknown").await?;
    let status = json!({ "status": { "relatedObjects": [{
        "compliant": "Compliant", "reason": "Resource found as expected",
        "object": {
            "apiVersion": "example.com/v1", "kind": "UndefinedWidget",
            "metadata": { "name": "widget", "namespace": NAMESPACE }
        }
    }] } });
    let (api, kind) = (
        "policy.open-cluster-management.io/v1",
        "ConfigurationPolicy",
    );
    world
        .patch_status(api, kind, Some("managed"), subject.name(), status)
        .await?;
    subject.remove().await
}

pub(crate) async fn renamed(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case20-other"]).await?;
    let (subject, _) = enforced(&world, "DeleteAll", "before").await?;
    subject
        .apply(&policy(
            "enforce",
            "DeleteAll",
            "musthave",
            &pod(NAMESPACE, "after"),
        ))
        .await?;
    subject.is("Compliant").await?;
    ensure!(
        find(&world, "after").await?.is_some(),
        "the new one was not made"
    );
    is_gone(&world, NAMESPACE, "before").await?;

    subject
        .apply(&policy(
            "enforce",
            "DeleteAll",
            "musthave",
            &pod("case20-other", "after"),
        ))
        .await?;
    subject.is("Compliant").await?;
    ensure!(
        world
            .get("v1", "Pod", Some("case20-other"), "after")
            .await?
            .is_some()
    );
    is_gone(&world, NAMESPACE, "after").await
}

pub(crate) async fn turned_around(world: Arc<Evaluator>) -> Result<()> {
    let (subject, _) = enforced(&world, "DeleteAll", "wanted").await?;
    world.apply(&pod(NAMESPACE, "unwanted")).await?;
    subject
        .apply(&policy(
            "enforce",
            "DeleteAll",
            "mustnothave",
            &pod(NAMESPACE, "unwanted"),
        ))
        .await?;
    subject.is("Compliant").await?;
    is_gone(&world, NAMESPACE, "wanted").await?;
    is_gone(&world, NAMESPACE, "unwanted").await
}

pub(crate) async fn none_keeps(world: Arc<Evaluator>) -> Result<()> {
    let (subject, _) = enforced(&world, "None", "none-before").await?;
    ensure!(
        subject.read().await?.metadata.finalizers.is_none(),
        "it has a finalizer"
    );
    subject
        .apply(&policy(
            "enforce",
            "None",
            "musthave",
            &pod(NAMESPACE, "none-after"),
        ))
        .await?;
    subject.is("Compliant").await?;
    stays(&world, "none-before").await?;
    // What the policy still wants is not in its own way.
    let uid = find(&world, "none-after")
        .await?
        .context("absent")?
        .metadata
        .uid;
    subject
        .apply(&policy(
            "enforce",
            "DeleteAll",
            "musthave",
            &pod(NAMESPACE, "none-after"),
        ))
        .await?;
    subject.is("Compliant").await?;
    stays(&world, "none-after").await?;
    same(
        "its UID",
        find(&world, "none-after")
            .await?
            .context("absent")?
            .metadata
            .uid,
        uid,
    )?;
    stays(&world, "none-before").await
}
