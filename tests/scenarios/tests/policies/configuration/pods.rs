//! CFG-91: Pods, which need a namespace that is there and stays.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, ObservedStatus, spec, steadily, within};
use serde_json::json;

/// A Pod `name` of a namespace with a container whose fields follow.
fn pod(namespace: &str, name: &str, container: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  containers:
  - {{name: nginx{container}}}
"
    )
}

const IMAGE: &str = ", image: nginx:1.7.9";

pub(crate) async fn missing(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case1-missing"]).await?;
    let want = pod("case1-missing", "pod", IMAGE);
    let informed = world.policy("case1-missing-inform");
    informed
        .apply(&spec("inform", &[("musthave", &want)]))
        .await?;
    informed.is("NonCompliant").await?;

    let enforced = world.policy("case1-missing-enforce");
    enforced
        .apply(&spec("enforce", &[("musthave", &want)]))
        .await?;
    enforced.is("Compliant").await?;
    informed.is("Compliant").await?;
    ensure!(
        world
            .get("v1", "Pod", Some("case1-missing"), "pod")
            .await?
            .is_some()
    );
    Ok(())
}

pub(crate) async fn fields_left_open(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case1-open"]).await?;
    world
        .apply(&pod(
            "case1-open",
            "pod",
            ", image: nginx, ports: [{containerPort: 80}]",
        ))
        .await?;
    let policy = world.policy("case1-open");
    policy
        .apply(&spec(
            "inform",
            &[("musthave", &pod("case1-open", "pod", ""))],
        ))
        .await?;
    policy.is("Compliant").await?;

    let no_ports = pod("case1-open", "no-ports", ", image: nginx, ports: []");
    policy
        .apply(&spec("enforce", &[("musthave", &no_ports)]))
        .await?;
    policy.is("Compliant").await?;
    // An empty list is no wish for ports; port 80 is one.
    let port = pod("case1-open", "no-ports", ", ports: [{containerPort: 80}]");
    policy
        .apply(&spec("inform", &[("musthave", &port)]))
        .await?;
    policy.is("NonCompliant").await?;
    policy.stays_with("NonCompliant").await
}

pub(crate) async fn ports(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case1-ports"]).await?;
    let ports =
        ", image: nginx, ports: [{containerPort: 80}, {containerPort: 80}, {containerPort: 90}]";
    let policy = world.policy("case1-ports");
    let all = pod("case1-ports", "pod", ports);
    policy
        .apply(&spec("enforce", &[("musthave", &all)]))
        .await?;
    policy.is("Compliant").await?;
    let one = pod("case1-ports", "pod", ", ports: [{containerPort: 80}]");
    policy.apply(&spec("inform", &[("musthave", &one)])).await?;
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn must_not_have(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case1-not"]).await?;
    world
        .apply(&pod(
            "case1-not",
            "pod",
            ", image: nginx, ports: [{containerPort: 80}]",
        ))
        .await?;
    let policy = world.policy("case1-not");
    let whole = pod("case1-not", "pod", ", image: nginx");
    policy
        .apply(&spec("inform", &[("mustnothave", &whole)]))
        .await?;
    policy.is("NonCompliant").await?;
    // A named object is found by its name alone.
    let partial = pod("case1-not", "pod", "");
    policy
        .apply(&spec("inform", &[("mustnothave", &partial)]))
        .await?;
    policy
        .reports("pods [pod] found in namespace case1-not")
        .await?;
    ensure!(policy.observed().await?.compliance() == "NonCompliant");
    // Live fields that are not in the policy are too many.
    policy
        .apply(&spec("inform", &[("mustonlyhave", &whole)]))
        .await?;
    policy
        .reports("pods [pod] found but not as specified in namespace case1-not")
        .await?;
    ensure!(policy.observed().await?.compliance() == "NonCompliant");
    Ok(())
}

fn cannot_be_created(observed: &ObservedStatus, because: &str) -> bool {
    let message = observed.message(0);
    let rest = message
        .split_once("cannot be created")
        .map_or("", |(_, rest)| rest);
    observed.compliance() == "NonCompliant" && rest.contains(because)
}

pub(crate) async fn namespace_comes_later(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case1-later");
    let want = pod("case1-later", "pod", IMAGE);
    policy
        .apply(&spec("enforce", &[("musthave", &want)]))
        .await?;
    let because = "namespaces \"case1-later\" not found";
    policy
        .until(because, |observed| cannot_be_created(observed, because))
        .await?;
    policy
        .stays("missing", |observed| cannot_be_created(observed, because))
        .await?;
    world.namespaces(&["case1-later"]).await?;
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn namespace_goes(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case1-goes"]).await?;
    let anchor = "apiVersion: v1
kind: ConfigMap
metadata: {name: anchor, namespace: case1-goes, finalizers: [example.com/hold]}
";
    world.apply(anchor).await?;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "case1-goes" } });
    world.delete(&namespace.to_string()).await?;

    let policy = world.policy("case1-goes");
    let want = pod("case1-goes", "pod", IMAGE);
    policy
        .apply(&spec("enforce", &[("musthave", &want)]))
        .await?;
    let because = " in namespace case1-goes because it is being terminated";
    policy
        .until(because, |observed| cannot_be_created(observed, because))
        .await?;

    let release = json!({ "metadata": { "finalizers": null } });
    world
        .patch("v1", "ConfigMap", Some("case1-goes"), "anchor", release)
        .await?;
    world
        .gone(
            "v1",
            "Namespace",
            None,
            "case1-goes",
            std::time::Duration::from_mins(1),
        )
        .await?;
    policy
        .until("not found", |observed| {
            cannot_be_created(observed, "not found")
        })
        .await?;
    world.namespaces(&["case1-goes"]).await?;
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn other_namespace(world: Arc<Evaluator>) -> Result<()> {
    let namespace = "open-cluster-management-policies";
    let policy = reeve_scenarios::Subject::new(&world, namespace, "case1-other");
    world.namespaces(&["case1-other"]).await?;
    let want = pod("case1-other", "pod", IMAGE);
    policy
        .apply(&spec("inform", &[("musthave", &want)]))
        .await?;
    policy.is("NonCompliant").await?;
    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    Ok(())
}

/// CFG-117: items of a list are one item when they have one name.
pub(crate) async fn image(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case22"]).await?;
    let policy = world.policy("case22-image");
    policy
        .apply(&spec(
            "enforce",
            &[("musthave", &pod("case22", "pod", IMAGE))],
        ))
        .await?;
    policy.is("Compliant").await?;
    let uid = read(&world, "case22").await?.metadata.uid;

    let newer = pod("case22", "pod", ", image: nginx:1.7.10");
    policy
        .apply(&spec("enforce", &[("musthave", &newer)]))
        .await?;
    policy.is("Compliant").await?;
    let updated = || async {
        let live = read(&world, "case22").await?;
        let containers = live.data["spec"]["containers"]
            .as_array()
            .context("no containers")?;
        ensure!(
            containers.len() == 1 && containers[0]["image"] == "nginx:1.7.10",
            "{containers:?}"
        );
        ensure!(live.metadata.uid == uid, "it is another Pod");
        Ok(())
    };
    within("the one container has the new image", updated).await?;
    steadily("the one container has the new image", updated).await
}

async fn read(world: &Evaluator, namespace: &str) -> Result<reeve_testkit::Object> {
    world
        .get("v1", "Pod", Some(namespace), "pod")
        .await?
        .context("no Pod")
}
