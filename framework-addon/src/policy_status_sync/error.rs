//! The errors of status sync and hub status sync. All of these are retried.

use reeve_runtime::dependencies::ReadError;
use reeve_runtime::discovery::DiscoveryError;
use reeve_runtime::object::{StatusReason, error_chain, status_message};

/// Why a policy's status could not be reconciled.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The policy cannot be decoded. Its status is not overwritten.
    #[error("cannot decode the policy {policy}: {source}")]
    Undecodable {
        /// The policy's name.
        policy: String,
        /// The error of the JSON encoder or decoder.
        source: serde_json::Error,
    },
    /// It is not known whether a template's kind exists.
    #[error(
        "cannot read the template objects of the policy {policy}: {}",
        error_chain(source)
    )]
    Discover {
        /// The policy's name.
        policy: String,
        /// The error of the discovery.
        source: DiscoveryError,
    },
    /// A template object could not be read.
    #[error("cannot read the object of template {template} of the policy {policy}: {source}")]
    Read {
        /// The policy's name.
        policy: String,
        /// The template's name.
        template: String,
        /// The error of the read.
        source: ReadError,
    },
    /// The status on the managed cluster could not be written.
    #[error(
        "cannot write the status of the policy {policy} on the managed cluster: {}",
        status_message(source)
    )]
    Managed {
        /// The policy's name.
        policy: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The status on the hub could not be written.
    #[error(
        "cannot write the status of the policy {policy} on the hub: {}",
        status_message(source)
    )]
    Hub {
        /// The policy's name.
        policy: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}

impl StatusError {
    /// Whether it is a conflict with another writer, whose change the watch delivers.
    pub fn is_outdated(&self) -> bool {
        match self {
            Self::Managed { source, .. } | Self::Hub { source, .. } => {
                StatusReason::of(source) == StatusReason::Conflict
            }
            _ => false,
        }
    }
}
