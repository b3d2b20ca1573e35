//! `reeve up` in scripts.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

fn policies() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../policies/namespace.yaml")
}

fn up(folder: &std::path::Path, arguments: &[&str]) -> Result<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .current_dir(folder)
        .args(["up", "--log-level=error"])
        .env("NO_COLOR", "1")
        .args(arguments)
        .output();
    output.context("running reeve up")
}

fn text(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error)
    )
}

#[test]
fn script_succeeds_when_all_policies_are_evaluated() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = policies();
    let path = path.to_string_lossy();
    let output = up(
        folder.path(),
        &["--policies", &path, "--once", "--wait", "evaluated"],
    )?;
    ensure!(output.status.code() == Some(0), "{}", text(&output));
    let printed = text(&output);
    ensure!(printed.contains("applied 3 objects"), "{printed}");
    ensure!(
        printed
            .contains("policies/policy-namespace  *        Violation  Namespace prod: not found"),
        "{printed}"
    );
    let config = folder.path().join("reeve.kubeconfig");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&config)?.permissions());
    ensure!(mode & 0o777 == 0o600, "the kubeconfig has mode {mode:o}");
    let config = std::fs::read_to_string(config)?;
    for context in ["hub", "cluster1", "cluster2"] {
        ensure!(
            config.contains(&format!("name: {context}")),
            "no context {context}"
        );
    }
    Ok(())
}

#[test]
fn script_fails_when_policies_are_not_compliant() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = policies();
    let path = path.to_string_lossy();
    let arguments = [
        "--policies",
        &path,
        "--once",
        "--wait",
        "compliant",
        "--timeout",
        "3",
        "--clusters",
        "1",
    ];
    let output = up(folder.path(), &arguments)?;
    ensure!(output.status.code() == Some(2), "{}", text(&output));
    Ok(())
}

#[test]
fn object_that_cannot_be_applied_ends_fleet_and_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let wrong = folder.path().join("wrong.yaml");
    std::fs::write(
        &wrong,
        "apiVersion: example.com/v1\nkind: Nope\nmetadata: {name: x}\n",
    )?;
    let output = up(
        folder.path(),
        &["--policies", "wrong.yaml", "--once", "--wait", "evaluated"],
    )?;
    ensure!(output.status.code() == Some(1), "{}", text(&output));
    let printed = text(&output);
    ensure!(
        printed.contains(
            "wrong.yaml: Nope x: no matches for kind \"Nope\" in version \"example.com/v1\" on the hub: ensure CRDs are installed first (--crds)"
        ),
        "{printed}"
    );
    Ok(())
}

#[test]
fn second_start_on_a_folder_has_the_same_objects() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = policies();
    let path = path.to_string_lossy();
    let arguments = [
        "--data=data",
        "--clusters=1",
        "--once",
        "--wait",
        "evaluated",
    ];
    let output = up(
        folder.path(),
        &[&arguments[..], &["--policies", &path]].concat(),
    )?;
    ensure!(output.status.code() == Some(0), "{}", text(&output));
    let output = up(folder.path(), &arguments)?;
    ensure!(output.status.code() == Some(0), "{}", text(&output));
    let printed = text(&output);
    ensure!(
        printed.contains("cluster1  Violation"),
        "the policy is gone: {printed}"
    );
    let config = std::fs::read_to_string(folder.path().join("reeve.kubeconfig"))?;
    ensure!(config.contains("name: cluster1"), "{config}");
    Ok(())
}

/// The timeout of processes that end.
const TIMEOUT: Duration = Duration::from_mins(5);

/// A policy that wants an object on all clusters, with its placement and binding.
fn policy(name: &str, wanted: &str) -> String {
    format!(
        r"
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {{name: {name}}}
spec:
  disabled: false
  remediationAction: inform
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {{name: {name}-config}}
      spec:
        severity: low
        object-templates:
        - complianceType: musthave
          objectDefinition: {wanted}
---
{}
",
        bound(name)
    )
}

