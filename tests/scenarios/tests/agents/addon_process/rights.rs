//! What the add-on may do is all that it needs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{ADDON, CONFIGURATION, POLICY, configuration, make_namespace};
use reeve_testkit::{Component, Object, Plane, SOON, eventually, parse, workspace};
use serde_json::{Value, json};

use crate::addon_process::Planes;

const ALL_IN_ONE: &str = include_str!("roles.yaml");
const SHIPPED: &str = "deploy/rbac/governance-policy-framework-addon.yaml";
const SHIPPED_FOR_HUB: &str = "deploy/rbac/governance-policy-framework-addon-hub.yaml";
/// Where the Deployment of an add-on is that is not in a Pod.
const ADDON_NAMESPACE: &str = "open-cluster-management-agent-addon";
const RBAC: &str = "rbac.authorization.k8s.io";

pub(crate) async fn all_in_one(planes: Arc<Planes>) -> Result<()> {
    planes.managed.apply(ALL_IN_ONE).await?;
    suffice(&planes, "all-in-one").await
}

pub(crate) async fn shipped(planes: Arc<Planes>) -> Result<()> {
    let (user, managed) = ("shipped", &planes.managed);
    planes.setup(user).await?;
    make_namespace(managed, ADDON_NAMESPACE).await?;
    for role in read(SHIPPED)? {
        let is_role = role
            .types
            .as_ref()
            .is_some_and(|types| types.kind == "Role");
        let targets = match (is_role, role.name_any().ends_with("-own")) {
            (false, _) => vec![None],
            (true, false) => vec![Some(user)],
            // Its Deployment is elsewhere for the command than for the process, which runs in no Pod here.
            (true, true) => vec![Some(user), Some(ADDON_NAMESPACE)],
        };
        for target in targets {
            grant(managed, &role, target, user).await?;
        }
    }
    suffice(&planes, user).await
}

fn read(manifest: &str) -> Result<Vec<Object>> {
    let text = std::fs::read_to_string(workspace().join(manifest))?;
    parse(&text)
}

/// Applies a role, and gives it to a user in a namespace or everywhere.
async fn grant(plane: &Plane, role: &Object, target: Option<&str>, user: &str) -> Result<()> {
    let kind = role.types.as_ref().context("no kind")?.kind.as_str();
    let mut role = role.clone();
    if kind == "Role" {
        role.metadata.namespace = target.map(str::to_owned);
    }
    plane.apply_object(&role).await?;
    let bound = if target.is_some() {
        "RoleBinding"
    } else {
        "ClusterRoleBinding"
    };
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": bound,
        "metadata": { "name": format!("{}-{user}", role.name_any()), "namespace": target },
        "roleRef": { "apiGroup": RBAC, "kind": kind, "name": role.name_any() },
        "subjects": [{ "apiGroup": RBAC, "kind": "User", "name": user }]
    });
    plane.apply(&binding.to_string()).await?;
    Ok(())
}

/// The user has the name of the namespace.
async fn suffice(planes: &Planes, user: &str) -> Result<()> {
    let setup = planes.setup(user).await?;
    for role in read(SHIPPED_FOR_HUB)? {
        grant(&planes.hub, &role, Some(user), user).await?;
    }
    let setup = setup
        .hub(&planes.hub.kubeconfig_for(user, None)?)
        .managed(&planes.managed.kubeconfig_for(user, None)?);
    let marks = (planes.hub.audit()?.mark()?, planes.managed.audit()?.mark()?);
    let mut addon = setup.start().await?;
    play(planes, user).await.with_context(|| addon.log())?;
    key(planes, user).await.with_context(|| addon.log())?;
    for (plane, mark) in [(&planes.hub, marks.0), (&planes.managed, marks.1)] {
        let asked = plane.audit()?.since(mark)?;
        let denied = asked
            .iter()
            .filter(|event| event.user == user && matches!(event.code, 401 | 403));
        let denied: Vec<_> = denied.collect();
        ensure!(denied.is_empty(), "{denied:#?}");
    }
    forbidden(planes, user).await.with_context(|| addon.log())?;
    addon.component().stop().await?;
    revoke(planes, user).await
}

