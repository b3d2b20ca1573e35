//! Programs of clients that others have written, built or installed once.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::golang::GoProgram;
use crate::workspace;

const GO_ADVICE: &str = "the tests need a program of client-go: install Go 1.26 or later (https://go.dev/dl) so that it \
    can be built from tests/conformance/client-go";

const PYTHON_ADVICE: &str = "the tests need the Python client of Kubernetes: install Python 3.10 or later with `venv`, and \
    let pip reach PyPI (or a mirror or a folder of wheels: PIP_INDEX_URL, PIP_FIND_LINKS), so that \
    tests/conformance/python/requirements.txt can be installed";

/// A program that is written with client-go, built first when that is needed (minutes, once). Blocks meanwhile.
///
/// # Errors
/// When it cannot be built.
pub fn client_go() -> Result<PathBuf> {
    GoProgram {
        module: &workspace().join("tests/conformance/client-go"),
        name: "client-go",
        package: ".",
        ldflags: "",
        advice: GO_ADVICE,
    }
    .locate()
}

/// A Python that has the Kubernetes client, installed first when that is needed. Blocks meanwhile.
///
/// # Errors
/// When it cannot be installed.
pub fn python_client() -> Result<PathBuf> {
    let folder = workspace().join("tests/conformance/python");
    let lock =
        File::create(folder.join(".lock")).context("creating the lock of an installation")?;
    lock.lock().context("waiting for an installation")?;

    let wanted = folder.join("requirements.txt");
    let requirements =
        fs::read(&wanted).with_context(|| format!("reading {}", wanted.display()))?;
    let home = folder.join("venv");
    let (python, installed) = (home.join("bin/python"), home.join("installed.txt"));
    if fs::read(&installed).is_ok_and(|installed| installed == requirements) {
        return Ok(python);
    }
    run(
        Path::new("python3"),
        &["-m".as_ref(), "venv".as_ref(), "--clear".as_ref(), &home],
    )?;
    let pip = "-m pip --quiet --disable-pip-version-check install --require-hashes --only-binary :all: -r";
    let mut arguments: Vec<&Path> = pip.split(' ').map(Path::new).collect();
    arguments.push(&wanted);
    run(&python, &arguments)?;
    // Last: what was broken off is begun again.
    fs::write(&installed, requirements).context("noting what is installed")?;
    Ok(python)
}

fn run(program: &Path, arguments: &[&Path]) -> Result<()> {
    let output = match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("{PYTHON_ADVICE}"),
        output => output.with_context(|| format!("starting {}", program.display()))?,
    };
    if output.status.success() {
        return Ok(());
    }
    bail!(
        "{PYTHON_ADVICE}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
