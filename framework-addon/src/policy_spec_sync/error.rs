//! The errors of spec sync. All of these are retried.

use reeve_runtime::object::{StatusReason, status_message};

/// Why one policy could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The replica could not be created.
    #[error(
        "cannot create the policy {policy} on the managed cluster: {}",
        status_message(source)
    )]
    Create {
        /// The policy's name.
        policy: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The replica could not be updated.
    #[error(
        "cannot update the policy {policy} on the managed cluster: {}",
        status_message(source)
    )]
    Update {
        /// The policy's name.
        policy: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The hub's API server could not be asked whether the policy exists.
    #[error(
        "cannot ask the hub whether the policy {policy} is gone: {}",
        status_message(source)
    )]
    Confirm {
        /// The policy's name.
        policy: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The replica could not be deleted.
    #[error(
        "cannot delete the policy {policy} on the managed cluster: {}",
        status_message(source)
    )]
    Delete {
        /// The policy's name.
        policy: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}

impl SpecError {
    /// Whether it is a conflict with another writer, whose change the watch delivers.
    pub fn is_outdated(&self) -> bool {
        match self {
            Self::Update { source, .. } => StatusReason::of(source) == StatusReason::Conflict,
            _ => false,
        }
    }
}
