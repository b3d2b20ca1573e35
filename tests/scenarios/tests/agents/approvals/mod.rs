//! Certificate requests of agents and of forgers, on a real hub: who is approved, and why the others are not.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, DynamicObject, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reeve_scenarios::{SuiteRun, run_beside, scenario};
use reeve_testkit::{
    Component, Plane, PlaneOptions, SOON, certificate_request, eventually, install_addon_crds,
};
use serde_json::{Value, json};

const ADDON: &str = "config-policy-controller";
const REQUEST: (&str, &str) = ("certificates.k8s.io/v1", "CertificateSigningRequest");
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

struct Hub {
    plane: Plane,
    controller: Component,
}

/// A request as the registration agent makes it, and what a forger may change of it.
struct Request {
    name: &'static str,
    by: &'static str,
    cluster: &'static str,
    groups: Vec<String>,
    user: String,
    dns: Vec<String>,
    signer: &'static str,
    usages: Vec<&'static str>,
}

fn group_of(cluster: &str) -> String {
    format!("system:open-cluster-management:cluster:{cluster}:addon:{ADDON}")
}

fn groups(cluster: &str) -> Vec<String> {
    vec![
        group_of(cluster),
        format!("system:open-cluster-management:addon:{ADDON}"),
    ]
}

impl Request {
    fn of(name: &'static str, cluster: &'static str) -> Self {
        Self {
            name,
            by: "system:open-cluster-management:cluster1:agent1",
            cluster,
            groups: groups(cluster),
            user: format!("{}:agent:{ADDON}", group_of(cluster)),
            dns: vec![format!("{ADDON}.addon.open-cluster-management.io")],
            signer: SIGNER,
            usages: vec!["digital signature", "key encipherment", "client auth"],
        }
    }
}

/// Forged requests, each with the message of its event.
fn forgeries() -> Vec<(Request, &'static str)> {
    let of = |name| Request::of(name, "cluster1");
    let another = group_of("cluster10");
    let with = |group: &str| [groups("cluster1"), vec![group.to_owned()]].concat();
    vec![
        (
            Request {
                by: "system:open-cluster-management:cluster10:agent1",
                ..of("addon-a-neighbour")
            },
            "who is no agent of the cluster \"cluster1\"",
        ),
        (
            Request {
                by: "jane",
                ..of("addon-a-somebody")
            },
            "who is no agent of the cluster \"cluster1\"",
        ),
        (
            Request {
                groups: with(&another),
                ..of("addon-b-other-cluster")
            },
            "its organizations are",
        ),
        (
            Request {
                groups: with("system:nodes"),
                ..of("addon-b-other-group")
            },
            "its organizations are",
        ),
        (
            Request {
                groups: vec![group_of("cluster1")],
                ..of("addon-b-one-group")
            },
            "its organizations are",
        ),
        (
            Request {
                user: "system:admin".to_owned(),
                ..of("addon-c-user")
            },
            "its common name is \"system:admin\"",
        ),
        (
            Request {
                signer: "example.com/signer",
                ..of("addon-c-signer")
            },
            "its signer is \"example.com/signer\"",
        ),
        (
            Request {
                usages: vec!["client auth", "server auth"],
                ..of("addon-c-usages")
            },
            "its usages are",
        ),
        (
            Request {
                dns: vec!["kubernetes.default".to_owned()],
                ..of("addon-c-names")
            },
            "of alternative names",
        ),
        (
            Request {
                by: "system:open-cluster-management:nowhere:agent1",
                ..Request::of("addon-no-cluster", "nowhere")
            },
            "there is no ManagedCluster \"nowhere\"",
        ),
        (
            Request {
                by: "system:open-cluster-management:cluster10:agent1",
                ..Request::of("addon-no-addon", "cluster10")
            },
            "is not enabled on the cluster \"cluster10\"",
        ),
    ]
}

async fn start() -> Result<Hub> {
    let plane = Plane::start(PlaneOptions {
        name: "hub",
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    install_addon_crds(&plane).await?;
    for cluster in ["cluster1", "cluster10"] {
        reeve_testkit::world::register(&plane, cluster).await?;
    }
    let addon = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": { "namespace": "cluster1", "name": ADDON }, "spec": {},
    });
    plane.apply(&addon.to_string()).await?;
    plane.apply(&may_ask()).await?;
    let controller = Component::spawn(
        "governance-policy-addon-controller",
        &["controller", "--namespace=default"],
        &[plane.kubeconfig_env()],
    )?;
    Ok(Hub { plane, controller })
}

/// Whoever has a name may ask: what is approved is all that protects the hub.
fn may_ask() -> String {
    let group = "system:authenticated";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "ask" },
        "rules": [{ "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"] }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "ask" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "ask" },
        "subjects": [{ "kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io" }],
    });
    format!("{role}\n---\n{binding}")
}