/// The command has the rights of the add-on, which does not run here: it is reported by its name, as all others are.
async fn revoke(planes: &Planes, user: &str) -> Result<()> {
    let managed = &planes.managed;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": ADDON, "namespace": user },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "c", "image": "none" }] }
            }
        }
    });
    managed.apply(&deployment.to_string()).await?;
    let policies = || managed.list(POLICY.0, POLICY.1, Some(user));
    ensure!(!policies().await?.is_empty(), "nothing to delete");
    let args = [
        "trigger-uninstall".to_owned(),
        format!("--policy-namespace={user}"),
        format!("--deployment-namespace={user}"),
        format!(
            "--kubeconfig={}",
            managed.kubeconfig_for(user, None)?.display()
        ),
    ];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut trigger = Component::spawn(ADDON, &args, &[])?;
    let status = trigger.wait(SOON).await?;
    ensure!(status.success(), "{status}: {}", trigger.log());
    ensure!(!trigger.log().contains("forbidden"), "{}", trigger.log());
    ensure!(policies().await?.is_empty(), "policies are left");
    Ok(())
}

fn policy(namespace: &str, name: &str, spec: &Value) -> String {
    let policy = json!({
        "apiVersion": POLICY.0, "kind": POLICY.1,
        "metadata": { "name": name, "namespace": namespace }, "spec": spec
    });
    policy.to_string()
}

/// Waits until the policy's newest message about its first template contains this.
async fn reports(plane: &Plane, namespace: &str, name: &str, part: &str) -> Result<()> {
    eventually(format!("{name} reports {part:?}"), SOON, || async {
        let policy = plane.get(POLICY.0, POLICY.1, Some(namespace), name).await?;
        let policy = policy.context("absent")?;
        let newest = policy
            .data
            .pointer("/status/details/0/history/0/message")
            .and_then(Value::as_str)
            .unwrap_or_default();
        ensure!(newest.contains(part), "{:#}", policy.data["status"]);
        Ok(())
    })
    .await
}

/// The key comes and goes.
async fn key(planes: &Planes, namespace: &str) -> Result<()> {
    let (hub, managed) = (&planes.hub, &planes.managed);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "policy-encryption-key", "namespace": namespace },
        "data": { "key": "MTIzNDU2Nzg5MDEyMzQ1Ng==" }
    });
    hub.apply(&secret.to_string()).await?;
    for data in [secret["data"].clone(), json!({ "key": "AAAA" })] {
        let changed = json!({ "data": data });
        hub.patch(
            "v1",
            "Secret",
            Some(namespace),
            "policy-encryption-key",
            changed,
        )
        .await?;
        eventually("the key is copied", SOON, || async {
            let copy = managed
                .get("v1", "Secret", Some(namespace), "policy-encryption-key")
                .await?;
            let copy = copy.context("no key")?;
            ensure!(copy.data["data"] == data, "another one");
            Ok(())
        })
        .await?;
    }
    hub.delete(&secret.to_string()).await?;
    let key = Some(namespace);
    managed
        .gone("v1", "Secret", key, "policy-encryption-key", SOON)
        .await
}

