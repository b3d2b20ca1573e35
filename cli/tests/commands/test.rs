//! `reeve test` and the small commands, as processes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn reeve(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .current_dir(folder)
        .args(arguments)
        .output();
    output.context("running reeve")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_ready_made_policy_has_a_suite_a_line_and_passes() -> Result<()> {
    let output = reeve(&root(), &["test", "policies", "-o", "wide", "--strict"])?;
    ensure!(
        output.status.success(),
        "{}{}",
        out(&output),
        error(&output)
    );
    let policies = root().join("policies");
    let lines = std::fs::read_to_string(policies.join("README.md"))?;
    let mut count = 0;
    for entry in std::fs::read_dir(&policies)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.extension().is_some_and(|end| end == "yaml") {
            count += 1;
            ensure!(
                policies.join("tests").join(&name).exists(),
                "{name} has no suite"
            );
            ensure!(lines.contains(&format!("`{name}`")), "{name} has no line");
        }
    }
    ensure!(count >= 20, "{count} policies");
    Ok(())
}

#[test]
fn policy_without_suite_is_bound_evaluated_and_explained() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let text = std::fs::read_to_string(root().join("policies/namespace.yaml"))?;
    let policy = text.split("---").next().unwrap_or_default();
    std::fs::write(folder.path().join("p.yaml"), policy)?;
    std::fs::create_dir(folder.path().join("objects"))?;
    let object = "{apiVersion: v1, kind: Namespace, metadata: {name: prod}}";
    std::fs::write(folder.path().join("objects/ns.yaml"), object)?;
    let output = reeve(folder.path(), &["test", "p.yaml"])?;
    let printed = out(&output);
    ensure!(
        output.status.code() == Some(2),
        "{printed}{}",
        error(&output)
    );
    for wanted in [
        "! 1 policy bound to nothing is bound to all clusters (--bind-unbound=false leaves that)",
        "policies/policy-namespace  cluster1  Violation  Namespace prod: not found",
    ] {
        ensure!(printed.contains(wanted), "{printed}");
    }
    let good = ["test", "-f", "p.yaml", "--cluster-objects", "objects"];
    let output = reeve(folder.path(), &good)?;
    ensure!(
        output.status.success(),
        "{}{}",
        out(&output),
        error(&output)
    );
    let unbound = ["test", "p.yaml", "--bind-unbound=false"];
    let output = reeve(folder.path(), &unbound)?;
    ensure!(output.status.code() == Some(2));
    ensure!(out(&output).contains("Unplaced  no PlacementBinding names it"));
    // Nothing is written.
    ensure!(std::fs::read_dir(folder.path())?.count() == 2);
    Ok(())
}

#[test]
fn policy_of_standard_input_is_evaluated() -> Result<()> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .args(["test", "-", "-o", "github"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let text = std::fs::read(root().join("policies/namespace.yaml"))?;
    child.stdin.take().context("no input")?.write_all(&text)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.code() == Some(2));
    let printed = out(&output);
    ensure!(
        printed.contains("::error file=-,line=2,title=policies/policy-namespace on cluster1::Namespace prod: not found"),
        "{printed}"
    );
    Ok(())
}

#[test]
fn unused_policy_is_skipped_with_a_reason_and_strict_fails() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let suite = "apiVersion: reeve/v1alpha1\nkind: Suite\nmetadata: {name: s}\nsteps:\n- name: nothing is there\n  expect: {absent: [{apiVersion: v1, kind: ConfigMap, name: none, namespace: default}]}\n";
    std::fs::write(folder.path().join("s.yaml"), suite)?;
    std::fs::copy(
        root().join("policies/namespace.yaml"),
        folder.path().join("p.yaml"),
    )?;
    let output = reeve(folder.path(), &["test"])?;
    ensure!(output.status.success(), "{}", error(&output));
    ensure!(
        out(&output).contains("! skipped 1: ./p.yaml (no suite uses it)"),
        "{}",
        out(&output)
    );
    ensure!(reeve(folder.path(), &["test", "--strict"])?.status.code() == Some(2));
    Ok(())
}

