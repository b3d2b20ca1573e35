//! Why the process ended. What can go wrong with one policy is in each controller's own `error`.

use std::path::PathBuf;

use reeve_runtime::manager::ManagerError;

use crate::trigger_uninstall::error::UninstallError;

/// Why the process ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing says where the policies are.
    #[error("the --cluster-namespace flag must be provided")]
    ClusterNamespace,
    /// Nothing says where the hub is.
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
