//! Other commands.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The workspace's folder.
pub(crate) fn root() -> Result<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .map(PathBuf::from)
        .context("xtask lies in no workspace")
}

/// The folder that cargo builds into.
pub(crate) fn target() -> Result<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(root()?.join(folder))
}

/// Runs cargo in the workspace's folder, its output going where ours goes.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    cargo_with(arguments, &[])
}

/// Like [`cargo`], with more environment.
pub(crate) fn cargo_with(arguments: &[&str], env: &[(&str, &OsStr)]) -> Result<()> {
    let mut command = cargo_command(arguments)?;
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

/// Cargo with arguments, in the workspace's folder.
pub(crate) fn cargo_command(arguments: &[&str]) -> Result<Command> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()?);
    // The variables by which cargo describes this program must not reach the build: ring builds anew when it changes, and all on top
    // of it.
    for (key, _) in std::env::vars_os() {
        let name = key.to_str().unwrap_or_default();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(key);
        }
    }
    Ok(command)
}