#[test]
fn exit_code_of_usage_errors_is_64_and_alone_it_shows_its_help() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for wrong in [
        &["upp"][..],
        &["up", "--nope"],
        &["up", "--clusters", "many"],
        &["up", "--label", "cluster9:a=b"],
        &["up", "--log-level", "loud"],
        &["test", "--clusters", "99999", "-f", "p.yaml"],
    ] {
        std::fs::copy(
            root().join("policies/pod.yaml"),
            folder.path().join("p.yaml"),
        )?;
        let output = reeve(folder.path(), wrong)?;
        let stderr = error(&output);
        ensure!(output.status.code() == Some(64), "{wrong:?}: {stderr}");
        ensure!(stderr.starts_with("error: "), "{wrong:?}: {stderr}");
    }
    // The flags of components keep the code that Go's have.
    let output = reeve(folder.path(), &["propagator", "--nope"])?;
    ensure!(output.status.code() == Some(2));
    let output = reeve(folder.path(), &[])?;
    ensure!(output.status.success() && out(&output).contains("Usage: reeve <COMMAND>"));
    Ok(())
}

#[test]
fn version_has_a_commit_and_shells_get_completions() -> Result<()> {
    let output = reeve(&root(), &["version"])?;
    let version = out(&output);
    ensure!(
        version.starts_with(concat!("reeve ", env!("CARGO_PKG_VERSION"), " (")),
        "{version}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let output = reeve(&root(), &["completion", shell])?;
        ensure!(out(&output).contains("--bind-unbound"), "{shell}");
    }
    Ok(())
}

/// Policies as collections have them: in folders, most of them bound to nothing, some of kinds that are not there.
fn corpus(folder: &Path) -> Result<usize> {
    let kinds = [
        "{apiVersion: v1, kind: Namespace, metadata: {name: team-N}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: map-N, namespace: default}, data: {a: b}}",
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: role-N}, rules: []}",
        "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny-N, namespace: default}, spec: {podSelector: {}}}",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web-N, namespace: shop}, spec: {replicas: 2}}",
        "{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: operator-N, namespace: operators}}",
        "{apiVersion: v1, kind: Secret, metadata: {name: '{{ fail \"no secret\" }}', namespace: default}}",
        "{apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfig, metadata: {name: mc-N}}",
    ];
    let other = [
        "{apiVersion: templates.gatekeeper.sh/v1, kind: ConstraintTemplate, metadata: {name: t-N}, spec: {}}",
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: k-N}, spec: {rules: []}}",
    ];
    let count = 150;
    for number in 0..count {
        let template = if number % 5 == 4 {
            other[number / 5 % other.len()].to_owned()
        } else {
            let wanted = kinds[number % kinds.len()];
            format!(
                "{{apiVersion: policy.open-cluster-management.io/v1, kind: ConfigurationPolicy, metadata: {{name: t-N}}, \
                spec: {{severity: low, remediationAction: inform, object-templates: [{{complianceType: musthave, objectDefinition: {wanted}}}]}}}}"
            )
        };
        let policy = format!(
            "apiVersion: policy.open-cluster-management.io/v1\nkind: Policy\nmetadata: {{name: policy-N}}\nspec:\n  \
            disabled: false\n  policy-templates:\n  - objectDefinition: {template}\n"
        );
        let sub = folder.join(format!("group-{}/deep", number % 7));
        std::fs::create_dir_all(&sub)?;
        let text = policy.replace("-N", &format!("-{number}"));
        std::fs::write(sub.join(format!("{number}.yaml")), text)?;
    }
    std::fs::write(folder.join("README.md"), "x")?;
    Ok(count)
}

