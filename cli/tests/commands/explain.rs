//! `reeve explain`, on a fleet in the process and on a hub that runs elsewhere.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};

fn reeve(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .current_dir(folder)
        .args(arguments)
        .output()?;
    Ok(output)
}

const FLEET: &str = "
apiVersion: reeve/v1alpha1
kind: Fleet
clusters:
- name: dev1
  labels: {env: dev}
  objects: [{apiVersion: v1, kind: Namespace, metadata: {name: team-dev1}}]
- {name: dev2, labels: {env: dev}}
- {name: prod, labels: {env: prod}}
- {name: none}
- {name: tainted, labels: {env: dev}, taints: [{key: broken, effect: NoSelect}]}
";

const POLICIES: &str = "
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: team, namespace: policies}
spec:
  disabled: false
  remediationAction: inform
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {name: team-namespace}
      spec:
        severity: low
        object-templates:
        - complianceType: musthave
          objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: 'team-{{hub .ManagedClusterName hub}}'}}
---
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: broken, namespace: policies}
spec:
  disabled: false
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {name: broken}
      spec:
        remediationAction: inform
        severity: low
        object-templates:
        - complianceType: musthave
          objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: '{{hub fail \"no name\" hub}}'}}
---
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: alone, namespace: policies}
spec:
  disabled: false
  policy-templates:
  - objectDefinition: {apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: alone}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: dev, namespace: policies}
spec:
  clusterSets: [global]
  predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {env: dev}}}}]
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {name: dev, namespace: policies}
placementRef: {apiGroup: cluster.open-cluster-management.io, kind: Placement, name: dev}
subjects:
- {apiGroup: policy.open-cluster-management.io, kind: Policy, name: team}
- {apiGroup: policy.open-cluster-management.io, kind: Policy, name: broken}
";

fn files() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("fleet.yaml"), FLEET)?;
    std::fs::write(folder.path().join("p.yaml"), POLICIES)?;
    Ok(folder)
}

/// Runs an explanation, and checks its exit code and the lines of its text.
fn explains(folder: &Path, arguments: &[&str], code: i32, lines: &[&str]) -> Result<String> {
    let mut all = vec!["explain"];
    all.extend(arguments);
    let output = reeve(folder, &all)?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(code), "{printed}{errors}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<String> = printed.lines().chain(errors.lines()).map(words).collect();
    for line in lines {
        ensure!(
            found.iter().any(|one| one == line),
            "{line:?} in\n{printed}{errors}"
        );
    }
    Ok(printed)
}

const FILES: [&str; 4] = ["-f", "p.yaml", "--clusters", "fleet.yaml"];

