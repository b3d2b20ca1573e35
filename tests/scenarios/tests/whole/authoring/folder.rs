//! A folder with the files of an author, in which programs run.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};

/// No variables but those of the tests.
pub(crate) const PLAIN: &[(&str, &OsStr)] = &[];

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with these files, by path.
    pub(crate) fn new(files: &[(&str, &str)]) -> Result<Self> {
        let folder = Self(tempfile::tempdir()?);
        for (path, text) in files {
            folder.write(path, text)?;
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> Result<()> {
        let at = self.path().join(path);
        if let Some(parent) = at.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&at, text).with_context(|| format!("writing {path}"))
    }

    /// What a program does here.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        program: &Path,
        arguments: &[A],
        environment: &[(&str, &OsStr)],
    ) -> Result<Ran> {
        let output = Command::new(program)
            .current_dir(self.path())
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("starting {}", program.display()))?;
        Ok(Ran::of(&output))
    }
}

/// What a program has printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) error: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            error: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The output of a program that ended with this exit code.
    pub(crate) fn ended_with(self, code: i32) -> Result<String> {
        ensure!(self.code == Some(code), "{self:?}");
        Ok(self.out)
    }
}
