//! The rights of a klusterlet's work agent on its cluster, from the manifests that OCM's klusterlet operator installs.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::ocm_work_agent::go_program;
use crate::{Plane, workspace};

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
        let path = Path::new(&folder)
            .join("manifests/klusterlet/managed")
            .join(name);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("reading {}", path.display()))?;
        let text = rendered(&text);
        ensure!(!text.contains("{{"), "{name} has another template:\n{text}");
        cluster
            .apply(&text)
            .await
            .with_context(|| format!("applying {name}"))?;
    }
    Ok(ACCOUNT)
}

/// The folder of the module.
fn folder() -> Result<String> {
    let arguments = ["list", "-m", "-f", "{{.Dir}}", MODULE].map(Path::new);
    let folder = go_program(&workspace().join("tests/ocm")).go(&arguments)?;
    Ok(folder.trim().to_owned())
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
