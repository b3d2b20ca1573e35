//! Letting go of a cluster. The add-ons of these scenarios are their own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{ADDON, Addon, Agents, POLICY, holds, make_namespace, rule, within};
use reeve_testkit::{Component, Object};
use serde_json::{Value, json};

use crate::addon::templates::CLUSTER_RULE;

/// Where the add-on's Deployment is, as it is not in a Pod.
const NAMESPACE: &str = "open-cluster-management-agent-addon";
const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
/// What it logs when it learns that it is being uninstalled.
const BEGINS: &str = "the add-on is being removed: nothing is synced any more";
const UNINSTALLING: &str = "policy.open-cluster-management.io/uninstalling";

/// An add-on for a namespace, with a Deployment of that name.
struct Own<'a> {
    world: &'a Agents,
    namespace: &'a str,
    addon: Addon,
}

impl<'a> Own<'a> {
    async fn start(world: &'a Agents, namespace: &'a str) -> Result<Self> {
        for plane in [&world.hub, &world.managed] {
            make_namespace(plane, namespace).await?;
        }
        make_namespace(&world.managed, NAMESPACE).await?;
        let deployment = deployment(namespace);
        world.managed.apply(&deployment.to_string()).await?;
        let flags = [
            format!("--cluster-namespace={namespace}"),
            format!(
                "--hub-cluster-configfile={}",
                world.hub.kubeconfig().display()
            ),
            format!(
                "--managed-cluster-configfile={}",
                world.managed.kubeconfig().display()
            ),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let addon = Addon::start(&flags, &[("DEPLOYMENT_NAME", namespace)])?;
        Ok(Self {
            world,
            namespace,
            addon: addon.ready().await?,
        })
    }

    async fn apply(&self, name: &str, templates: &[Value]) -> Result<()> {
        let templates: Vec<Value> = templates
            .iter()
            .map(|template| json!({ "objectDefinition": template }))
            .collect();
        let policy = json!({
            "apiVersion": POLICY.0, "kind": POLICY.1,
            "metadata": { "name": name, "namespace": self.namespace },
            "spec": { "disabled": false, "policy-templates": templates }
        });
        self.world.hub.apply(&policy.to_string()).await?;
        Ok(())
    }

    /// Waits until it has learnt for this many times that it is being uninstalled.
    async fn knows(&self, times: usize) -> Result<()> {
        within("it knows", || async {
            let reported = self.addon.log().matches(BEGINS).count();
            ensure!(
                reported == times,
                "the add-on has logged it {reported} times"
            );
            Ok(())
        })
        .await
    }

    async fn copies(&self) -> Result<Vec<Object>> {
        let managed = &self.world.managed;
        managed.list(POLICY.0, POLICY.1, Some(self.namespace)).await
    }

    async fn copy(&self, name: &str) -> Result<Option<Object>> {
        let managed = &self.world.managed;
        managed
            .get(POLICY.0, POLICY.1, Some(self.namespace), name)
            .await
    }

    /// Waits until there are this many copies.
    async fn has(&self, count: usize) -> Result<()> {
        within(format!("{count} copies"), || async {
            let copies = self.copies().await?;
            ensure!(copies.len() == count, "{copies:#?}");
            Ok(())
        })
        .await
        .with_context(|| self.addon.log())
    }

    async fn annotate(&self, value: Value) -> Result<()> {
        let patch = json!({ "metadata": { "annotations": { UNINSTALLING: value } } });
        let (api, kind) = DEPLOYMENT;
        self.world
            .managed
            .patch(api, kind, Some(NAMESPACE), self.namespace, patch)
            .await?;
        Ok(())
    }

    fn trigger(&self, flags: &[&str]) -> Result<Component> {
        let fixed = [
            "trigger-uninstall".to_owned(),
            format!("--policy-namespace={}", self.namespace),
            format!("--deployment-name={}", self.namespace),
        ];
        let fixed: Vec<&str> = fixed.iter().map(String::as_str).collect();
        let env = [self.world.managed.kubeconfig_env()];
        Component::spawn(ADDON, &[&fixed, flags].concat(), &env)
    }
}

fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": DEPLOYMENT.0, "kind": DEPLOYMENT.1,
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "a": name } },
            "template": {
                "metadata": { "labels": { "a": name } },
                "spec": { "containers": [{ "name": "c", "image": "none" }] }
            }
        }
    })
}

