//! Calls of cargo from programs that cargo has started.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::workspace;

/// Cargo with arguments, in the workspace's folder.
pub fn cargo_command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace());
    // The variables by which cargo describes the running program must not reach the build: ring builds anew when they
    // change, and all on top of it.
    for (key, _) in env::vars_os() {
        let name = key.to_str().unwrap_or_default();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(key);
        }
    }
    command
}

/// The folder that cargo builds into.
pub fn target_folder() -> PathBuf {
    // A relative one is relative to where cargo runs, which is the root.
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    workspace().join(target)
}
