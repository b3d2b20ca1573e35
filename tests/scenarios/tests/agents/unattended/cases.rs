//! The cases.

use std::sync::Arc;

use anyhow::{Result, ensure};
use kube::api::{Api, DeleteParams, DynamicObject, PropagationPolicy};
use reeve_testkit::{SOON, eventually};
use serde_json::{Value, json};

use crate::unattended::hub::{
    ADDON, CONFIG_POLICY, CONTROLLER, FRAMEWORK, HOSTED_ON, Hub, STANDALONE, version,
};

const DEPLOY: &str = "addon-config-policy-controller-deploy-0";
const HOOK: &str = "addon-config-policy-controller-pre-delete";

fn hosted_on(host: &str) -> Value {
    json!({ "annotations": { HOSTED_ON: host } })
}

fn hosted_deploy(cluster: &str) -> String {
    format!("addon-config-policy-controller-deploy-hosting-{cluster}-0")
}

fn hosted_hook(cluster: &str) -> String {
    format!("addon-config-policy-controller-pre-delete-hosting-{cluster}")
}

pub(crate) async fn first(hub: Arc<Hub>) -> Result<()> {
    hub.join("first").await?;
    let mark = hub.plane.audit()?.mark()?;
    hub.enable("first", CONFIG_POLICY, json!({})).await?;
    hub.succeed("first", DEPLOY).await?;
    eventually("the add-on reports that it is applied", SOON, || async {
        let reason = hub
            .reason("first", CONFIG_POLICY, "ManifestApplied")
            .await?;
        ensure!(reason == "AddonManifestApplied", "{reason}");
        Ok(())
    })
    .await?;
    let asked = hub.plane.audit()?.since(mark)?;
    let writes = asked.iter().filter(|event| {
        event.user_agent.starts_with(CONTROLLER)
            && event.namespace == "first"
            && !matches!(event.verb.as_str(), "get" | "list" | "watch")
            && event.resource != "events"
            // The addon-manager writes the same object at the same time.
            && event.code < 400
    });
    let writes: Vec<String> = writes
        .map(|event| format!("{} {}", event.verb, event.resource))
        .collect();
    // The rights, how to register, the finalizer, the work, that it is applied, and one status in between.
    ensure!(writes.len() <= 6, "{writes:?}");
    Ok(())
}

pub(crate) async fn two_hosted(hub: Arc<Hub>) -> Result<()> {
    for name in ["host", "guest1", "guest2"] {
        hub.join(name).await?;
    }
    for guest in ["guest1", "guest2"] {
        hub.enable(guest, CONFIG_POLICY, hosted_on("host")).await?;
    }
    let (one, two) = (hosted_deploy("guest1"), hosted_deploy("guest2"));
    hub.has_works("host", &[&one, &two]).await?;
    let before = version(&hub.work("host", &two).await?);
    hub.disable("guest1", CONFIG_POLICY).await?;
    hub.succeed("host", &hosted_hook("guest1")).await?;
    hub.gone("guest1", CONFIG_POLICY).await?;
    hub.has_works("host", &[&two]).await?;
    let after = version(&hub.work("host", &two).await?);
    ensure!(
        before == after,
        "the other's work was touched: {before:?}, {after:?}"
    );
    Ok(())
}

pub(crate) async fn moved(hub: Arc<Hub>) -> Result<()> {
    for name in ["old-host", "new-host", "wanderer"] {
        hub.join(name).await?;
    }
    hub.enable("wanderer", CONFIG_POLICY, hosted_on("old-host"))
        .await?;
    let work = hosted_deploy("wanderer");
    hub.has_works("old-host", &[&work]).await?;
    hub.annotate("wanderer", CONFIG_POLICY, (HOSTED_ON, json!("new-host")))
        .await?;
    hub.has_works("new-host", &[&work]).await?;
    hub.has_works("old-host", &[]).await?;
    hub.annotate("wanderer", CONFIG_POLICY, (HOSTED_ON, json!("no-host")))
        .await?;
    hub.has_works("new-host", &[]).await?;
    eventually(
        "the add-on reports that there is no such cluster",
        SOON,
        || async {
            let reason = hub
                .reason("wanderer", CONFIG_POLICY, "HostingClusterValidity")
                .await?;
            ensure!(reason == "HostingClusterInvalid", "{reason}");
            Ok(())
        },
    )
    .await?;
    // Without a host nothing holds it.
    hub.disable("wanderer", CONFIG_POLICY).await?;
    hub.gone("wanderer", CONFIG_POLICY).await
}

