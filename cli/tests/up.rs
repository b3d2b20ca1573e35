//! `reeve up` as scripts use it.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

fn policies() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../policies/namespace.yaml")
}

fn up(folder: &std::path::Path, arguments: &[&str]) -> Result<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .current_dir(folder)
        .args(["up", "--log-level=error"])
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
fn a_script_learns_that_all_was_evaluated() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = policies();
    let path = path.to_string_lossy();
    let output = up(
        folder.path(),
        &["--policies", &path, "--once", "--wait", "evaluated"],
    )?;
    ensure!(output.status.code() == Some(0), "{}", text(&output));
    let told = text(&output);
    ensure!(told.contains("applied 3 objects"), "{told}");
    ensure!(
        told.contains("cluster1: NonCompliant  cluster2: NonCompliant"),
        "{told}"
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
fn a_script_learns_that_not_all_comply() -> Result<()> {
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
fn what_cannot_be_applied_ends_it_and_is_named() -> Result<()> {
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
    let told = text(&output);
    ensure!(
        told.contains("wrong.yaml: x: the hub knows no Nope of example.com/v1"),
        "{told}"
    );
    Ok(())
}

#[test]
fn a_second_start_on_a_folder_finds_the_fleet_as_it_was() -> Result<()> {
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
    let told = text(&output);
    ensure!(
        told.contains("cluster1: NonCompliant"),
        "the policy is gone: {told}"
    );
    let config = std::fs::read_to_string(folder.path().join("reeve.kubeconfig"))?;
    ensure!(config.contains("name: cluster1"), "{config}");
    Ok(())
}
