//! CFG-43: hub templates that the managed cluster resolves. CFG-36: a hub that is away.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Controller, Pair, Subject, namespace, same, spec, steadily, within};
use reeve_testkit::Object;
use serde_json::json;

async fn start(world: &Pair, policies: &str, hub: &std::path::Path) -> Result<Controller> {
    namespace(&world.managed, policies).await?;
    let hub = format!(
        "--standalone-hub-templates-kubeconfig-path={}",
        hub.display()
    );
    let name = format!("--cluster-name={policies}");
    Controller::start(&world.managed, policies, &[&hub, &name]).await
}

const ERROR: &str = "Hub template resolution failure";

/// A ConfigMap with a value of a ConfigMap on the hub.
fn wanting(policies: &str, source: &str) -> String {
    let map = format!(
        "apiVersion: v1
kind: ConfigMap
metadata: {{name: {source}, namespace: {policies}}}
data:
  value: '{{{{hub fromConfigMap .ManagedClusterName \"{source}\" \"value\" hub}}}}'
"
    );
    spec("enforce", &[("musthave", &map)])
}

fn source(policies: &str, name: &str, value: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {policies}}}, data: {{value: '{value}'}}}}"
    )
}

async fn has(world: &Pair, policies: &str, name: &str, value: &str) -> Result<()> {
    within(format!("{name} has {value}"), || async {
        let live = world
            .managed
            .get("v1", "ConfigMap", Some(policies), name)
            .await?
            .context("absent")?;
        same("the data", &live.data["data"], &json!({ "value": value }))
    })
    .await
}

/// The Secret with what was last resolved.
async fn cached(world: &Pair, policies: &str, policy: &Subject<'_>) -> Result<Option<Object>> {
    let uid = policy.read().await?.metadata.uid.context("no UID")?;
    world
        .managed
        .get(
            "v1",
            "Secret",
            Some(policies),
            &format!("{uid}-last-resolved"),
        )
        .await
}

pub(crate) async fn without(world: Arc<Pair>) -> Result<()> {
    let policies = "case43-without";
    namespace(&world.managed, policies).await?;
    let controller = Controller::start(&world.managed, policies, &[]).await?;
    let story = async {
        let policy = Subject::new(&world.managed, policies, "case43-without");
        policy.apply(&wanting(policies, "anything")).await?;
        let message = "the governance-standalone-hub-templating addon must be enabled to resolve hub templates on \
                       the managed cluster";
        let observed = policy.reports(message).await?;
        same("the reason", observed.reason(0), ERROR)?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
        // Somebody who switches templates off gets the text as it is.
        let literal = spec(
            "enforce",
            &[(
                "musthave",
                &format!(
                    "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: literal, namespace: {policies}}}, \
                 data: {{value: '{{{{hub x hub}}}}'}}}}"
                ),
            )],
        );
        let disabled = [(
            "policy.open-cluster-management.io/disable-templates",
            "\"true\"",
        )];
        let plain = Subject::new(&world.managed, policies, "case43-disabled");
        plain
            .apply_with(&[(disabled[0].0, "true")], &literal)
            .await?;
        plain.is("Compliant").await?;
        has(&world, policies, "literal", "{{hub x hub}}").await
    };
    let outcome = story.await;
    controller.with_log(outcome)
}

pub(crate) async fn templates(world: Arc<Pair>) -> Result<()> {
    let policies = "case43-templates";
    namespace(&world.other, policies).await?;
    let controller = start(&world, policies, world.other.kubeconfig()).await?;
    controller.with_log(resolved(&world, policies).await)
}

