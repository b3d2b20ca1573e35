//! The test programs of the workspace, built at once: building some of them alone would give their dependencies other
//! features, and build much of the workspace again.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::{Artifact, Message};

use crate::run;

const BUILD: [&str; 4] = [
    "test",
    "--workspace",
    "--no-run",
    "--message-format=json-render-diagnostics",
];

/// The programs that tests start, and the variables that name them.
const STARTED: [(&str, &str); 2] = [("reeve", "REEVE_BIN"), ("reeve-pod", "REEVE_POD_BIN")];

/// A built test program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// The name of its target.
    pub name: String,
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
    pub(super) fn new() -> Result<Self> {
        let mut child = run::cargo_command(&BUILD)?
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run cargo test")?;
        let output = child.stdout.take().context("cargo test has no output")?;
        let mut built = Self::default();
        for message in Message::parse_stream(BufReader::new(output)) {
            if let Message::CompilerArtifact(artifact) =
                message.context("reading what cargo prints")?
            {
                built.add(artifact)?;
            }
        }
        let status = child.wait().context("waiting for cargo test")?;
        ensure!(status.success(), "cargo {} failed", BUILD.join(" "));
        let (count, all) = (built.started.len(), STARTED.len());
        ensure!(
            count == all,
            "{count} of the {all} programs that tests start were built"
        );
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
        self.programs.push(Program {
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
            .current_dir(&program.folder)
            .stdin(Stdio::null());
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