#[test]
fn every_policy_of_a_collection_has_a_state_and_a_reason() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let count = corpus(&folder.path().join("collection"))?;
    let arguments = [
        "up",
        "-f",
        "collection",
        "--once",
        "-o",
        "json",
        "--timeout",
        "400",
    ];
    let output = reeve(folder.path(), &arguments)?;
    ensure!(output.status.code() == Some(2), "{}", error(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let entries = report["entries"].as_array().context("no entries")?;
    ensure!(entries.len() == 2 * count, "{} entries", entries.len());
    for entry in entries {
        ensure!(
            entry["state"] == "violation" || entry["state"] == "error",
            "{entry}"
        );
        let reasons = entry["rules"][0]["reasons"].as_array();
        ensure!(
            reasons.is_some_and(|reasons| !reasons.is_empty()),
            "{entry}"
        );
    }
    let notes = report["notes"].to_string();
    ensure!(
        notes.contains("150 policies bound to nothing are bound"),
        "{notes}"
    );
    let skipped = report["skipped"].to_string();
    ensure!(skipped.contains("README.md"), "{skipped}");
    Ok(())
}

/// The examples in the help of a command, which may have several words.
fn examples(command: &str) -> Result<Vec<String>> {
    let words: Vec<&str> = std::iter::once("help").chain(command.split(' ')).collect();
    let help = out(&reeve(&root(), &words)?);
    let (_, after) = help.split_once("\nExample").context("no examples")?;
    let lines = after.lines().map(str::trim);
    let is_example = |line: &&str| line.starts_with("reeve ") || line.contains("| reeve ");
    Ok(lines
        .filter(is_example)
        .map(|line| line.split("   ").next().unwrap_or_default().to_owned())
        .collect())
}

/// A folder with what the examples name.
fn example_files() -> Result<tempfile::TempDir> {
    let policy = std::fs::read_to_string(root().join("policies/namespace.yaml"))?;
    let object = "{apiVersion: v1, kind: Namespace, metadata: {name: prod}}";
    let fleet =
        "{apiVersion: reeve/v1alpha1, kind: Fleet, clusters: [{name: cluster1}, {name: b}]}";
    let generator = "apiVersion: policy.open-cluster-management.io/v1\nkind: PolicyGenerator\nmetadata: {name: g}\n\
        policyDefaults: {namespace: policies}\npolicies: [{name: p, manifests: [{path: objects/ns.yaml}]}]\n";
    let folder = tempfile::tempdir()?;
    for (name, text) in [
        ("policies/p.yaml", policy.as_str()),
        ("p.yaml", &policy),
        ("policy.yaml", &policy),
        ("policy-generator.yaml", generator),
        ("fleet.yaml", fleet),
        ("dev/ns.yaml", object),
        ("objects/ns.yaml", object),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().context("no folder")?)?;
        std::fs::write(path, text)?;
    }
    Ok(folder)
}

/// Runs an example as a shell does. Those that reach for a hub are run by the tests of their commands.
fn run_example(command: &str, example: &str) -> Result<()> {
    let folder = example_files()?;
    let binary = env!("CARGO_BIN_EXE_reeve");
    let mut line = example
        .replace("kustomize build overlay", "cat p.yaml")
        .replace("/etc/bash_completion.d/", "")
        .replace("reeve ", &format!("{binary} "));
    let has_policies = line.contains("policies/") || line.contains("p.yaml");
    if command == "up" && !line.contains("--once") {
        line.push_str(" --once");
    }
    if !has_policies && command == "up" {
        line.push_str(" --timeout 0");
    }
    let output = Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", &line])
        .output()?;
    let code = output.status.code();
    let wanted: &[i32] = if has_policies || command != "up" {
        &[0, 2]
    } else {
        &[3]
    };
    ensure!(
        code.is_some_and(|code| wanted.contains(&code)),
        "{example}: {code:?} {}{}",
        out(&output),
        error(&output)
    );
    Ok(())
}

#[test]
fn examples_of_help_texts_run() -> Result<()> {
    let mut count = 0;
    for command in [
        "up",
        "test",
        "explain policy",
        "explain placement",
        "explain template",
        "generate",
        "version",
        "completion",
    ] {
        for example in examples(command)? {
            if !example.contains("kubeconfig") {
                run_example(command, &example)?;
                count += 1;
            }
        }
    }
    ensure!(count >= 16, "{count} examples");
    Ok(())
}