pub(crate) async fn triggered(world: Arc<Agents>) -> Result<()> {
    let own = Own::start(&world, "case-c18-triggered").await?;
    let wide = "case-c18-wide";
    let undecodable = json!({ "metadata": { "name": "case-c18-odd" }, "spec": {} });
    own.apply("case-c18-policy", &[rule("ClusterRule", wide), undecodable])
        .await?;
    own.apply("case-c18-other", &[]).await?;
    own.has(2).await?;
    let (api, kind) = CLUSTER_RULE;
    let find = || world.managed.get(api, kind, None, wide);
    within("the template is made", || async {
        find().await?.map(|_| ()).context("absent")
    })
    .await?;
    let foreign = json!({ "metadata": { "finalizers": ["example.com/keep"] } });
    world.managed.patch(api, kind, None, wide, foreign).await?;

    let mut trigger = own.trigger(&["--timeout-seconds=60", "--log-level=1", "--v=2"])?;
    let status = trigger.wait(Duration::from_secs(70)).await?;
    ensure!(status.code() == Some(0), "{status}: {}", trigger.log());
    let (deployment_api, deployment_kind) = DEPLOYMENT;
    let deployment = world
        .managed
        .get(
            deployment_api,
            deployment_kind,
            Some(NAMESPACE),
            own.namespace,
        )
        .await?
        .context("no Deployment")?;
    let annotation = deployment.annotations().get(UNINSTALLING);
    ensure!(annotation.map(String::as_str) == Some("true"));
    let rule = find().await?.context("its finalizer was not minded")?;
    ensure!(rule.metadata.deletion_timestamp.is_some(), "{rule:#?}");
    holds("the policies stay away", || async {
        let copies = own.copies().await?;
        ensure!(copies.is_empty(), "{copies:#?}");
        let on_hub = world
            .hub
            .list(POLICY.0, POLICY.1, Some(own.namespace))
            .await?;
        ensure!(on_hub.len() == 2, "the hub has lost policies");
        Ok(())
    })
    .await?;
    let none = json!({ "metadata": { "finalizers": null } });
    world.managed.patch(api, kind, None, wide, none).await?;
    Ok(())
}

/// FWK-123: nothing is done while it is uninstalled, and everything at once when it is not.
pub(crate) async fn left_again(world: Arc<Agents>) -> Result<()> {
    let own = Own::start(&world, "rough-edge-44-left").await?;
    own.apply("rough-edge-44-policy", &[]).await?;
    own.has(1).await?;
    own.annotate(json!("true")).await?;
    own.knows(1).await?;
    own.apply("rough-edge-44-later", &[]).await?;
    let first = json!({ "spec": { "disabled": true } });
    world
        .hub
        .patch(
            POLICY.0,
            POLICY.1,
            Some(own.namespace),
            "rough-edge-44-policy",
            first,
        )
        .await?;
    let is_disabled = || async {
        let copy = own.copy("rough-edge-44-policy").await?;
        anyhow::Ok(copy.is_some_and(|copy| copy.data["spec"]["disabled"] == true))
    };
    holds("nothing is copied", || async {
        ensure!(own.copy("rough-edge-44-later").await?.is_none());
        ensure!(!is_disabled().await?);
        Ok(())
    })
    .await?;
    // As the chart writes it when the add-on is enabled again.
    let since = Instant::now();
    own.annotate(json!("false")).await?;
    within("everything is copied", || async {
        ensure!(own.copy("rough-edge-44-later").await?.is_some());
        ensure!(is_disabled().await?);
        Ok(())
    })
    .await?;
    ensure!(since.elapsed() < Duration::from_secs(20), "it took long");

    // A Deployment that goes is an uninstallation too.
    let (api, kind) = DEPLOYMENT;
    world
        .managed
        .delete(&deployment(own.namespace).to_string())
        .await?;
    let gone = world
        .managed
        .gone(
            api,
            kind,
            Some(NAMESPACE),
            own.namespace,
            Duration::from_secs(30),
        )
        .await;
    gone?;
    own.knows(2).await?;
    own.apply("rough-edge-44-last", &[]).await?;
    holds("nothing is copied", || async {
        ensure!(own.copy("rough-edge-44-last").await?.is_none());
        Ok(())
    })
    .await
}

