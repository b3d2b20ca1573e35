//! Why a policy or one of its object templates cannot be evaluated.

use crate::status::finding::ObjectEvent;

/// Why a template or a policy cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluationError {
    /// The event that the status reports.
    pub event: ObjectEvent,
    /// Whether and when the evaluation is retried without an edit of the policy.
    pub retry: Retry,
}

/// Whether and when an evaluation is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Only an edit of the policy helps, or a change of something that is watched.
    No,
    /// With backoff.
    Soon,
    /// When the kind may be served.
    WhenKindAppears,
}

impl EvaluationError {
    /// An error that a retry may solve.
    pub fn transient(reason: &str, message: String) -> Self {
        Self {
            event: ObjectEvent::error(reason, message),
            retry: Retry::Soon,
        }
    }

    /// An error that only an edit of the policy solves.
    pub fn permanent(reason: &str, message: String) -> Self {
        Self {
            event: ObjectEvent::error(reason, message),
            retry: Retry::No,
        }
    }
}
