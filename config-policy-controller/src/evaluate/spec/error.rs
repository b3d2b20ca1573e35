//! Why a policy or one of its object templates cannot be evaluated.

use crate::status::finding::Event;

/// Why a template or a policy cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What the status says.
    pub event: Event,
    /// Whether it is worth another try without an edit of the policy.
    pub retry: Retry,
}

/// Whether and when something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Only an edit of the policy helps, or a change of something that is watched.
    No,
    /// Soon, later and later.
    Soon,
    /// When the kind may be there.
    WhenKindAppears,
}

impl Problem {
    /// A problem that is tried again.
    pub fn passing(reason: &str, message: String) -> Self {
        Self {
            event: Event::problem(reason, message),
            retry: Retry::Soon,
        }
    }

    /// A problem that only an edit of the policy solves.
    pub fn of_policy(reason: &str, message: String) -> Self {
        Self {
            event: Event::problem(reason, message),
            retry: Retry::No,
        }
    }
}
