//! The real kustomize and Helm, built once, to see what they make of our manifests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::golang::GoProgram;
use crate::workspace;

const ADVICE: &str = "the tests need kustomize and Helm: install Go 1.26 or later (https://go.dev/dl) so that they can \
    be built from tests/packaging";

/// The Kubernetes that Helm renders for where it has no cluster to ask.
const KUBERNETES: &str = "-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 \
    -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36";

/// A program that renders manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packager {
    /// `kustomize`.
    Kustomize,
    /// `helm`.
    Helm,
}

impl Packager {
    /// What it prints, run in the root of the workspace. Builds it first when that is needed (minutes, once).
    ///
    /// # Errors
    /// When it fails, with its whole output.
    pub fn run<S: AsRef<OsStr>>(self, args: &[S]) -> Result<String> {
        let output = Command::new(self.locate()?)
            .current_dir(workspace())
            .args(args)
            // Helm would look into the developer's cluster and configuration.
            .env_remove("KUBECONFIG")
            .env("HOME", std::env::temp_dir())
            .output();
        let output = output.with_context(|| format!("starting {self:?}"))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success(),
            "{self:?} failed: {}{stdout}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(stdout)
    }

    /// Where the program is. Builds it first when that is needed (minutes, once).
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn locate(self) -> Result<PathBuf> {
        self.program(&workspace().join("tests/packaging")).locate()
    }

    fn program(self, module: &Path) -> GoProgram<'_> {
        let (name, package, ldflags) = match self {
            Self::Kustomize => ("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", ""),
            Self::Helm => ("helm", "helm.sh/helm/v3/cmd/helm", KUBERNETES),
        };
        GoProgram {
            module,
            name,
            package,
            ldflags,
            advice: ADVICE,
        }
    }
}
