//! The errors that end the process. Each controller has the errors of its reconciles in its own `error`.

use std::path::PathBuf;

use reeve_runtime::manager::ManagerError;

use crate::trigger_uninstall::error::UninstallError;

/// Why the process ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The namespace of the policies is not set.
    #[error("the --cluster-namespace flag must be provided")]
    ClusterNamespace,
    /// The hub's kubeconfig is not set.
    #[error(
        "the --hub-cluster-configfile flag or the environment variable HUB_CONFIG must be provided"
    )]
    NoHubKubeconfig,
    /// The hub's kubeconfig cannot be read.
    #[error("cannot read the hub's kubeconfig {path}: {source}")]
    HubKubeconfig {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The process could not start, or ended.
    #[error(transparent)]
    Manager(#[from] ManagerError),
    /// The removal could not be prepared.
    #[error(transparent)]
    Uninstall(#[from] UninstallError),
}