fn bound(policy: &str) -> String {
    format!(
        r"apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: {policy}}}
spec: {{clusterSets: [global]}}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {{name: {policy}}}
placementRef: {{apiGroup: cluster.open-cluster-management.io, kind: Placement, name: {policy}}}
subjects: [{{apiGroup: policy.open-cluster-management.io, kind: Policy, name: {policy}}}]"
    )
}

fn namespace(name: &str) -> String {
    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}")
}

#[test]
fn stored_verdict_of_an_earlier_spec_is_not_trusted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (file, wanted, code) in [
        ("first.yaml", "default", 0),
        ("changed.yaml", "absent", 2),
        ("back.yaml", "default", 0),
    ] {
        std::fs::write(folder.path().join(file), policy("p", &namespace(wanted)))?;
        compliant(folder.path(), file, code)?;
    }
    Ok(())
}

/// Waits until all policies are compliant on a persisted fleet. An expected timeout is shorter than an unexpected
/// one.
fn compliant(folder: &Path, file: &str, code: i32) -> Result<()> {
    let limit = if code == 0 { "60" } else { "4" };
    let waiting = ["--once", "--wait", "compliant", "--timeout", limit];
    let arguments = [&["--data=data", "--policies", file], &waiting[..]].concat();
    let output = up(folder, &arguments)?;
    ensure!(
        output.status.code() == Some(code),
        "{file}: {}",
        text(&output)
    );
    Ok(())
}

#[test]
fn verdict_is_not_trusted_while_the_replica_cannot_be_changed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let refusing = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: frozen}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [policy.open-cluster-management.io], apiVersions: [v1], operations: [UPDATE], resources: [policies]}
  validations:
  - {expression: \"object.metadata.namespace != 'cluster1'\", message: frozen}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: frozen}
spec: {policyName: frozen, validationActions: [Deny]}
";
    let first = format!("{}---{refusing}", policy("p", &namespace("default")));
    std::fs::write(folder.path().join("first.yaml"), first)?;
    compliant(folder.path(), "first.yaml", 0)?;
    std::fs::write(
        folder.path().join("changed.yaml"),
        policy("p", &namespace("absent")),
    )?;
    compliant(folder.path(), "changed.yaml", 3)
}

/// A fleet that runs until it gets a signal, with a separate folder for temporary files.
struct Running {
    child: std::process::Child,
    lines: Option<std::io::BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn start(folder: &Path, arguments: &[&str]) -> Result<Self> {
        std::fs::create_dir_all(folder.join("tmp"))?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder)
            .env("TMPDIR", folder.join("tmp"))
            .args(["up", "--log-level=error", "--clusters=1"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        let mut running = Self {
            child,
            lines: Some(std::io::BufReader::new(out)),
        };
        running.read_to("fleet ready")?;
        Ok(running)
    }

    fn read_to(&mut self, text: &str) -> Result<()> {
        let lines = self.lines.as_mut().context("nobody reads")?;
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            ensure!(lines.read_line(&mut line)? > 0, "it ended before {text:?}");
        }
        Ok(())
    }

    /// Waits for the end, with a timeout.
    fn ended(&mut self) -> Result<std::process::ExitStatus> {
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&mut self, name: &str) -> Result<()> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status()?;
        ensure!(sent.success(), "kill -s {name}");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn temporary(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder.join("tmp"))?;
    Ok(entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?)
}

#[test]
fn signals_end_fleet_without_temporary_files() -> Result<()> {
    // A signal that is ignored from the start, as below nohup, stays ignored.
    let status = std::fs::read_to_string("/proc/self/status")?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap_or("0").trim(), 16)?;
    let signals = ["TERM", "INT", "HUP"];
    let few = if ignored & 1 == 1 { 2 } else { 3 };
    for signal in signals.into_iter().take(few) {
        let folder = tempfile::tempdir()?;
        let mut fleet = Running::start(folder.path(), &[])?;
        ensure!(temporary(folder.path())?.len() == 1);
        fleet.signal(signal)?;
        let ended = fleet.ended()?;
        ensure!(ended.success(), "SIG{signal}: {ended}");
        let left = temporary(folder.path())?;
        ensure!(left.is_empty(), "SIG{signal} leaves {left:?}");
    }
    Ok(())
}

