//! The errors of `trigger-uninstall`.

use reeve_runtime::manager::ManagerError;
use reeve_runtime::object::{ObjectKey, status_message};

use super::messages;

/// Why the removal could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum UninstallError {
    /// The flags are invalid, for this reason.
    #[error("{0}")]
    Flags(&'static str),
    /// The command could not start.
    #[error(transparent)]
    Start(#[from] ManagerError),
    /// The Deployment could not be annotated.
    #[error(
        "cannot annotate the Deployment {deployment}: {}",
        status_message(source)
    )]
    Deployment {
        /// The Deployment.
        deployment: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The policies could not be listed.
    #[error(
        "cannot list the policies in the namespace {namespace}: {}",
        status_message(source)
    )]
    List {
        /// The namespace of the policies.
        namespace: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The timeout is over, or the command was stopped.
    #[error("{}", messages::INCOMPLETE)]
    Incomplete,
}
