//! The rights of a klusterlet's work agent on its cluster, from the manifests of OCM's klusterlet operator.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use serde_json::Value;

use super::ocm_work_agent::go_program;
use crate::{Plane, SOON, eventually, workspace};

/// The module with the manifests, in the version of the work agent.
const MODULE: &str = "open-cluster-management.io/ocm";
/// The manifests, in its folder `manifests/klusterlet/managed`.
const MANIFESTS: [&str; 5] = [
    "klusterlet-work-clusterrole.yaml",
    "klusterlet-work-clusterrole-execution.yaml",
    "klusterlet-work-clusterrolebinding.yaml",
    "klusterlet-work-clusterrolebinding-aggregate.yaml",
    "klusterlet-work-clusterrolebinding-execution-admin.yaml",
];
/// What the operator replaces in them.
const VALUES: [(&str, &str); 3] = [
    ("{{ .KlusterletName }}", "klusterlet"),
    (
        "{{ .KlusterletNamespace }}",
        "open-cluster-management-agent",
    ),
    ("{{ .WorkServiceAccount }}", "klusterlet-work-sa"),
];
/// The roles whose rules kube-controller-manager aggregates from others.
const AGGREGATED: [&str; 2] = ["admin", "open-cluster-management:klusterlet-work:aggregate"];
/// The operator creates this role itself.
const AGGREGATE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'open-cluster-management:klusterlet-work:aggregate'}
aggregationRule:
  clusterRoleSelectors:
  - matchLabels: {open-cluster-management.io/aggregate-to-work: 'true'}
rules: []
";
/// The account that the bindings are for.
const ACCOUNT: &str = "system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa";

/// Installs the roles on a cluster. Returns the user that has them.
pub(super) async fn install(cluster: &Plane) -> Result<&'static str> {
    let folder = tokio::task::spawn_blocking(folder)
        .await
        .context("looking for the manifests")??;
    cluster.apply(AGGREGATE).await?;
    for name in MANIFESTS {
        let path = folder.join("manifests/klusterlet/managed").join(name);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("reading {}", path.display()))?;
        let text = rendered(&text);
        ensure!(!text.contains("{{"), "{name} has another template:\n{text}");
        cluster
            .apply(&text)
            .await
            .with_context(|| format!("applying {name}"))?;
    }
    // An agent whose work is forbidden tries again after minutes.
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    for name in AGGREGATED {
        eventually(format!("ClusterRole {name} has rules"), SOON, || async {
            let role = roles.get(name).await?;
            ensure!(
                role.rules.is_some_and(|rules| !rules.is_empty()),
                "it has none"
            );
            Ok(())
        })
        .await?;
    }
    Ok(ACCOUNT)
}

/// The folder of the module. Downloads it when that is needed, with the checksum of `go.sum`.
fn folder() -> Result<PathBuf> {
    let folder = workspace().join("tests/ocm");
    let output = go_program(&folder).go(&["mod", "download", "-json", MODULE].map(Path::new))?;
    let output: Value =
        serde_json::from_str(&output).context("reading the output of `go` about the work agent")?;
    let root = output["Dir"].as_str();
    Ok(root
        .context("the work agent's module has no folder")?
        .into())
}

/// A manifest without labels of the user, which are the only part of it that is repeated.
fn rendered(text: &str) -> String {
    let is_repeated = |line: &&str| {
        let line = line.trim_start();
        !["{{ if", "{{ range", "{{ end", "\"{{ $key"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let kept: Vec<&str> = text.lines().filter(is_repeated).collect();
    let all = kept.join("\n");
    VALUES
        .iter()
        .fold(all, |text, (name, value)| text.replace(name, value))
}