/// An add-on that is started while it is being removed makes nothing again.
pub(crate) async fn restarted(world: Arc<Agents>) -> Result<()> {
    let mut own = Own::start(&world, "case-c18-restarted").await?;
    own.apply("case-c18-before", &[]).await?;
    own.has(1).await?;
    own.annotate(json!("true")).await?;
    own.addon.component().kill().await;
    let (api, kind) = POLICY;
    let before = json!({
        "apiVersion": api, "kind": kind,
        "metadata": { "name": "case-c18-before", "namespace": own.namespace }
    });
    world.managed.delete(&before.to_string()).await?;
    own.addon.component().restart()?;
    own.addon = own.addon.ready().await?;
    holds("nothing is copied", || async {
        let copies = own.copies().await?;
        ensure!(copies.is_empty(), "{copies:#?}");
        Ok(())
    })
    .await?;
    own.annotate(Value::Null).await?;
    own.has(1).await
}

pub(crate) async fn gives_up(world: Arc<Agents>) -> Result<()> {
    let own = Own::start(&world, "case-c18-stuck").await?;
    own.apply("case-c18-stuck", &[]).await?;
    own.has(1).await?;
    let (api, kind) = POLICY;
    let finalizers = |finalizers: Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } });
        let namespace = Some(own.namespace);
        world
            .managed
            .patch(api, kind, namespace, "case-c18-stuck", patch)
    };
    finalizers(json!(["example.com/keep"])).await?;
    let mut trigger = own.trigger(&["--timeout-seconds=30"])?;
    let status = trigger.wait(Duration::from_secs(45)).await?;
    let log = trigger.log();
    ensure!(status.code() == Some(1), "{status}: {log}");
    let want = "context canceled before the uninstallation preparation was complete";
    ensure!(log.contains(want), "{log}");
    finalizers(Value::Null).await?;
    own.has(0).await
}

pub(crate) async fn wrong(world: Arc<Agents>) -> Result<()> {
    let env = [world.managed.kubeconfig_env()];
    let needs =
        "--deployment-name, --deployment-namespace, --policy-namespace must all have values";
    let policies = "--policy-namespace=case-c18-wrong";
    for (args, code, want) in [
        (&[][..], 1, needs),
        (&[policies, "--deployment-name="], 1, needs),
        (&[policies, "--deployment-namespace="], 1, needs),
        (
            &[policies, "--timeout-seconds=29"],
            1,
            "--timeout-seconds must be set to at least 30 seconds",
        ),
        (
            &[policies, "--deployment-name=case-c18-absent"],
            1,
            "case-c18-absent",
        ),
        (
            &[policies, "--kubeconfig=/nonexistent/kubeconfig"],
            1,
            "/nonexistent/kubeconfig",
        ),
        (&["--no-such-flag"], 2, "--no-such-flag"),
    ] {
        let args = [&["trigger-uninstall"], args].concat();
        let mut trigger = Component::spawn(ADDON, &args, &env)?;
        let status = trigger.wait(Duration::from_secs(30)).await?;
        let log = trigger.log();
        ensure!(status.code() == Some(code), "{args:?}: {status}: {log}");
        ensure!(log.contains(want), "{args:?}: {log}");
    }
    Ok(())
}
