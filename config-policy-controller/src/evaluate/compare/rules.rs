//! The rules of a comparison: how much of an object a policy determines, and what an absent value equals.

/// How much of the object the policy determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::enum_variant_names)] // the words of the API
pub enum ComplianceType {
    /// The object exists and has at least the given content.
    MustHave,
    /// No such object exists.
    MustNotHave,
    /// The object exists and has exactly the given content.
    MustOnlyHave,
}

/// Whether an absent value equals the zero value of the other side (`""`, `0`, `false`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroRule {
    /// No: named objects, where a dry run settles it.
    Distinct,
    /// Yes: list items and objects found by their content.
    EqualsAbsent,
}

/// The compliance type and the treatment of zero values that apply to a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub compliance: ComplianceType,
    pub zero: ZeroRule,
}
