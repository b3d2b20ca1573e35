//! Why a step of the audit failed. It is tried again.

use reeve_runtime::object::status_message;

/// A step failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuditError {
    /// A request failed.
    #[error("cannot {action}: {}", status_message(.source))]
    Request {
        /// What was being done, with the object's name.
        action: String,
        /// The error of the client.
        source: kube::Error,
    },
    /// Nothing could compile a template now.
    #[error("cannot load constraint template {name}: {reason}")]
    Unavailable {
        /// The template.
        name: String,
        /// Why.
        reason: String,
    },
}

impl AuditError {
    /// Names what was being done.
    pub(crate) fn new(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Request { action, source }
    }
}
