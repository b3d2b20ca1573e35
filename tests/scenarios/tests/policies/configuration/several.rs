//! Policies of several object templates.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, same, spec};

fn pod(name: &str, rest: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: case5}}
spec:
  {rest}
"
    )
}

const CONTAINERS: &str = "containers: [{name: nginx, image: nginx}]";

pub(crate) async fn two_then_one(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case5"]).await?;
    let (first, second) = (pod("first", CONTAINERS), pod("second", CONTAINERS));
    let both = [("musthave", first.as_str()), ("musthave", &second)];
    let policy = world.policy("case5-two");
    policy.apply(&spec("inform", &both)).await?;
    let observed = policy.is("NonCompliant").await?;
    same(
        "the message of the first",
        observed.message(0),
        "pods [first] not found in namespace case5",
    )?;
    same(
        "the message of the second",
        observed.message(1),
        "pods [second] not found in namespace case5",
    )?;

    policy.remediate("enforce").await?;
    let observed = policy.is("Compliant").await?;
    same("the number of details", observed.details(), 2)?;
    for name in ["first", "second"] {
        world
            .get("v1", "Pod", Some("case5"), name)
            .await?
            .context(name)?;
    }
    policy.apply(&spec("enforce", &both[..1])).await?;
    let observed = policy
        .until("one detail", |observed| observed.details() == 1)
        .await?;
    same("the compliance", observed.compliance(), "Compliant")
}

pub(crate) async fn one_pod_twice(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case5"]).await?;
    world.apply(&pod("twice", CONTAINERS)).await?;
    // Each template has its own verdict on the one Pod, before and after.
    let image = pod("twice", "containers: [{name: nginx, image: nginx:2}]");
    let deadline = pod("twice", "activeDeadlineSeconds: 3600");
    let policy = world.policy("case5-twice");
    policy
        .apply(&spec(
            "inform",
            &[("musthave", &image), ("musthave", &deadline)],
        ))
        .await?;
    let observed = policy.is("NonCompliant").await?;
    same("the number of details", observed.details(), 2)?;
    same("the first", observed.compliance_of(0), "NonCompliant")?;
    same("the second", observed.compliance_of(1), "NonCompliant")?;

    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    policy.stays_with("Compliant").await?;
    let live = world
        .get("v1", "Pod", Some("case5"), "twice")
        .await?
        .context("no Pod")?;
    let spec = &live.data["spec"];
    ensure!(
        spec["containers"][0]["image"] == "nginx:2" && spec["activeDeadlineSeconds"] == 3600,
        "{spec}"
    );
    Ok(())
}

pub(crate) async fn have_and_only_have(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case5"]).await?;
    let map = |data: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: both, namespace: case5}}\ndata: {data}\n"
        )
    };
    world.apply(&map("{a: old, extra: x}")).await?;
    let want = map("{a: new}");
    let policy = world.policy("case5-both");
    policy
        .apply(&spec(
            "inform",
            &[("musthave", &want), ("mustonlyhave", &want)],
        ))
        .await?;
    let observed = policy.is("NonCompliant").await?;
    same("the number of details", observed.details(), 2)?;

    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    let live = world
        .get("v1", "ConfigMap", Some("case5"), "both")
        .await?
        .context("no ConfigMap")?;
    same(
        "the data",
        &live.data["data"],
        &serde_json::json!({ "a": "new" }),
    )
}

pub(crate) async fn no_namespace(world: Arc<Evaluator>) -> Result<()> {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: case6-alone}\n";
    let policy = world.policy("case6-namespace");
    policy
        .apply(&spec("enforce", &[("musthave", namespace)]))
        .await?;
    policy.is("Compliant").await?;

    let other = "apiVersion: v1\nkind: Namespace\nmetadata: {name: case6-beside}\n";
    let role = "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: case6}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get]}
";
    let policy = world.policy("case6-role");
    policy
        .apply(&spec("enforce", &[("musthave", other), ("musthave", role)]))
        .await?;
    let observed = policy
        .until("the Namespace is there", |observed| {
            observed.details() == 2 && observed.compliance_of(0) == "Compliant"
        })
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    same("the reason", observed.reason(1), "K8s missing namespace")?;
    same(
        "the message",
        observed.message(1),
        "namespaced object case6 of kind Role has no namespace specified from the policy \
         namespaceSelector nor the object metadata",
    )?;
    ensure!(
        world
            .get("v1", "Namespace", None, "case6-beside")
            .await?
            .is_some()
    );
    Ok(())
}
