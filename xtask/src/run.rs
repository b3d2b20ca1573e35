//! Other commands.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
pub(crate) use reeve_testkit::{cargo_command, target_folder};

/// The workspace's folder.
pub(crate) fn root() -> Result<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .map(PathBuf::from)
        .context("xtask lies in no workspace")
}

/// Runs cargo in the workspace's folder, its output going where ours goes.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    cargo_with(arguments, &[])
}

/// Like [`cargo`], with more environment.
pub(crate) fn cargo_with(arguments: &[&str], env: &[(&str, &OsStr)]) -> Result<()> {
    let mut command = cargo_command(arguments);
    let what = format!("cargo {}", arguments.join(" "));
    succeed(command.envs(env.iter().copied()), &what)
}

/// Runs a command, its output going where ours goes. Errors call it `what`.
pub(crate) fn succeed(command: &mut Command, what: &str) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {what}"))?;
    ensure!(status.success(), "{what} failed");
    Ok(())
}