/// Asks in somebody's name.
async fn ask(hub: &Hub, request: &Request) -> Result<()> {
    let kubeconfig = Kubeconfig::read_from(hub.plane.kubeconfig())?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    config.auth_info.impersonate = Some(request.by.to_owned());
    config.auth_info.impersonate_groups = Some(vec!["system:authenticated".to_owned()]);
    let groups: Vec<&str> = request.groups.iter().map(String::as_str).collect();
    let dns: Vec<&str> = request.dns.iter().map(String::as_str).collect();
    let pem = certificate_request(&request.user, &groups, &dns)?;
    let object = json!({
        "apiVersion": REQUEST.0, "kind": REQUEST.1,
        "metadata": {
            "name": request.name,
            "labels": {
                "open-cluster-management.io/cluster-name": request.cluster,
                "open-cluster-management.io/addon-name": ADDON,
            },
        },
        "spec": {
            "request": STANDARD.encode(pem), "signerName": request.signer, "usages": request.usages,
        },
    });
    let object: DynamicObject = serde_json::from_value(object)?;
    let kind = hub.plane.kind(REQUEST.0, REQUEST.1).await?.0;
    let api: Api<DynamicObject> = Api::all_with(Client::try_from(config)?, &kind);
    let asked = api.create(&PostParams::default(), &object).await;
    asked.with_context(|| format!("asking for {}", request.name))?;
    Ok(())
}

async fn conditions(hub: &Hub, name: &str) -> Result<Value> {
    let found = hub.plane.get(REQUEST.0, REQUEST.1, None, name).await?;
    let found = found.with_context(|| format!("{name} is gone"))?;
    Ok(found.data["status"].clone())
}

async fn forged(hub: Arc<Hub>) -> Result<()> {
    let forgeries = forgeries();
    for (request, _) in &forgeries {
        ask(&hub, request).await?;
    }
    for (request, why) in &forgeries {
        let name = request.name;
        eventually(
            format!("an event has the reason why {name} is pending"),
            SOON,
            || async {
                let events = hub
                    .plane
                    .list("events.k8s.io/v1", "Event", Some("default"))
                    .await?;
                let about: Vec<&DynamicObject> = events
                    .iter()
                    .filter(|event| event.data["regarding"]["name"] == name)
                    .collect();
                let observed = about.iter().any(|event| {
                    let note = event.data["note"].as_str().unwrap_or_default();
                    event.data["reason"] == "AddonCSRNotApproved" && note.contains(why)
                });
                ensure!(
                    observed,
                    "{:?}",
                    about
                        .iter()
                        .map(|event| &event.data["note"])
                        .collect::<Vec<_>>()
                );
                Ok(())
            },
        )
        .await?;
        let status = conditions(&hub, name).await?;
        ensure!(
            status["conditions"].is_null(),
            "{name} is decided: {status}"
        );
        ensure!(status["certificate"].is_null(), "{name} is signed");
    }
    Ok(())
}

async fn genuine(hub: Arc<Hub>) -> Result<()> {
    let old = Request {
        groups: [groups("cluster1"), vec!["system:authenticated".to_owned()]].concat(),
        ..Request::of("addon-of-an-old-agent", "cluster1")
    };
    for request in [Request::of("addon-of-an-agent", "cluster1"), old] {
        ask(&hub, &request).await?;
        eventually(format!("{} is signed", request.name), SOON, || async {
            let status = conditions(&hub, request.name).await?;
            let condition = &status["conditions"][0];
            ensure!(condition["type"] == "Approved", "{status}");
            ensure!(
                condition["reason"] == "AutoApprovedByHubCSRApprovingController",
                "{status}"
            );
            ensure!(
                condition["message"] == "Auto approving addon agent certificate.",
                "{status}"
            );
            ensure!(status["certificate"].is_string(), "{status}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// What came too early is approved once there is a reason to.
async fn early(hub: Arc<Hub>) -> Result<()> {
    let request = Request {
        by: "system:open-cluster-management:cluster11:agent1",
        ..Request::of("addon-too-early", "cluster11")
    };
    ask(&hub, &request).await?;
    let name = request.name;
    eventually(
        "an event reports that there is no cluster",
        SOON,
        || async {
            let events = hub
                .plane
                .list("events.k8s.io/v1", "Event", Some("default"))
                .await?;
            let found = events
                .iter()
                .any(|event| event.data["regarding"]["name"] == name);
            ensure!(found, "{} events, none about it", events.len());
            Ok(())
        },
    )
    .await?;
    reeve_testkit::world::register(&hub.plane, "cluster11").await?;
    let addon = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": { "namespace": "cluster11", "name": ADDON }, "spec": {},
    });
    hub.plane.apply(&addon.to_string()).await?;
    eventually(format!("{name} is approved"), SOON, || async {
        let status = conditions(&hub, name).await?;
        ensure!(status["conditions"][0]["type"] == "Approved", "{status}");
        Ok(())
    })
    .await
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_beside(
        suite,
        start(),
        |hub: Arc<Hub>, _| Box::pin(async move { hub.controller.log() }),
        vec![
            scenario("addon_108_forged_requests_are_not_approved", |hub| {
                Box::pin(forged(hub))
            }),
            scenario("requests_of_agents_are_approved", |hub| {
                Box::pin(genuine(hub))
            }),
            scenario("early_request_is_approved_later", |hub| {
                Box::pin(early(hub))
            }),
        ],
    )
}
