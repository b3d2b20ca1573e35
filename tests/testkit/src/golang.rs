//! Programs that are built from Go modules, once.
//!
//! Most modules are members of the Go workspace `tests/go.work`: they are built with the same versions of Kubernetes'
//! libraries and of all that these need, so that Go compiles each library once for all programs.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::workspace;

/// A main package of a Go module of ours.
#[derive(Debug)]
pub struct GoProgram<'a> {
    /// The folder of the module. The program is put into its `bin`.
    pub module: &'a Path,
    /// What the program is called.
    pub name: &'a str,
    /// The main package: `.`, or one that the module requires.
    pub package: &'a str,
    /// More flags of the linker.
    pub ldflags: &'a str,
    /// What to do where Go is not installed.
    pub advice: &'a str,
}

impl GoProgram<'_> {
    /// The program, built first when it is not that of its sources. Blocks for minutes when nothing is built or cached.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn locate(&self) -> Result<PathBuf> {
        let bin = self.module.join("bin");
        fs::create_dir_all(&bin).with_context(|| format!("creating {}", bin.display()))?;
        // Test binaries and planes ask at the same time; one builds, the others wait and find it done.
        let lock = File::create(bin.join(".lock")).context("creating the build lock")?;
        lock.lock().context("waiting for the build lock")?;

        let program = bin.join(self.name);
        let built_from = bin.join(format!("{}.sha256", self.name));
        let checksum = self.checksum()?;
        if program.exists() && fs::read_to_string(&built_from).is_ok_and(|last| last == checksum) {
            return Ok(program);
        }
        // Under another name until it is whole.
        let fresh = bin.join(format!("{}.new", self.name));
        let flags = format!("-s -w {}", self.ldflags);
        self.go(&[
            "build".as_ref(),
            "-trimpath".as_ref(),
            // The linker strips it anyway, and without it Go's build cache is a quarter smaller.
            "-gcflags=all=-dwarf=false".as_ref(),
            "-ldflags".as_ref(),
            flags.as_ref(),
            "-o".as_ref(),
            fresh.as_path(),
            self.package.as_ref(),
        ])?;
        fs::rename(&fresh, &program)
            .with_context(|| format!("putting the new {} in place", self.name))?;
        // Last: what is broken off is built again.
        fs::write(&built_from, checksum)
            .with_context(|| format!("writing {}", built_from.display()))?;
        Ok(program)
    }

    /// The checksum of everything that decides what is built, but for the version of Go.
    fn checksum(&self) -> Result<String> {
        let mut sources = Vec::new();
        collect_sources(self.module, &mut sources)?;
        if let Some(file) = self.workspace_file() {
            sources.push(file.with_extension("work.sum"));
            sources.push(file);
        }
        sources.sort();
        let mut hash = Sha256::new();
        for part in [self.package, self.ldflags] {
            hash.update(part);
            hash.update([0]);
        }
        for source in sources {
            let content =
                fs::read(&source).with_context(|| format!("reading {}", source.display()))?;
            hash.update(content.len().to_le_bytes());
            hash.update(content);
        }
        Ok(format!("{:x}", hash.finalize()))
    }

    /// The file of the Go workspace, if the module is its member.
    fn workspace_file(&self) -> Option<PathBuf> {
        let file = workspace().join("tests/go.work");
        let text = fs::read_to_string(&file).ok()?;
        let member = self.module.strip_prefix(file.parent()?).ok()?;
        let line = format!("./{}", member.display());
        text.lines()
            .any(|other| other.trim() == line)
            .then_some(file)
    }

    /// What a command of Go prints when it is run in the module.
    pub(crate) fn go(&self, args: &[&Path]) -> Result<String> {
        let workspace = self.workspace_file();
        let workspace = workspace.as_deref().unwrap_or(Path::new("off"));
        let output: Output = match Command::new("go")
            .current_dir(self.module)
            .env("GOWORK", workspace)
            // The compiler runs once per package and ends: collecting its garbage is a waste of processor time.
            .env("GOGC", "400")
            .args(args)
            .output()
        {
            Err(error) if error.kind() == ErrorKind::NotFound => bail!("{}", self.advice),
            output => output.context("starting `go`")?,
        };
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let command = args.first().map_or("", |arg| arg.to_str().unwrap_or(""));
            bail!(
                "`go {command}` in {} failed: {stderr}",
                self.module.display()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The files of a module that Go reads.
fn collect_sources(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry
            .with_context(|| format!("reading {}", folder.display()))?
            .path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            collect_sources(&path, sources)?;
        } else if matches!(extension, Some("go" | "mod" | "sum")) {
            sources.push(path);
        }
    }
    Ok(())
}
