//! Programs that are built from Go modules, once.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

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
    /// The program, built first when it is older than its sources. Blocks for minutes when nothing is built or cached.
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
        if up_to_date(self.module, &program) {
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
        Ok(program)
    }

    /// What a command of Go prints when it is run in the module.
    pub(crate) fn go(&self, args: &[&Path]) -> Result<String> {
        let output: Output = match Command::new("go")
            .current_dir(self.module)
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

fn up_to_date(source: &Path, program: &Path) -> bool {
    let Some(built) = modified(program) else {
        return false;
    };
    let Ok(entries) = fs::read_dir(source) else {
        return false;
    };
    let mut sources = entries.flatten().map(|entry| entry.path()).filter(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("go" | "mod" | "sum"))
    });
    sources.all(|path| modified(&path).is_some_and(|changed| changed <= built))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
}