pub(crate) async fn to_default(hub: Arc<Hub>) -> Result<()> {
    for name in ["landlord", "tenant"] {
        hub.join(name).await?;
    }
    hub.enable("tenant", CONFIG_POLICY, hosted_on("landlord"))
        .await?;
    hub.has_works("landlord", &[&hosted_deploy("tenant")])
        .await?;
    hub.annotate("tenant", CONFIG_POLICY, (HOSTED_ON, Value::Null))
        .await?;
    hub.has_works("tenant", &[DEPLOY]).await?;
    hub.has_works("landlord", &[]).await?;
    hub.disable("tenant", CONFIG_POLICY).await?;
    hub.succeed("tenant", HOOK).await?;
    hub.gone("tenant", CONFIG_POLICY).await
}

pub(crate) async fn unreachable(hub: Arc<Hub>) -> Result<()> {
    hub.join("silent").await?;
    hub.answers("silent", "True").await?;
    hub.enable("silent", CONFIG_POLICY, json!({})).await?;
    hub.work("silent", DEPLOY).await?;
    let because = |expected: &'static str| {
        let hub = Arc::clone(&hub);
        async move {
            eventually(
                format!("the deletion waits because of {expected}"),
                SOON,
                || async {
                    let reason = hub
                        .reason("silent", CONFIG_POLICY, "UninstallBlocked")
                        .await?;
                    ensure!(reason == expected, "{reason}");
                    Ok(())
                },
            )
            .await
        }
    };
    hub.held("silent", CONFIG_POLICY).await?;
    hub.disable("silent", CONFIG_POLICY).await?;
    because("CleanupRunning").await?;
    hub.answers("silent", "Unknown").await?;
    because("ClusterUnavailable").await?;
    let force = "policy.open-cluster-management.io/force-uninstall";
    hub.annotate("silent", CONFIG_POLICY, (force, json!("true")))
        .await?;
    hub.gone("silent", CONFIG_POLICY).await
}

pub(crate) async fn without_configuration(hub: Arc<Hub>) -> Result<()> {
    hub.join("configured").await?;
    let config = json!({
        "apiVersion": ADDON.0, "kind": "AddOnDeploymentConfig",
        "metadata": { "namespace": "configured", "name": "settings" },
        "spec": { "agentInstallNamespace": "agents", "customizedVariables": [{ "name": "logLevel", "value": "4" }] },
    });
    hub.plane.apply(&config.to_string()).await?;
    let configs = json!([{
        "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
        "namespace": "configured", "name": "settings",
    }]);
    hub.enable("configured", CONFIG_POLICY, json!({ "configs": configs }))
        .await?;
    let args = hub.args("configured", DEPLOY).await?;
    ensure!(args.contains(&"--log-level=4".to_owned()), "{args:?}");
    hub.plane.delete(&config.to_string()).await?;
    hub.disable("configured", CONFIG_POLICY).await?;
    let hook = hub.work("configured", HOOK).await?;
    let pod = &hook.data["spec"]["workload"]["manifests"][0]["metadata"];
    ensure!(pod["namespace"] == "agents", "{pod}");
    hub.succeed("configured", HOOK).await?;
    hub.gone("configured", CONFIG_POLICY).await
}

pub(crate) async fn foreground(hub: Arc<Hub>) -> Result<()> {
    hub.join("front").await?;
    hub.enable("front", CONFIG_POLICY, json!({})).await?;
    hub.work("front", DEPLOY).await?;
    hub.held("front", CONFIG_POLICY).await?;
    let (kind, _) = hub.plane.kind(ADDON.0, ADDON.1).await?;
    let api: Api<DynamicObject> = Api::namespaced_with(hub.plane.client(), "front", &kind);
    let parameters = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Foreground),
        ..DeleteParams::default()
    };
    api.delete(CONFIG_POLICY, &parameters).await?;
    hub.has_works("front", &[DEPLOY, HOOK]).await?;
    // The garbage collector would have taken it within this time.
    let before = version(&hub.work("front", HOOK).await?);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let after = version(&hub.work("front", HOOK).await?);
    ensure!(
        before == after,
        "what cleans up was made again: {before:?}, {after:?}"
    );
    hub.succeed("front", HOOK).await?;
    hub.gone("front", CONFIG_POLICY).await?;
    // Some of them are the garbage collector's, which looks for new kinds twice a minute.
    eventually(
        "the works are gone",
        std::time::Duration::from_mins(2),
        || async { hub.has_works("front", &[]).await },
    )
    .await
}

