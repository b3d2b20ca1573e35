//! Finds the commit that the program is built from.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=REEVE_COMMIT");
    // The names of branches and of the current one are below this folder, also in a work tree.
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", path]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let commit = std::env::var("REEVE_COMMIT").ok();
    let commit = commit
        .or_else(|| git(&["rev-parse", "--short=12", "HEAD"]))
        .unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo:rustc-env=REEVE_COMMIT={commit}");
    pack_relocations();
}

/// Keeps the relocations of the image's program in 40 KiB: as a plain list they are 2 MiB that each start reads. Only with musl, which is
/// linked in and knows the packed form; glibc knows it since 2.36.
fn pack_relocations() {
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "musl") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// What git prints; nothing without git or outside of a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
