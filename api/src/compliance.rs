//! The two small vocabularies that every component shares.

use std::fmt;

/// What is known about an object or a policy on one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compliance {
    /// Everything is as the policy says.
    Compliant,
    /// Evaluation waits for something else to become compliant first.
    Pending,
    /// Something is not as the policy says, or could not be evaluated.
    NonCompliant,
    /// The policy is being deleted and its clean-up is not finished.
    Terminating,
}

impl Compliance {
    /// Reads a status field. `None` for an absent, empty or unknown word: "not known".
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "Compliant" => Some(Self::Compliant),
            "Pending" => Some(Self::Pending),
            "NonCompliant" => Some(Self::NonCompliant),
            "Terminating" => Some(Self::Terminating),
            _ => None,
        }
    }

    /// The word as status fields and messages carry it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compliant => "Compliant",
            Self::Pending => "Pending",
            Self::NonCompliant => "NonCompliant",
            Self::Terminating => "Terminating",
        }
    }

    /// The compliance a message announces by its first word, read without regard to case.
    /// A message that announces neither compliance nor waiting is a violation: evaluators that
    /// fail in an unforeseen way must not look healthy.
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

/// What may be done about a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemediationAction {
    /// Report only.
    Inform,
    /// Change the cluster until it complies.
    Enforce,
}

impl RemediationAction {
    /// Reads a `remediationAction` field, whose case users choose freely.
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