pub(crate) async fn standalone(hub: Arc<Hub>) -> Result<()> {
    hub.join("alone").await?;
    hub.enable("alone", STANDALONE, json!({})).await?;
    hub.work(
        "alone",
        "addon-governance-standalone-hub-templating-deploy-0",
    )
    .await?;
    hub.enable("alone", CONFIG_POLICY, json!({})).await?;
    let mounts = |expected: bool| {
        let hub = Arc::clone(&hub);
        async move {
            eventually(
                format!("the agent uses the credentials: {expected}"),
                SOON,
                || async {
                    let args = hub.args("alone", DEPLOY).await?;
                    let found = args
                        .iter()
                        .any(|arg| arg.contains("standalone-hub-templates"));
                    ensure!(found == expected, "{args:?}");
                    Ok(())
                },
            )
            .await
        }
    };
    mounts(true).await?;
    hub.disable("alone", STANDALONE).await?;
    hub.gone("alone", STANDALONE).await?;
    mounts(false).await
}

/// The work agent deletes what a work no longer names, so the namespace is orphaned first.
pub(crate) async fn marked_late(hub: Arc<Hub>) -> Result<()> {
    hub.join("late").await?;
    hub.enable("late", FRAMEWORK, json!({})).await?;
    let work = "addon-governance-policy-framework-deploy-0";
    let state = || async {
        let spec = hub.work("late", work).await?.data["spec"].clone();
        let manifests = spec["workload"]["manifests"].as_array().cloned();
        let is_own =
            |object: &Value| object["kind"] == "Namespace" && object["metadata"]["name"] == "late";
        let rules = spec["deleteOption"]["selectivelyOrphans"]["orphaningRules"].to_string();
        let is_named = manifests
            .into_iter()
            .flatten()
            .any(|object| is_own(&object));
        anyhow::Ok((is_named, rules.contains(r#""late""#)))
    };
    let becomes = |expected: (bool, bool)| async move {
        eventually(
            format!("(named, orphaned) is {expected:?}"),
            SOON,
            || async {
                let found = state().await?;
                ensure!(found == expected, "it is {found:?}");
                Ok(())
            },
        )
        .await
    };
    becomes((true, false)).await?;
    hub.succeed("late", work).await?;
    let on_hub = "addon.open-cluster-management.io/on-multicluster-hub";
    hub.annotate("late", FRAMEWORK, (on_hub, json!("true")))
        .await?;
    becomes((true, true)).await?;
    hub.succeed("late", work).await?;
    becomes((false, false)).await
}

/// The agent that cleans up after its add-on was removed from the hub keeps its rights, and what it shared goes at the end.
pub(crate) async fn definition_deleted() -> Result<()> {
    const ROLE: (&str, &str) = ("rbac.authorization.k8s.io/v1", "ClusterRole");
    const NAME: &str = "open-cluster-management:config-policy-controller-hub";
    let hub = Hub::start().await?;
    let has_role = async || {
        let role = hub.plane.get(ROLE.0, ROLE.1, None, NAME).await?;
        anyhow::Ok(role.is_some())
    };
    hub.join("removed").await?;
    hub.enable("removed", CONFIG_POLICY, json!({})).await?;
    hub.work("removed", DEPLOY).await?;
    hub.held("removed", CONFIG_POLICY).await?;
    ensure!(has_role().await?, "the agent has no rights");
    let definition = json!({
        "apiVersion": ADDON.0, "kind": "ClusterManagementAddOn",
        "metadata": { "name": CONFIG_POLICY },
    });
    hub.plane.delete(&definition.to_string()).await?;
    // The garbage collector deletes the add-on of the cluster, which waits for its agent.
    hub.has_works("removed", &[DEPLOY, HOOK]).await?;
    // It would have taken the rights, too, within this time.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    ensure!(has_role().await?, "the agent lost its rights");
    hub.succeed("removed", HOOK).await?;
    hub.gone("removed", CONFIG_POLICY).await?;
    eventually("what agents shared is gone", SOON, || async {
        ensure!(!has_role().await?, "the role is there");
        Ok(())
    })
    .await
}
