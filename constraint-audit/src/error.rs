//! Why a step of the audit failed. It is tried again.

use reeve_runtime::object::status_message;

/// A request failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {}", status_message(.source))]
pub(crate) struct AuditError {
    /// What was being done, with the object's name.
    pub(crate) action: String,
    /// The error of the client.
    pub(crate) source: kube::Error,
}

impl AuditError {
    /// Names what was being done.
    pub(crate) fn new(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self { action, source }
    }
}
