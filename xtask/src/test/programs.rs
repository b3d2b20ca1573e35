//! The test programs of the workspace, built at once: building some of them alone would give their dependencies other
//! features, and build much of the workspace again.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};
use cargo_metadata::{Artifact, Message};

use super::timings::{COMMANDS, Timings};
use super::usage;
use crate::run;

const BUILD: [&str; 4] = [
    "test",
    "--workspace",
    "--no-run",
    "--message-format=json-render-diagnostics",
];

/// [`BUILD`] and all programs without tests, which are linted too.
const BUILD_ALL: [&str; 4] = [
    "build",
    "--workspace",
    "--all-targets",
    "--message-format=json-render-diagnostics",
];

/// Whether cargo compiles with clippy's driver and with warnings as errors. Then a build is a lint. `cargo clippy` would compile all
/// dependencies once more, which is a third of what a clean build takes.
pub(super) fn build_lints() -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    let wrapper = PathBuf::from(variable("RUSTC_WORKSPACE_WRAPPER"));
    let denies_warnings = variable("RUSTFLAGS")
        .split_whitespace()
        .any(|flag| flag == "-Dwarnings");
    wrapper.ends_with("clippy-driver") && denies_warnings
}

/// The programs that tests start, and the variables that name them.
const STARTED: [(&str, &str); 2] = [("reeve", "REEVE_BIN"), ("reeve-pod", "REEVE_POD_BIN")];

/// A built test program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// The name of its target.
    pub name: String,
    /// The name of its package.
    pub package: String,
    /// The folder of its package, where cargo runs it.
    pub folder: PathBuf,
    /// Whether it is in the folder `tests` of its package.
    pub is_integration: bool,
    path: PathBuf,
}

/// Everything that was built.
#[derive(Default)]
pub(super) struct Built {
    pub programs: Vec<Program>,
    started: Vec<(&'static str, PathBuf)>,
}

impl Built {
    /// Builds all test programs.
    pub(super) fn new(timings: &mut Timings) -> Result<Self> {
        let started = Instant::now();
        let command = if build_lints() { BUILD_ALL } else { BUILD };
        let mut child = run::cargo_command(&command)
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run cargo")?;
        let output = child.stdout.take().context("cargo has no output")?;
        let reader = std::thread::spawn(move || Self::read(BufReader::new(output)));
        let (status, used) = usage::wait(&mut child, started)?;
        let built = reader.join();
        timings.add_command("building all test programs", COMMANDS, used);
        ensure!(status.success(), "cargo {} failed", command.join(" "));
        let built = built.unwrap_or_else(|_| Err(anyhow!("reading what cargo prints panicked")))?;
        let (count, all) = (built.started.len(), STARTED.len());
        ensure!(
            count == all,
            "{count} of the {all} programs that tests start were built"
        );
        Ok(built)
    }

    fn read(messages: impl BufRead) -> Result<Self> {
        let mut built = Self::default();
        for message in Message::parse_stream(messages) {
            if let Message::CompilerArtifact(artifact) =
                message.context("reading what cargo prints")?
            {
                built.add(artifact)?;
            }
        }
        Ok(built)
    }

    fn add(&mut self, artifact: Artifact) -> Result<()> {
        let Some(path) = artifact.executable else {
            return Ok(());
        };
        if !artifact.profile.test {
            let mut started = STARTED.iter();
            if let Some((_, variable)) = started.find(|(name, _)| *name == artifact.target.name) {
                self.started.push((variable, path.into()));
            }
            return Ok(());
        }
        let folder = artifact.manifest_path.parent();
        let package = artifact.package_id.repr;
        self.programs.push(Program {
            package: package_name(&package).to_owned(),
            is_integration: artifact.target.is_test(),
            name: artifact.target.name,
            folder: folder.context("a manifest in no folder")?.into(),
            path: path.into(),
        });
        Ok(())
    }

    /// A command that runs a program.
    pub(super) fn command(&self, program: &Program) -> Command {
        let mut command = Command::new(&program.path);
        command
            .envs(self.started.iter().map(|(variable, path)| (variable, path)))
            .current_dir(&program.folder);
        command
    }
}

impl Program {
    /// The name of its package's folder and its own.
    pub(super) fn title(&self) -> String {
        let folder = self.folder.file_name().map(Path::new);
        let folder = folder.unwrap_or(&self.folder).display();
        format!("{folder}: {}", self.name)
    }
}

/// The name in a package's id: `path+file:///reeve/api#reeve-api@0.1.0`, or `…/xtask#0.1.0` where the folder has the name.
fn package_name(id: &str) -> &str {
    let (url, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => url.rsplit('/').next().unwrap_or(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_package_is_read_from_its_id() {
        for (id, name) in [
            ("path+file:///reeve/api#reeve-api@0.1.0", "reeve-api"),
            ("path+file:///reeve/xtask#0.1.0", "xtask"),
        ] {
            assert_eq!(package_name(id), name);
        }
    }
}
