//! Finds the programs of a control plane, or builds them.

use std::env;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::workspace;

const INSTALL: &str = "the tests need a real control plane: install Go 1.26 or later \
    (https://go.dev/dl) so that tests/controlplane can be built, or set KUBEBUILDER_ASSETS to a \
    folder that holds the programs `etcd` and `kube-apiserver`";

const VERSION: &str = "k8s.io/component-base/version";

/// A program and, for our own, the role it is to play.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) role: Option<&'static str>,
}

/// The programs of a control plane.
#[derive(Debug, Clone)]
pub(crate) struct Assets {
    pub(crate) etcd: Program,
    pub(crate) apiserver: Program,
    /// Often absent from `KUBEBUILDER_ASSETS`.
    pub(crate) controller_manager: Option<Program>,
}

/// The programs in `KUBEBUILDER_ASSETS` when that is set, else ours, built first when it is older
/// than its sources. Blocks for minutes when nothing is built or cached.
pub(crate) fn locate() -> Result<Assets> {
    if let Some(folder) = env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()) {
        return from_folder(Path::new(&folder));
    }
    let path = build(&workspace().join("tests/controlplane"))?;
    let program = |role| Program {
        path: path.clone(),
        role: Some(role),
    };
    Ok(Assets {
        etcd: program("etcd"),
        apiserver: program("kube-apiserver"),
        controller_manager: Some(program("kube-controller-manager")),
    })
}

fn from_folder(folder: &Path) -> Result<Assets> {
    let find = |name: &str| {
        let path = folder.join(name);
        path.is_file().then_some(Program { path, role: None })
    };
    let need = |name: &str| {
        let missing = || {
            format!(
                "KUBEBUILDER_ASSETS={} has no `{name}`; {INSTALL}",
                folder.display()
            )
        };
        find(name).with_context(missing)
    };
    Ok(Assets {
        etcd: need("etcd")?,
        apiserver: need("kube-apiserver")?,
        controller_manager: find("kube-controller-manager"),
    })
}

fn build(source: &Path) -> Result<PathBuf> {
    let bin = source.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("creating {}", bin.display()))?;
    // Test binaries and planes ask at the same time; one builds, the others wait and find it done.
    let lock = File::create(bin.join(".lock")).context("creating the build lock")?;
    lock.lock().context("waiting for the build lock")?;

    let program = bin.join("controlplane");
    if up_to_date(source, &program) {
        return Ok(program);
    }
    // Under another name until it is whole.
    let fresh = bin.join("controlplane.new");
    let flags = format!(
        "-s -w -X {VERSION}.gitVersion=v1.36.1 -X {VERSION}.gitMajor=1 -X {VERSION}.gitMinor=36"
    );
    let output = Command::new("go")
        .current_dir(source)
        .args(["build", "-trimpath", "-ldflags", &flags, "-o"])
        .args([fresh.as_os_str(), ".".as_ref()])
        .output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("{INSTALL}"),
        output => output.context("starting `go build`")?,
    };
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`go build` in {} failed: {stderr}", source.display());
    }
    fs::rename(&fresh, &program).context("putting the new control plane in place")?;
    Ok(program)
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