#[test]
fn killed_fleet_leaves_no_credential_and_next_start_removes_the_rest() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut fleet = Running::start(folder.path(), &["--data=data"])?;
    fleet.signal("KILL")?;
    fleet.ended()?;
    let left = temporary(folder.path())?;
    ensure!(left.len() == 1, "{left:?}");
    for entry in std::fs::read_dir(&left[0])? {
        let text = std::fs::read_to_string(entry?.path())?;
        for credential in ["client-key", "client-certificate", "token"] {
            ensure!(!text.contains(credential), "{text}");
        }
    }
    let _fleet = Running::start(folder.path(), &["--data=data"])?;
    ensure!(!left[0].exists() && temporary(folder.path())?.len() == 1);
    Ok(())
}

#[test]
fn fleet_with_closed_output_ends_without_error() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut fleet = Running::start(folder.path(), &[])?;
    let mut errors = fleet.child.stderr.take().context("no errors")?;
    // The reader closes the output, as head does. The fleet has nothing more to print.
    fleet.lines = None;
    let ended = fleet.ended()?;
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut errors, &mut stderr)?;
    ensure!(ended.success(), "{ended}: {stderr}");
    ensure!(!stderr.contains("panicked"), "{stderr}");
    Ok(())
}

#[test]
fn contexts_of_other_clusters_survive_a_fleet() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("config");
    let config = "apiVersion: v1\nkind: Config\ncurrent-context: prod\nclusters: [{name: prod, cluster: {server: 'https://prod'}}]\n\
        users: [{name: me, user: {token: secret}}]\ncontexts: [{name: prod, context: {cluster: prod, user: me}}]\n";
    std::fs::write(&path, config)?;
    let path_of_policies = policies();
    let path_of_policies = path_of_policies.to_string_lossy();
    let arguments = [
        "--kubeconfig=config",
        "--clusters=1",
        "--policies",
        &path_of_policies,
        "--once",
        "--wait=evaluated",
    ];
    let output = up(folder.path(), &arguments)?;
    ensure!(output.status.code() == Some(1), "{}", text(&output));
    ensure!(
        text(&output).contains("config exists and was not written by Reeve"),
        "{}",
        text(&output)
    );
    ensure!(std::fs::read_to_string(&path)? == config, "it was changed");
    let output = up(folder.path(), &[&arguments[..], &["--force"]].concat())?;
    ensure!(output.status.success(), "{}", text(&output));
    let merged = std::fs::read_to_string(&path)?;
    for wanted in [
        "current-context: prod",
        "https://prod",
        "token: secret",
        "name: hub",
        "name: cluster1",
    ] {
        ensure!(merged.contains(wanted), "no {wanted:?} in {merged}");
    }
    Ok(())
}

#[test]
fn second_fleet_in_same_folder_is_rejected_and_first_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let fleet = Running::start(folder.path(), &[])?;
    let output = up(folder.path(), &[])?;
    let stderr = text(&output);
    let want = format!(
        "reeve.kubeconfig is in use by reeve up (process {})",
        fleet.child.id()
    );
    ensure!(
        output.status.code() == Some(1) && stderr.contains(&want),
        "{stderr}"
    );
    Ok(())
}

#[test]
fn claims_placement_rules_and_kinds_of_samples_exist() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let wanted =
        r#"{apiVersion: v1, kind: Namespace, metadata: {name: '{{ fromClusterClaim "name" }}'}}"#;
    let rule = "
apiVersion: apps.open-cluster-management.io/v1
kind: PlacementRule
metadata: {name: rule}
spec:
  clusterConditions: [{type: ManagedClusterConditionAvailable, status: 'True'}]
  clusterSelector: {matchExpressions: [{key: name, operator: In, values: [cluster2]}]}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {name: claims}
