//! The errors of secret sync. All of these are retried.

use reeve_runtime::object::{ObjectKey, status_message};

/// Why the Secret could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The managed cluster's Secret could not be created.
    #[error("cannot create the Secret {secret}: {}", status_message(source))]
    Create {
        /// The managed cluster's Secret.
        secret: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The managed cluster's Secret could not be updated.
    #[error("cannot update the Secret {secret}: {}", status_message(source))]
    Update {
        /// The managed cluster's Secret.
        secret: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The hub's API server could not be asked whether its Secret exists.
    #[error(
        "cannot ask the hub whether the Secret {secret} is gone: {}",
        status_message(source)
    )]
    Confirm {
        /// The hub's.
        secret: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The managed cluster's Secret could not be deleted.
    #[error("cannot delete the Secret {secret}: {}", status_message(source))]
    Delete {
        /// The managed cluster's Secret.
        secret: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}