async fn resolved(world: &Pair, policies: &str) -> Result<()> {
    let policy = Subject::new(&world.managed, policies, "case43-templates");
    policy.apply(&wanting(policies, "late")).await?;
    let observed = policy.mentions(&["failed to resolve the template"]).await?;
    same("the reason", observed.reason(0), ERROR)?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    world
        .other
        .apply(&source(policies, "late", "first"))
        .await?;
    policy.is("Compliant").await?;
    has(world, policies, "late", "first").await?;
    // What is in the API is what the user wrote.
    let written = policy.read().await?.data["spec"].to_string();
    ensure!(
        written.contains("{{hub"),
        "the spec was overwritten: {written}"
    );

    let secret = cached(world, policies, &policy)
        .await?
        .context("nothing is cached")?;
    let owner = secret.metadata.owner_references.clone().unwrap_or_default();
    same(
        "the owner",
        owner.first().map(|owner| owner.name.as_str()),
        Some("case43-templates"),
    )?;
    world
        .other
        .apply(&source(policies, "late", "second"))
        .await?;
    has(world, policies, "late", "second").await?;
    let updated = cached(world, policies, &policy)
        .await?
        .context("nothing is cached")?;
    ensure!(
        updated.data["data"]["policy.json"] != secret.data["data"]["policy.json"],
        "the cache is old"
    );
    policy.is("Compliant").await?;
    unresolved(world, policies, &policy).await
}

/// The source is gone, comes back, and then the policy goes.
async fn unresolved(world: &Pair, policies: &str, policy: &Subject<'_>) -> Result<()> {
    world.other.delete(&source(policies, "late", "")).await?;
    let observed = policy.mentions(&["failed to resolve the template"]).await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    within("the cache is gone", || async {
        same(
            "the cache",
            cached(world, policies, policy).await?.is_none(),
            true,
        )
    })
    .await?;
    has(world, policies, "late", "second").await?;

    world
        .other
        .apply(&source(policies, "late", "third"))
        .await?;
    policy.is("Compliant").await?;
    let name = cached(world, policies, policy)
        .await?
        .and_then(|secret| secret.metadata.name);
    let name = name.context("nothing is cached")?;
    policy.remove().await?;
    world
        .managed
        .gone(
            "v1",
            "Secret",
            Some(policies),
            &name,
            std::time::Duration::from_mins(1),
        )
        .await
}

pub(crate) async fn secrets(world: Arc<Pair>) -> Result<()> {
    let policies = "case43-secrets";
    namespace(&world.other, policies).await?;
    let controller = start(&world, policies, world.other.kubeconfig()).await?;
    controller.with_log(copied(&world, policies).await)
}

async fn copied(world: &Pair, policies: &str) -> Result<()> {
    let long = "a-secret-with-a-name-that-is-as-long-as-names-of-secrets-on-hubs-can-get-when-they-are-made-by-programs-and-not-by-people";
    for (policy, name) in [("case43-short", "short"), ("case43-long", long)] {
        let data = json!({ "one": "Zmlyc3Q=", "two": "c2Vjb25k" });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": name, "namespace": policies }, "data": data
        });
        world.other.apply(&secret.to_string()).await?;
        let copy = format!(
            "apiVersion: v1
kind: Secret
metadata: {{name: {name}, namespace: {policies}}}
data: '{{{{hub copySecretData \"{policies}\" \"{name}\" hub}}}}'
"
        );
        let policy = Subject::new(&world.managed, policies, policy);
        policy
            .apply(&spec("enforce", &[("musthave", &copy)]))
            .await?;
        policy.is("Compliant").await?;
        let live = world
            .managed
            .get("v1", "Secret", Some(policies), name)
            .await?
            .context("absent")?;
        same("the data", &live.data["data"], &data)?;
    }
    Ok(())
}

/// A kubeconfig of a hub that nobody answers for.
fn nowhere(world: &Pair, folder: &std::path::Path) -> Result<std::path::PathBuf> {
    let text = std::fs::read_to_string(world.other.kubeconfig()).context("reading a kubeconfig")?;
    let port = reeve_testkit::free_port()?;
    let text = text.replace(world.other.server(), &format!("https://127.0.0.1:{port}"));
    let path = folder.join("nowhere");
    std::fs::write(&path, text).context("writing a kubeconfig")?;
    Ok(path)
}

