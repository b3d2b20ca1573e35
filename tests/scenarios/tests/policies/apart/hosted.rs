//! CFG-8: a controller on one cluster for another one.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Controller, Pair, Subject, namespace, same, spec, within};
use serde_json::json;

async fn start(world: &Pair, policies: &str, kubeconfig: &std::path::Path) -> Result<Controller> {
    namespace(&world.managed, policies).await?;
    let target = format!("--target-kubeconfig-path={}", kubeconfig.display());
    Controller::start(&world.managed, policies, &[&target]).await
}

pub(crate) async fn managed_from_another(world: Arc<Pair>) -> Result<()> {
    let policies = "case21-policies";
    let controller = start(&world, policies, world.other.kubeconfig()).await?;
    controller.with_log(target(&world, policies).await)
}

async fn target(world: &Pair, policies: &str) -> Result<()> {
    let (hosting, target) = (&world.managed, &world.other);
    let policy = Subject::new(hosting, policies, "case21-namespace");
    let wanted = "{apiVersion: v1, kind: Namespace, metadata: {name: case21-target}}";
    policy
        .apply(&spec("enforce", &[("musthave", wanted)]))
        .await?;
    policy.is("Compliant").await?;
    ensure!(
        target
            .get("v1", "Namespace", None, "case21-target")
            .await?
            .is_some(),
        "it is not on the target"
    );
    ensure!(
        hosting
            .get("v1", "Namespace", None, "case21-target")
            .await?
            .is_none(),
        "it is on the hosting cluster"
    );
    let created = "Compliant; notification - namespaces [case21-target] was created successfully";
    policy
        .reported_parent(created, |message| message == created)
        .await?;
    let history = policy.observed().await?.history();
    ensure!(
        history.iter().any(|message| message == created),
        "the history is {history:#?}"
    );
    let events = target.list("v1", "Event", Some(policies)).await?;
    same("the events on the target", events.len(), 0)?;

    // Namespaces, lookups and watches are the target's too.
    target.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: source, namespace: case21-target}, data: {a: first}}").await?;
    let follower = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: follower}
data: {a: '{{ fromConfigMap "case21-target" "source" "a" }}'}
"#;
    let policy = Subject::new(hosting, policies, "case21-follower");
    let selected = spec("enforce", &[("musthave", follower)])
        + "namespaceSelector: {include: ['case21-t*']}\n";
    policy.apply(&selected).await?;
    policy.is("Compliant").await?;
    for value in ["first", "second"] {
        let data = json!({ "data": { "a": value } });
        target
            .patch(
                "v1",
                "ConfigMap",
                Some("case21-target"),
                "source",
                data.clone(),
            )
            .await?;
        within(format!("the follower has {value}"), || async {
            let live = target
                .get("v1", "ConfigMap", Some("case21-target"), "follower")
                .await?
                .context("absent")?;
            same("the data", &live.data["data"], &data["data"])
        })
        .await?;
    }
    Ok(())
}

/// Whoever rotates the kubeconfig gets a new process: the kubelet starts one when the old one reports that
/// it is not healthy.
pub(crate) async fn changed_kubeconfig(world: Arc<Pair>) -> Result<()> {
    let folder = tempfile::tempdir().context("a folder for a kubeconfig")?;
    let path = folder.path().join("kubeconfig");
    std::fs::copy(world.other.kubeconfig(), &path).context("copying a kubeconfig")?;
    let controller = start(&world, "case21-kubeconfig", &path).await?;
    let health = |want: u16| {
        let controller = &controller;
        async move {
            let (code, body) = controller.probe("healthz").await?;
            ensure!(code == want, "it answers {code}: {body}");
            Ok(())
        }
    };
    within("it is healthy", || health(200)).await?;
    let text = std::fs::read_to_string(&path).context("reading a kubeconfig")?;
    std::fs::write(&path, format!("{text}\n# Changed.\n")).context("writing a kubeconfig")?;
    controller.with_log(within("it is not healthy", || health(500)).await)
}
