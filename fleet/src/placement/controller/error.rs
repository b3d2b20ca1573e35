//! What can go wrong between a placement and the API server.

use reeve_runtime::object::{ObjectKey, StatusReason, is_about_namespace, status_message};
use reeve_runtime::queue::Action;

/// What could not be written for a placement.
#[derive(Debug, thiserror::Error)]
#[error("placement {placement}: {}", .failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Error {
    /// The placement that was reconciled.
    pub placement: ObjectKey,
    /// All that failed in one pass.
    pub failures: Vec<Failure>,
}

/// A write that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {deed} {object}: {}", status_message(.source))]
pub struct Failure {
    /// What was being done.
    pub deed: &'static str,
    /// To what.
    pub object: String,
    /// Why it failed.
    pub source: kube::Error,
}

/// What to do after failures. Where somebody else only was faster, nothing is wrong.
pub(super) fn outcome(placement: &ObjectKey, failures: Vec<Failure>) -> Result<Action, Error> {
    let faster = |failure: &Failure| {
        matches!(
            StatusReason::of(&failure.source),
            StatusReason::Conflict | StatusReason::AlreadyExists | StatusReason::NotFound
        )
    };
    // A placement goes with its namespace.
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
