//! The two enums that every component shares: compliance and remediation action.

use std::fmt;

/// The compliance of an object or a policy on one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compliance {
    /// The cluster matches the policy.
    Compliant,
    /// Evaluation waits for something else to become compliant first.
    Pending,
    /// The cluster does not match the policy, or the policy could not be evaluated.
    NonCompliant,
    /// The policy is being deleted and its cleanup is not finished.
    Terminating,
}

impl Compliance {
    /// Parses a status field. `None` for an absent, empty or unknown value: "not known".
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "Compliant" => Some(Self::Compliant),
            "Pending" => Some(Self::Pending),
            "NonCompliant" => Some(Self::NonCompliant),
            "Terminating" => Some(Self::Terminating),
            _ => None,
        }
    }

    /// The value in status fields and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compliant => "Compliant",
            Self::Pending => "Pending",
            Self::NonCompliant => "NonCompliant",
            Self::Terminating => "Terminating",
        }
    }

    /// The compliance in a message's first word, regardless of case. A message without a compliance counts as a
    /// violation: evaluators that fail in an unforeseen way must not look healthy.
    pub fn of_message(message: &str) -> Self {
        let message = message.trim().to_ascii_lowercase();
        if message.starts_with("compliant") {
            Self::Compliant
        } else if message.starts_with("pending") {
            Self::Pending
        } else {
            Self::NonCompliant
        }
    }
}

impl fmt::Display for Compliance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The action on a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemediationAction {
    /// Report only.
    Inform,
    /// Change the cluster until it complies.
    Enforce,
}

impl RemediationAction {
    /// Parses a `remediationAction` field, in any case.
    pub fn parse(word: &str) -> Option<Self> {
        if word.eq_ignore_ascii_case("enforce") {
            Some(Self::Enforce)
        } else if word.eq_ignore_ascii_case("inform") {
            Some(Self::Inform)
        } else {
            None
        }
    }
}
