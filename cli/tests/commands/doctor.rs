//! `reeve doctor` on a hub in this process: a complete one, and one that lacks a part.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use reeve_fleet::{
    Access, Cluster, Constraints, ExternalData, Fleet, FleetOptions, Pods, RateLimits, Target,
    apply,
};
use reeve_manifests::{Input, Object, Position};
use reeve_report::{Entry, State};
use serde_json::{Value, json};

const NAMESPACE: &str = "open-cluster-management";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn object(value: Value) -> Result<Object> {
    Ok(Object::new(Position::default(), value)?)
}

/// The definition and the object of the operator of Open Cluster Management, as far as they are read.
fn manager() -> [Value; 2] {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    [
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "clustermanagers.operator.open-cluster-management.io" },
            "spec": {
                "group": "operator.open-cluster-management.io", "scope": "Cluster",
                "names": {
                    "plural": "clustermanagers", "singular": "clustermanager", "kind": "ClusterManager",
                    "listKind": "ClusterManagerList",
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": {
                        "type": "object", "properties": { "spec": any, "status": any },
                    } },
                }],
            },
        }),
        json!({
            "apiVersion": "operator.open-cluster-management.io/v1", "kind": "ClusterManager",
            "metadata": { "name": "cluster-manager" },
            "spec": { "registrationImagePullSpec": "quay.io/open-cluster-management/registration:v1.1.0" },
            "status": { "conditions": [{ "type": "Applied", "status": "True" }] },
        }),
    ]
}

fn addon(name: &str) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": { "name": name, "namespace": "cluster1" }, "spec": {},
        "status": { "conditions": [{
            "type": "Available", "status": "True", "reason": "ManagedClusterAddOnLeaseUpdated", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] },
    })
}

/// A hub with everything, and a cluster.
async fn complete() -> Result<Fleet> {
    let fleet = Fleet::start(FleetOptions {
        clusters: vec![Cluster::from("cluster1".to_owned())],
        folder: PathBuf::from("in-process"),
        access: Access::InProcess,
        data: None,
        pods: Pods::Kept,
        limits: RateLimits::Lifted,
        constraints: Constraints::Ignored,
        external_data: ExternalData::default(),
    });
    let fleet = fleet.await?;
    let files = [
        "rbac.yaml",
        "addons.yaml",
        "governance-policy-addon-controller.yaml",
        "governance-policy-propagator.yaml",
    ];
    let files = files.map(|file| Input::Path(root().join("deploy/hub").join(file)));
    let found = reeve_manifests::read(&files);
    ensure!(found.errors.is_empty(), "{:?}", found.errors);
    let mut objects = Vec::new();
    for mut one in found.objects {
        if one.kind == "Deployment" {
            one.value["status"] = json!({ "replicas": 1, "availableReplicas": 1 });
        }
        objects.push(one);
    }
    for value in manager() {
        objects.push(object(value)?);
    }
    for name in ["governance-policy-framework", "config-policy-controller"] {
        objects.push(object(addon(name))?);
    }
    apply_all(&fleet, &objects).await?;
    Ok(fleet)
}

async fn apply_all(fleet: &Fleet, objects: &[Object]) -> Result<()> {
    let applied = apply(&Target::hub(fleet.hub.client()), objects).await;
    ensure!(applied.errors.is_empty(), "{:?}", applied.errors);
    Ok(())
}

async fn send(
    client: &Client,
    method: http::Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> Result<()> {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, kind)
        .body(if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        })?;
    client
        .request_text(request)
        .await
        .with_context(|| path.to_owned())?;
    Ok(())
}

