//! Policies on one cluster about another.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use reeve_testkit::{Object, Plane, SOON, eventually, http_get, parse, workspace};
use serde_json::json;

use crate::process::{Planes, Running};

const POLICY: &str = r"
{apiVersion: v1, kind: Namespace, metadata: {name: hosted}}
---
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: {name: far, namespace: hosted}
spec:
  remediationAction: enforce
  namespaceSelector: {include: [default]}
  object-templates:
  - complianceType: musthave
    objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: far}, data: {k: v}}
";

/// A kubeconfig with the rights that the manifests give to a hosted controller, and no others.
async fn modest(hosting: &Plane, namespace: &str) -> Result<PathBuf> {
    let manifest = workspace().join("deploy/rbac/config-policy-controller.yaml");
    let roles = parse(&std::fs::read_to_string(manifest)?)?;
    let is_hosted = |role: &Object| role.name_any().ends_with("-hosted");
    for mut role in roles.into_iter().filter(is_hosted) {
        let kind = role.types.clone().context("no kind")?.kind;
        let place = (kind == "Role").then(|| namespace.to_owned());
        role.metadata.namespace.clone_from(&place);
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"),
            "metadata": { "name": role.name_any(), "namespace": place },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role.name_any() },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "hosted" }]
        });
        hosting.apply_object(&role).await?;
        hosting.apply(&binding.to_string()).await?;
    }
    hosting.kubeconfig_for("hosted", None)
}

pub(crate) async fn acts_there(planes: Arc<Planes>) -> Result<()> {
    planes.hosting.apply(POLICY).await?;
    let target = planes.target.kubeconfig().display().to_string();
    let flag = format!("--target-kubeconfig-path={target}");
    let hosting = modest(&planes.hosting, "hosted").await?;
    let mut running = Running::start(&hosting, "hosted", &[&flag]).await?;
    let kind = "ConfigurationPolicy";
    let api = "policy.open-cluster-management.io/v1";
    eventually("the policy is compliant", SOON, || async {
        let policy = planes.hosting.get(api, kind, Some("hosted"), "far").await?;
        let policy = policy.context("gone")?;
        ensure!(
            policy.data["status"]["compliant"] == "Compliant",
            "{:#}",
            policy.data["status"]
        );
        Ok(())
    })
    .await
    .with_context(|| running.component.log())?;
    let there = planes
        .target
        .get("v1", "ConfigMap", Some("default"), "far")
        .await?;
    ensure!(
        there.is_some_and(|there| there.data["data"]["k"] == "v"),
        "not on the target"
    );
    let here = planes
        .hosting
        .get("v1", "ConfigMap", Some("default"), "far")
        .await?;
    ensure!(here.is_none(), "created on the hosting cluster");
    let (code, page) = http_get(&running.metrics).await?;
    ensure!(
        code == 200 && page.contains("cluster_policy_governance_info{"),
        "{page}"
    );
    ensure!(page.contains("reeve_dependency_watches "), "{page}");

    let changed = json!({ "data": { "k": "drifted" } });
    planes
        .target
        .patch("v1", "ConfigMap", Some("default"), "far", changed)
        .await?;
    eventually("drift on the target is repaired", SOON, || async {
        let there = planes
            .target
            .get("v1", "ConfigMap", Some("default"), "far")
            .await?;
        ensure!(
            there.is_some_and(|there| there.data["data"]["k"] == "v"),
            "not yet"
        );
        Ok(())
    })
    .await?;
    let status = running.component.stop().await?;
    let log = running.component.log();
    ensure!(status.success(), "{status}: {log}");
    ensure!(!log.contains("forbidden"), "a right is missing: {log}");
    Ok(())
}

pub(crate) async fn kubeconfig(planes: Arc<Planes>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("kubeconfig");
    let text = std::fs::read_to_string(planes.target.kubeconfig())?;
    std::fs::write(&copy, &text)?;
    let flag = format!("--target-kubeconfig-path={}", copy.display());
    let running = Running::start(planes.hosting.kubeconfig(), "hosted-changed", &[&flag]).await?;
    let health = format!("{}/healthz", running.health);
    ensure!(http_get(&health).await? == (200, "ok".to_owned()));
    std::fs::write(&copy, format!("{text}\n"))?;
    let (code, page) = http_get(&health).await?;
    ensure!(
        code == 500 && page.contains("checksum not equal"),
        "{code}: {page}"
    );
    std::fs::write(&copy, &text)?;
    let (code, _) = http_get(&health).await?;
    ensure!(
        code == 500,
        "healthy again although the credentials may be others"
    );
    let (code, _) = http_get(&format!("{}/readyz", running.health)).await?;
    ensure!(code == 200, "readiness has nothing to do with it");
    Ok(())
}
