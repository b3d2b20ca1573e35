//! Profile-guided optimisation: the program is built with counters, does the work of all components, and is built again. The compiler
//! then knows which twentieth of the code runs: it makes that fast, and puts it together, so that a process maps less of the program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run;

/// The benches of the four components, with sizes that take seconds.
const BENCHES: [(&str, &[&str]); 4] = [
    (
        "reeve-benches-policies",
        &[
            "--policies=100",
            "--objects=5",
            "--enforce-policy=50",
            "--drifts=30",
            "--pause=100",
            "--operators=10",
            "--idle=2",
        ],
    ),
    (
        "reeve-benches-hub",
        &[
            "--clusters=50",
            "--policies=10",
            "--templates",
            "--flips=10",
            "--pause=300",
            "--qps=2000",
        ],
    ),
    (
        "reeve-benches-addon",
        &["--policies=10", "--changes=20", "--idle=2"],
    ),
    ("reeve-benches-installs", &["--clusters=20", "--idle=2"]),
];

/// What the program with counters does by itself: every ready-made policy with its tests, and a fleet that has them all.
const COMMANDS: [(&str, &[&str]); 3] = [
    ("test", &[]),
    ("lint", &[]),
    (
        "up",
        &[
            "--clusters=10",
            "--bind-unbound",
            "--once",
            "--wait=evaluated",
            "--policies",
        ],
    ),
];

/// Builds the program for `target` by a profile of its own work.
///
/// # Errors
/// When the target is another machine, which cannot run it here; when a tool is missing; when a build or a run fails.
pub(super) fn build(target: &str) -> Result<PathBuf> {
    ensure!(
        target.starts_with(std::env::consts::ARCH),
        "a program for {target} does not run on this machine, so it cannot be profiled here"
    );
    let profdata = profdata()?;
    let folder = run::target_folder().join("profile");
    let counts = folder.join("counts");
    if counts.exists() {
        fs::remove_dir_all(&counts)
            .with_context(|| format!("cannot empty {}", counts.display()))?;
    }
    fs::create_dir_all(&counts).with_context(|| format!("cannot make {}", counts.display()))?;

    let built = super::compile(target, Some(&flag("-Cprofile-generate=", &counts)))?;
    let counting = folder.join("reeve");
    fs::copy(&built, &counting).with_context(|| format!("cannot write {}", counting.display()))?;
    work(&counting, &folder)?;

    let profile = folder.join("reeve.profdata");
    let mut merge = Command::new(profdata);
    merge.arg("merge").arg("-o").args([&profile, &counts]);
    run::succeed(&mut merge, "llvm-profdata merge")?;
    super::compile(target, Some(&flag("-Cprofile-use=", &profile)))
}

/// Lets the program with counters work. It writes them when it ends by itself. `folder` is where a fleet leaves its log and kubeconfig.
fn work(counting: &Path, folder: &Path) -> Result<()> {
    let env = [
        ("REEVE_BIN", counting.as_os_str()),
        ("REEVE_PLANE", OsStr::new("embedded")),
    ];
    for (bench, arguments) in BENCHES {
        let command = ["run", "--quiet", "--package", bench, "--"];
        run::cargo_with(&[&command, arguments].concat(), &env)?;
    }
    let policies = run::root()?.join("policies");
    for (name, arguments) in COMMANDS {
        let mut command = Command::new(counting);
        command.arg(name).args(arguments).arg(&policies);
        run::succeed(command.current_dir(folder), &format!("reeve {name}"))?;
    }
    Ok(())
}

/// The program of the compiler's own LLVM that merges counters; others may not read this compiler's.
fn profdata() -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir"]);
    let output = rustc.current_dir(run::root()?).output();
    let libraries = String::from_utf8(output.context("cannot run rustc")?.stdout)?;
    let program = Path::new(libraries.trim()).with_file_name("bin/llvm-profdata");
    ensure!(
        program.exists(),
        "there is no {}: `rustup component add llvm-tools`",
        program.display()
    );
    Ok(program)
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}
