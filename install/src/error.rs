//! Why a hub was not changed, or not as asked.

use crate::messages;

/// Why an installation or its removal has ended.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A manifest that is part of this program cannot be read.
    #[error("{0}")]
    Manifest(String),
    /// The image is no reference of a registry.
    #[error("{}", messages::no_image(.0))]
    Image(String),
    /// The namespace has no name that Kubernetes takes.
    #[error("{}", messages::no_namespace(.0))]
    Namespace(String),
    /// The hub does not serve a kind.
    #[error("{}", messages::not_served(.api_version, .kind))]
    NotServed {
        /// Group and version.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// Helm manages the components.
    #[error("{}", messages::of_helm(.object, .release))]
    Helm {
        /// The object that says so.
        object: String,
        /// The name of the release.
        release: String,
    },
    /// Add-ons are enabled whose agents need the components to clean up.
    #[error("{}", messages::add_ons_enabled(.0))]
    AddOns(Vec<String>),
    /// A request failed.
    #[error("{object}: {why}")]
    Request {
        /// What the request was about.
        object: String,
        /// The answer of the API server, or why there is none.
        why: String,
    },
    /// Not everything is available in time.
    #[error("{}", messages::not_available(*.seconds, .waiting))]
    NotAvailable {
        /// How long was waited.
        seconds: u64,
        /// What is not available, and why.
        waiting: Vec<String>,
    },
}