#[test]
fn policy_is_explained_from_binding_to_status() -> Result<()> {
    let folder = files()?;
    let with = |question: &[&'static str]| [question, &FILES[..]].concat();
    explains(
        folder.path(),
        &with(&["policy", "team"]),
        2,
        &[
            "policies/team",
            "ok policy inform, 1 template",
            "ok bindings PlacementBinding dev to Placement dev",
            "ok placement Placement dev: global with 5 clusters",
            "dev1, dev2: chosen",
            "prod: dropped by the predicate: label env in (dev) (it is \"prod\")",
            "none: dropped by the predicate: label env in (dev) (it has none)",
            "tainted: not tolerated: taint broken:NoSelect",
            "ok decisions dev1, dev2",
            "policies/team on dev1",
            "ok hub templates 1 field resolved",
            "ok replica Policy dev1/policies.team on the hub",
            "ok spec sync the policy is in namespace dev1 of the cluster",
            "ok template sync team-namespace: ConfigurationPolicy team-namespace on the cluster",
            "ok status Compliant, on the replicated and on the root policy",
            "policies/team on dev2",
            "Violation evaluation team-namespace: Namespace team-dev2: not found",
            "ok status NonCompliant, on the replicated and on the root policy",
        ],
    )?;
    explains(
        folder.path(),
        &with(&["policy", "policies/broken"]),
        2,
        &["policies/broken on dev1"],
    )?;
    explains(
        folder.path(),
        &with(&["policy", "alone", "--bind-unbound=false"]),
        2,
        &["Unplaced bindings no PlacementBinding names it"],
    )?;
    let alone = explains(
        folder.path(),
        &with(&["policy", "alone"]),
        2,
        &["policies/alone on prod"],
    )?;
    ensure!(
        alone.contains("kind ClusterPolicy is not installed (--crds, --assume-kinds)"),
        "{alone}"
    );
    explains(
        folder.path(),
        &with(&["policy", "nope"]),
        1,
        &[
            "error: Policy nope: not found: there are policies/alone, policies/broken, policies/team",
        ],
    )?;
    Ok(())
}

#[test]
fn placement_and_template_are_explained() -> Result<()> {
    let folder = files()?;
    let with = |question: &[&'static str]| [question, &FILES[..]].concat();
    explains(
        folder.path(),
        &with(&["placement", "dev"]),
        0,
        &[
            "policies/dev",
            "ok cluster sets global with 5 clusters",
            "ok clusters dev1, dev2: chosen",
            "ok decisions dev1, dev2",
            "ok policies PlacementBinding dev: Policy team, Policy broken",
        ],
    )?;
    explains(
        folder.path(),
        &with(&["template", "team/team-namespace"]),
        2,
        &[
            "policies/team/team-namespace",
            "policies/team/team-namespace on dev1",
            "ok hub templates spec.object-templates[0].objectDefinition.metadata.name: team-dev1",
            "ok objects Namespace team-dev1: Resource found as expected",
            "Violation objects Namespace team-dev2: Resource not found but should exist",
        ],
    )?;
    let json = explains(
        folder.path(),
        &with(&["placement", "dev", "-o", "json"]),
        0,
        &[],
    )?;
    let report: serde_json::Value = serde_json::from_str(&json)?;
    ensure!(report["subject"] == "checks", "{json}");
    let clusters = report["entries"][1]["rules"].as_array().map(Vec::len);
    ensure!(clusters == Some(5), "{json}");
    Ok(())
}

#[test]
fn arguments_that_do_not_go_together_are_usage_errors() -> Result<()> {
    let folder = files()?;
    for arguments in [
        &["policy", "team", "-f", "p.yaml", "--kubeconfig", "k"][..],
        &["policy", "team", "-f", "p.yaml", "--cluster-context", "a"],
        &["policy"],
        &["nonsense"],
    ] {
        explains(folder.path(), arguments, 64, &[])?;
    }
    Ok(())
}

/// A running `reeve up`.
struct Up(Child);

impl Up {
    /// Starts one and waits until a line of its output has some words.
    fn start(folder: &Path, words: &[&str]) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder)
            .args(["up", "-f", "p.yaml", "--clusters", "fleet.yaml"])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("no output")?;
        let up = Self(child);
        let mut lines = BufReader::new(output).lines();
        loop {
            let line = lines.next().context("reeve up has ended")??;
            if words.iter().all(|word| line.contains(word)) {
                break;
            }
        }
        // The rest is read so that the pipe does not fill.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(up)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn hub_that_runs_elsewhere_is_explained_and_examined() -> Result<()> {
    let folder = files()?;
    let _up = Up::start(folder.path(), &["policies/team", "dev2", "Violation"])?;
    let hub = ["--kubeconfig", "reeve.kubeconfig", "--context", "hub"];
    let on = |question: &[&'static str]| [question, &hub[..]].concat();
    explains(
        folder.path(),
        &on(&["policy", "team", "--cluster-context", "dev1"]),
        2,
        &[
            "ok placement Placement dev: global with 5 clusters",
            "ok spec sync the policy is in namespace dev1 of the cluster",
            "Skipped spec sync not read: dev2 is known by its reports only (--cluster-context dev2 reads it)",
            "Violation evaluation team-namespace: namespaces [team-dev2] not found",
        ],
    )?;
    explains(
        folder.path(),
        &on(&["placement", "policies/dev"]),
        0,
        &["ok decisions dev1, dev2"],
    )?;
    explains(
        folder.path(),
        &on(&["template", "policies/team", "--cluster-context", "d=dev1"]),
        2,
        &["policies/team/team-namespace on dev1"],
    )?;
    explains(
        folder.path(),
        &on(&["policy", "team", "--cluster-context", "nope"]),
        1,
        &[],
    )?;
    // The hub of `reeve up` needs no component: they are in its process.
    let output = reeve(folder.path(), &[&["doctor"][..], &hub[..]].concat())?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.code() == Some(2), "{printed}");
    for wanted in [
        "no ClusterManager",
        "Kubernetes v",
        "governance-policy-propagator: not found in any namespace",
    ] {
        ensure!(printed.contains(wanted), "{printed}");
    }
    Ok(())
}
