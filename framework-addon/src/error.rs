//! Why the process ended. What can go wrong with one policy is in each controller's own `error`.

use std::path::PathBuf;

use reeve_runtime::client::ClientError;
use reeve_runtime::leader::LeaderError;
use reeve_runtime::logging::InvalidLevel;
use reeve_runtime::serving::ServeError;
use reeve_runtime::supervisor::TaskError;

use crate::uninstall::error::UninstallError;

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
    /// The log level is invalid.
    #[error(transparent)]
    Logging(#[from] InvalidLevel),
    /// A cluster cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A port is taken or a certificate is missing.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Leadership could not be had.
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// The removal could not be prepared.
    #[error(transparent)]
    Uninstall(#[from] UninstallError),
    /// A task ended.
    #[error(transparent)]
    Task(#[from] TaskError),
}