/// What add-ons do all day.
async fn play(planes: &Planes, namespace: &str) -> Result<()> {
    let (hub, managed) = (&planes.hub, &planes.managed);
    let name = "rights";
    let (api, kind) = CONFIGURATION;
    let there = |what: &'static str, holds: fn(&Value) -> bool| async move {
        eventually(what, SOON, || async {
            let object = managed.get(api, kind, Some(namespace), name).await?;
            let data = object.map(|object| object.data).unwrap_or_default();
            ensure!(holds(&data), "{data:#}");
            Ok(())
        })
        .await
    };
    let spec = |templates: Value| json!({ "disabled": false, "policy-templates": templates });
    let good = json!({ "objectDefinition": configuration(name, "inform") });
    hub.apply(&policy(namespace, name, &spec(json!([good]))))
        .await?;
    there("created", |data| data["spec"].is_object()).await?;
    let mut enforced = spec(json!([good]));
    enforced["remediationAction"] = json!("enforce");
    hub.apply(&policy(namespace, name, &enforced)).await?;
    there("updated", |data| {
        data["spec"]["remediationAction"] == "enforce"
    })
    .await?;
    // An error, its answer, and its end.
    let status = json!({ "status": { "compliant": "Compliant" } });
    managed
        .patch_status(api, kind, Some(namespace), name, status)
        .await?;
    let mut bad = configuration(name, "inform");
    bad["spec"]["severity"] = json!("unheard-of");
    hub.apply(&policy(
        namespace,
        name,
        &spec(json!([{ "objectDefinition": bad }])),
    ))
    .await?;
    reports(hub, namespace, name, "Failed to update policy template").await?;
    hub.apply(&policy(namespace, name, &enforced)).await?;
    there("asked for an answer", |data| {
        data["status"]["compliant"].is_null()
    })
    .await?;
    // What waits is deleted.
    let mut waiting = enforced.clone();
    waiting["dependencies"] = json!([{
        "apiVersion": api, "kind": kind, "name": "rights-absent", "compliance": "Compliant"
    }]);
    hub.apply(&policy(namespace, name, &waiting)).await?;
    there("deleted", Value::is_null).await?;
    reports(hub, namespace, name, "Pending; ").await?;
    // So is what is no longer asked for.
    hub.apply(&policy(namespace, name, &enforced)).await?;
    there("created again", |data| data["spec"].is_object()).await?;
    hub.apply(&policy(namespace, name, &spec(json!([]))))
        .await?;
    there("removed", Value::is_null).await?;
    for (plane, event) in [(managed, "synchronized"), (hub, "status was updated")] {
        eventually(format!("an event has {event}"), SOON, || async {
            let events = plane.list("v1", "Event", Some(namespace)).await?;
            let reported = events.iter().any(|it| {
                it.data["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(event))
            });
            ensure!(reported, "{} events", events.len());
            Ok(())
        })
        .await?;
    }
    hub.delete(&policy(namespace, name, &enforced)).await?;
    managed
        .gone(POLICY.0, POLICY.1, Some(namespace), name, SOON)
        .await
}

/// FWK-60: what may not be read freezes no status.
async fn forbidden(planes: &Planes, namespace: &str) -> Result<()> {
    let name = "forbidden";
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name }, "spec": {}
    });
    let spec = json!({
        "disabled": false, "policy-templates": [{ "objectDefinition": deployment }]
    });
    let hub = &planes.hub;
    hub.apply(&policy(namespace, name, &spec)).await?;
    let error = "policy-template kind is not supported: apps/v1, Kind=Deployment";
    reports(hub, namespace, name, error).await?;

    let name = "forbidden-dependency";
    let spec = json!({
        "disabled": false,
        "policy-templates": [{
            "objectDefinition": configuration(name, "inform"),
            "extraDependencies": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": "default",
                "compliance": "Compliant"
            }]
        }]
    });
    hub.apply(&policy(namespace, name, &spec)).await?;
    let text =
        "Dependencies were not satisfied: 1 is still pending (ConfigMap forbidden-dependency)";
    reports(hub, namespace, name, text).await?;
    // What may not be read is not asked for again and again: nothing publishes when it may.
    let mark = planes.managed.audit()?.mark()?;
    let asked = || -> Result<usize> {
        let events = planes.managed.audit()?.since(mark)?;
        let denied = events
            .iter()
            .filter(|event| event.user == namespace && event.resource == "configmaps");
        Ok(denied.count())
    };
    tokio::time::sleep(Duration::from_secs(3)).await;
    let times = asked()?;
    ensure!(times <= 2, "asked {times} times in three seconds");
    Ok(())
}