/// What a hub lacks.
enum Lack {
    Deleted(&'static str),
    Merged(&'static str, Value),
    Patched(&'static str, Value),
    Added(Value),
}

impl Lack {
    async fn make(self, fleet: &Fleet) -> Result<()> {
        let client = fleet.hub.client();
        match self {
            Self::Deleted(path) => {
                send(
                    &client,
                    http::Method::DELETE,
                    path,
                    "application/json",
                    &Value::Null,
                )
                .await
            }
            Self::Merged(path, change) => {
                send(
                    &client,
                    http::Method::PATCH,
                    path,
                    "application/merge-patch+json",
                    &change,
                )
                .await
            }
            Self::Patched(path, change) => {
                send(
                    &client,
                    http::Method::PATCH,
                    path,
                    "application/json-patch+json",
                    &change,
                )
                .await
            }
            Self::Added(value) => apply_all(fleet, &[object(value)?]).await,
        }
    }
}

/// The findings: where, and the texts.
async fn findings(fleet: &Fleet) -> Result<Vec<(String, String)>> {
    let entries = reeve_doctor::examine(&fleet.hub.client()).await?;
    let is_finding = |entry: &&Entry| !matches!(entry.state, State::Compliant | State::Skipped);
    let text = |entry: &Entry| {
        let rules = entry.rules.iter();
        let wrong = rules.filter(|rule| !matches!(rule.state, State::Compliant | State::Skipped));
        let texts: Vec<String> = wrong
            .map(|rule| format!("{} {}", rule.name, rule.message))
            .collect();
        texts.join("; ")
    };
    Ok(entries
        .iter()
        .filter(is_finding)
        .map(|entry| (format!("{}: {}", entry.subject, entry.place), text(entry)))
        .collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn complete_hub_has_no_finding() -> Result<()> {
    let fleet = complete().await?;
    let findings = findings(&fleet).await?;
    ensure!(findings.is_empty(), "{findings:#?}");
    let entries = reeve_doctor::examine(&fleet.hub.client()).await?;
    let all: Vec<String> = entries
        .iter()
        .flat_map(|entry| entry.rules.iter().map(|rule| rule.message.clone()))
        .collect();
    for wanted in [
        "version v1.1.0",
        "quay.io/open-cluster-management/governance-policy-propagator:latest",
        "in namespace open-cluster-management, 1 replica available",
        "ClusterManagementAddOn config-policy-controller",
    ] {
        ensure!(
            all.iter().any(|one| one.contains(wanted)),
            "{wanted}: {all:#?}"
        );
    }
    Ok(())
}

/// Every part, what is found without it, and what to do.
fn lacks() -> Vec<(Lack, &'static str, &'static str)> {
    let sets = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policysets.policy.open-cluster-management.io";
    vec![
        (
            Lack::Deleted(
                "/apis/operator.open-cluster-management.io/v1/clustermanagers/cluster-manager",
            ),
            "Open Cluster Management: cluster manager",
            "clusteradm init",
        ),
        (
            Lack::Merged(
                "/apis/operator.open-cluster-management.io/v1/clustermanagers/cluster-manager/status",
                json!({ "status": { "conditions": [{ "type": "Applied", "status": "False", "message": "no rights" }] } }),
            ),
            "Open Cluster Management: cluster manager",
            "not applied: no rights",
        ),
        (
            Lack::Deleted(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/addonplacementscores.cluster.open-cluster-management.io",
            ),
            "",
            "",
        ),
        (
            Lack::Deleted(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/placements.cluster.open-cluster-management.io",
            ),
            "Open Cluster Management: kinds",
            "placements.cluster.open-cluster-management.io v1beta1 is not served",
        ),
        (
            Lack::Merged(
                "/apis/cluster.open-cluster-management.io/v1/managedclusters/cluster1/status",
                json!({ "status": { "conditions": [
                    { "type": "ManagedClusterJoined", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z" },
                    { "type": "ManagedClusterConditionAvailable", "status": "Unknown", "reason": "r", "message": "lease expired", "lastTransitionTime": "2026-01-01T00:00:00Z" },
                ] } }),
            ),
            "Open Cluster Management: managed clusters",
            "cluster1 not available: lease expired",
        ),
        (
            Lack::Deleted(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policies.policy.open-cluster-management.io",
            ),
            "kinds of policies: policies",
            "apply the definitions: reeve install --image REGISTRY/reeve:TAG",
        ),
        (
            Lack::Patched(
                sets,
                json!([{ "op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/description" }]),
            ),
            "kinds of policies: policysets",
            "drops spec.description",
        ),
        (
            Lack::Deleted(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/placementrules.apps.open-cluster-management.io",
            ),
            "kinds of policies: placementrules",
            "v1 is not served",
        ),
    ]
}

/// The same of components and add-ons.
fn lacks_of_components() -> Vec<(Lack, &'static str, &'static str)> {
    let deployment =
        "/apis/apps/v1/namespaces/open-cluster-management/deployments/governance-policy-propagator";
    vec![
        (
            Lack::Deleted(deployment),
            "governance-policy-propagator: deployment",
            "not found in any namespace: reeve install --image REGISTRY/reeve:TAG",
        ),
        (
            Lack::Merged(
                "/apis/apps/v1/namespaces/open-cluster-management/deployments/governance-policy-propagator/status",
                json!({ "status": { "availableReplicas": null } }),
            ),
            "governance-policy-propagator: deployment",
            "0 of 1 replicas available",
        ),
        (
            Lack::Added(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": "p1", "namespace": NAMESPACE, "labels": { "name": "governance-policy-propagator" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
                "status": { "containerStatuses": [{
                    "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                    "state": { "waiting": { "reason": "ImagePullBackOff", "message": "not found" } },
                }] },
            })),
            "governance-policy-propagator: image",
            "p1 ImagePullBackOff: not found",
        ),
        (
            Lack::Deleted(
                "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/governance-policy-propagator-global",
            ),
            "governance-policy-propagator: rights",
            "is not allowed",
        ),
        (
            Lack::Deleted(
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/policy-addon-ctrl-manager-role",
            ),
            "governance-policy-addon-controller: rights",
            "system:serviceaccount:open-cluster-management:policy-addon-ctrl-controller-manager is not allowed",
        ),
        (
            Lack::Deleted(
                "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons/config-policy-controller",
            ),
            "add-on config-policy-controller: definition",
            "not found: reeve install",
        ),
        (
            Lack::Deleted(
                "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/cluster1/managedclusteraddons/governance-policy-framework",
            ),
            "add-on governance-policy-framework: clusters",
            "clusteradm addon enable --names governance-policy-framework --clusters cluster1",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_missing_part_is_the_only_finding_and_has_its_advice() -> Result<()> {
    for (lack, place, advice) in lacks().into_iter().chain(lacks_of_components()) {
        let fleet = complete().await?;
        lack.make(&fleet).await?;
        let findings = findings(&fleet).await?;
        let places: Vec<&str> = findings.iter().map(|(place, _)| place.as_str()).collect();
        if place.is_empty() {
            // What nobody needs is no finding.
            ensure!(places.is_empty(), "{findings:#?}");
            continue;
        }
        ensure!(places == [place], "{place}: {findings:#?}");
        ensure!(findings[0].1.contains(advice), "{advice}: {findings:#?}");
    }
    Ok(())
}

#[test]
fn hub_that_does_not_answer_is_an_error_with_the_reason() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("k");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
        users: [{name: a, user: {}}]\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n";
    std::fs::write(&kubeconfig, text)?;
    for (path, wanted) in [
        ("k", "cannot reach the hub"),
        ("nope", "cannot use the kubeconfig nope"),
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder.path())
            .args(["doctor", "--kubeconfig", path])
            .output()?;
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(1), "{printed}");
        ensure!(printed.contains(wanted), "{printed}");
    }
    Ok(())
}