/// What was resolved once is good enough while the hub is away, and is kept.
pub(crate) async fn away(world: Arc<Pair>) -> Result<()> {
    let policies = "case43-away";
    namespace(&world.other, policies).await?;
    world
        .other
        .apply(&source(policies, "source", "value"))
        .await?;
    let folder = tempfile::tempdir().context("a folder for a kubeconfig")?;
    let policy = Subject::new(&world.managed, policies, "case43-away");
    let mut near = start(&world, policies, world.other.kubeconfig()).await?;
    policy.apply(&wanting(policies, "source")).await?;
    near.with_log(policy.is("Compliant").await)?;
    near.stop().await?;
    world
        .managed
        .delete(&source(policies, "source", ""))
        .await?;

    let far = start(&world, policies, &nowhere(&world, folder.path())?).await?;
    far.with_log(has(&world, policies, "source", "value").await)?;
    far.with_log(policy.is("Compliant").await)?;
    // A change cannot be resolved, which is observed; what is cached may still be of use.
    policy
        .patch(json!({ "spec": { "severity": "high" } }))
        .await?;
    let observed = far.with_log(
        policy
            .until("the hub is needed", |observed| observed.reason(0) == ERROR)
            .await,
    )?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    let kept = steadily("the cache is kept", || async {
        cached(&world, policies, &policy)
            .await?
            .context("nothing is cached")?;
        Ok(())
    });
    far.with_log(kept.await)
}

/// A policy whose templates nobody can resolve can be deleted.
pub(crate) async fn deletion(world: Arc<Pair>) -> Result<()> {
    let policies = "rough-edge-17-policies";
    namespace(&world.other, policies).await?;
    world
        .other
        .apply(&source(policies, "source", "value"))
        .await?;
    let controller = start(&world, policies, world.other.kubeconfig()).await?;
    let story = async {
        let policy = Subject::new(&world.managed, policies, "rough-edge-17-deletion");
        let prunes = wanting(policies, "source") + "pruneObjectBehavior: DeleteIfCreated\n";
        policy.apply(&prunes).await?;
        policy.is("Compliant").await?;
        ensure!(
            policy.read().await?.metadata.finalizers.is_some(),
            "it has no finalizer"
        );
        world.other.delete(&source(policies, "source", "")).await?;
        policy.is("NonCompliant").await?;
        policy.remove().await?;
        let deadline = std::time::Duration::from_mins(1);
        world
            .managed
            .gone("v1", "ConfigMap", Some(policies), "source", deadline)
            .await
    };
    let outcome = story.await;
    controller.with_log(outcome)
}

/// 18 and 36: what was resolved holds until the last word is observed, and is not written down again while
/// it is the same.
pub(crate) async fn resolved_once(world: Arc<Pair>) -> Result<()> {
    let policies = "rough-edge-18-policies";
    namespace(&world.other, policies).await?;
    world
        .other
        .apply(&source(policies, "words", "all is well"))
        .await?;
    let controller = start(&world, policies, world.other.kubeconfig()).await?;
    let story = async {
        let policy = Subject::new(&world.managed, policies, "rough-edge-18-words");
        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: map, namespace: {policies}}}, data: {{a: b}}}}"
        );
        let words = "customMessage: {compliant: '{{hub fromConfigMap .ManagedClusterName \"words\" \"value\" hub}}'}\n";
        policy
            .apply(&(spec("enforce", &[("musthave", &map)]) + words))
            .await?;
        policy.is("Compliant").await?;
        // The first of these messages follows the one that it was missing within one evaluation.
        let want =
            format!("NonCompliant; violation - configmaps [map] not found in namespace {policies}");
        policy
            .reported_parent(&want, |message| message == want)
            .await?;
        policy
            .reported_parent("all is well", |message| message == "Compliant; all is well")
            .await?;
        let reported = policy.parent_messages().await?;
        ensure!(
            !reported.iter().any(|message| message.contains("{{hub")),
            "the events of the parent are {reported:#?}"
        );

        let version =
            |secret: Option<Object>| secret.and_then(|secret| secret.metadata.resource_version);
        let before =
            version(cached(&world, policies, &policy).await?).context("nothing is cached")?;
        let drift = json!({ "data": { "a": "drifted" } });
        world
            .managed
            .patch("v1", "ConfigMap", Some(policies), "map", drift)
            .await?;
        within("the drift is undone", || async {
            let live = world
                .managed
                .get("v1", "ConfigMap", Some(policies), "map")
                .await?
                .context("absent")?;
            same("the data", &live.data["data"], &json!({ "a": "b" }))
        })
        .await?;
        policy.is("Compliant").await?;
        let after = version(cached(&world, policies, &policy).await?);
        same("the version of the cache", after, Some(before))
    };
    let outcome = story.await;
    controller.with_log(outcome)
}
