//! Finds the programs of a control plane, or builds them.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::golang::GoProgram;
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
    /// Not among what a plane needs.
    kubectl: Option<Program>,
}

/// How kubectl is called: a program, and what its arguments begin with. Built first as the programs of a plane are;
/// blocks meanwhile.
///
/// # Errors
/// When the programs come from a `KUBEBUILDER_ASSETS` without kubectl.
pub fn kubectl() -> Result<(PathBuf, Option<&'static str>)> {
    let program = locate()?
        .kubectl
        .context("KUBEBUILDER_ASSETS has no `kubectl`")?;
    Ok((program.path, program.role))
}

/// The programs in `KUBEBUILDER_ASSETS` when that is set, else ours, built first when it is older
/// than its sources. Blocks for minutes when nothing is built or cached.
pub(crate) fn locate() -> Result<Assets> {
    if let Some(folder) = env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()) {
        return from_folder(Path::new(&folder));
    }
    let path = control_plane()?;
    let program = |role| Program {
        path: path.clone(),
        role: Some(role),
    };
    Ok(Assets {
        etcd: program("etcd"),
        apiserver: program("kube-apiserver"),
        controller_manager: Some(program("kube-controller-manager")),
        kubectl: Some(program("kubectl")),
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
        kubectl: find("kubectl"),
    })
}

/// Our own program, built first when that is needed. It is each program of a control plane, by its first argument.
pub(crate) fn control_plane() -> Result<PathBuf> {
    let ldflags =
        format!("-X {VERSION}.gitVersion=v1.36.1 -X {VERSION}.gitMajor=1 -X {VERSION}.gitMinor=36");
    GoProgram {
        module: &workspace().join("tests/controlplane"),
        name: "controlplane",
        package: ".",
        ldflags: &ldflags,
        advice: INSTALL,
    }
    .locate()
}
