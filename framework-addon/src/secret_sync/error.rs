//! Why the Secret could not be copied. All of these are tried again.

use reeve_runtime::object::{ObjectKey, status_message};

/// Why the Secret could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The copy could not be created.
    #[error("cannot create the Secret {secret}: {}", status_message(source))]
    Create {
        /// The copy.
        secret: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The copy could not be updated.
    #[error("cannot update the Secret {secret}: {}", status_message(source))]
    Update {
        /// The copy.
        secret: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The hub could not be asked whether it really has no such Secret.
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
    /// The copy could not be deleted.
    #[error("cannot delete the Secret {secret}: {}", status_message(source))]
    Delete {
        /// The copy.
        secret: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}
