//! The errors of a placement's reconcile.

use reeve_runtime::object::{ObjectKey, StatusReason, is_about_namespace, status_message};
use reeve_runtime::queue::Action;

/// The writes that failed for a placement.
#[derive(Debug, thiserror::Error)]
#[error("placement {placement}: {}", .failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Error {
    /// The placement that was reconciled.
    pub placement: ObjectKey,
    /// All failures of one reconcile.
    pub failures: Vec<Failure>,
}

/// A write that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {object}: {}", status_message(.source))]
pub struct Failure {
    /// The write, as the error names it.
    pub operation: &'static str,
    /// The object of the write.
    pub object: String,
    /// The error of the client.
    pub source: kube::Error,
}

/// The action after failures. A conflict with another writer is not an error.
pub(super) fn outcome(placement: &ObjectKey, failures: Vec<Failure>) -> Result<Action, Error> {
    let faster = |failure: &Failure| {
        matches!(
            StatusReason::of(&failure.source),
            StatusReason::Conflict | StatusReason::AlreadyExists | StatusReason::NotFound
        )
    };
    // A placement is deleted with its namespace.
    if failures.iter().all(|one| is_about_namespace(&one.source)) {
        return Ok(Action::AwaitChange);
    }
    if failures.iter().all(faster) {
        return Ok(Action::Requeue);
    }
    Err(Error {
        placement: placement.clone(),
        failures,
    })
}
