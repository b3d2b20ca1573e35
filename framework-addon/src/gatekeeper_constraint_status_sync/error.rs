//! The errors of the relay. All of these are retried.

use reeve_runtime::dependencies::ReadError;
use reeve_runtime::discovery::DiscoveryError;
use reeve_runtime::object::status_message;

/// Why the compliance of a constraint could not be reported.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// It is not known whether the constraint's kind exists.
    #[error("constraint {constraint}: {source}")]
    Discover {
        /// The constraint's name.
        constraint: String,
        /// The error of the discovery.
        source: DiscoveryError,
    },
    /// The constraint could not be read.
    #[error("cannot read the constraint {constraint}: {source}")]
    Read {
        /// The constraint's name.
        constraint: String,
        /// The error of the read.
        source: ReadError,
    },
    /// The report could not be stored.
    #[error(
        "constraint {constraint}: cannot create the compliance event: {}",
        status_message(source)
    )]
    Report {
        /// The constraint's name.
        constraint: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}
