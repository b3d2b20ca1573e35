//! What becomes of a target, of whatever kind.

use reeve_api::Compliance;
use serde_json::Value;

/// What became of one target.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) status: Value,
    /// The lines of what differs, with their title; none for a kind that has no differences.
    pub(crate) diffs: Vec<String>,
    pub(crate) messages: Vec<String>,
    /// The compliance, as the status has it; empty if it has none.
    pub(crate) state: String,
}

impl Evaluation {
    pub(crate) fn is_compliant(&self) -> bool {
        self.state == Compliance::Compliant.as_str()
    }
}