placementRef: {apiGroup: apps.open-cluster-management.io, kind: PlacementRule, name: rule}
subjects: [{apiGroup: policy.open-cluster-management.io, kind: Policy, name: claims}]
---
apiVersion: tower.ansible.com/v1alpha1
kind: AnsibleJob
metadata: {name: job}
spec: {job_template_name: t}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: config-policy-controller, namespace: cluster1}
spec: {}
";
    let policy = policy("claims", wanted);
    let only = policy.split("---").next().unwrap_or_default();
    std::fs::write(folder.path().join("p.yaml"), format!("{only}---{rule}"))?;
    let output = up(
        folder.path(),
        &["--policies=p.yaml", "--once", "--wait=compliant"],
    )?;
    let stderr = text(&output);
    ensure!(
        output.status.success() && stderr.contains("cluster2  Compliant"),
        "{stderr}"
    );
    ensure!(!stderr.contains("cluster1"), "{stderr}");
    Ok(())
}

#[test]
fn policies_without_compliance_have_a_reason() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let long = "x".repeat(60);
    let on_the_hub = "
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: {name: stray}
spec: {severity: low, remediationAction: inform, object-templates: [{complianceType: musthave, objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: default}}}]}
";
    let all = format!("{}---{on_the_hub}", policy(&long, &namespace("default")));
    std::fs::write(folder.path().join("p.yaml"), all)?;
    let output = up(
        folder.path(),
        &[
            "--policies=p.yaml",
            "--clusters=1",
            "--once",
            "--wait=evaluated",
            "--timeout=8",
        ],
    )?;
    let stderr = text(&output);
    ensure!(output.status.code() == Some(2), "{stderr}");
    for wanted in [
        "its namespace and name have 68 characters, at most 62 are possible",
        "policies/stray  ",
        "a ConfigurationPolicy is not evaluated on the hub",
    ] {
        ensure!(stderr.contains(wanted), "no {wanted:?} in {stderr}");
    }
    Ok(())
}

#[test]
fn definitions_and_namespaces_are_applied_before_their_dependents() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let objects = folder.path().join("objects");
    std::fs::create_dir(&objects)?;
    let widget =
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: later}\n";
    std::fs::write(objects.join("a.yaml"), widget)?;
    let definition = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gear, listKind: GearList, plural: gears, singular: gear}
  versions:
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";
    let gear =
        "apiVersion: example.com/v1beta1\nkind: Gear\nmetadata: {name: g, namespace: later}\n";
    std::fs::write(objects.join("b.yaml"), format!("{definition}---\n{gear}"))?;
    std::fs::write(objects.join("c.yaml"), namespace("later"))?;
    let path = policies();
    let path = path.to_string_lossy();
    let arguments = [
        "--policies=objects",
        "--policies",
        &path,
        "--clusters=1",
        "--once",
        "--wait=evaluated",
    ];
    let output = up(folder.path(), &arguments)?;
    let stderr = text(&output);
    ensure!(
        output.status.success() && stderr.contains("applied 8 objects"),
        "{stderr}"
    );
    Ok(())
}

#[test]
fn files_of_commands_are_ignored_by_git() -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let ignored = std::fs::read_to_string(root.join(".gitignore"))?;
    let lines: Vec<&str> = ignored.lines().collect();
    for (command, flag) in [
        ("up", "--kubeconfig"),
        ("up", "--log-file"),
        ("apiserver", "--kubeconfig"),
    ] {
        let help = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .args([command, "--help"])
            .output()?;
        let help = text(&help);
        let (_, after) = help.split_once(flag).context("no such flag")?;
        let (_, default) = after.split_once("[default: ").context("no default")?;
        let (default, _) = default.split_once(']').context("no end")?;
        ensure!(
            lines.contains(&format!("/{default}").as_str()),
            "{command} leaves {default}"
        );
    }
    Ok(())
}
