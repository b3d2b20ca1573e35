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

/// Whether an absent field equals an empty list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyListRule {
    /// Yes: mustonlyhave.
    EqualsAbsent,
    /// If the API server does not store it: musthave.
    IfNotStored,
}

/// What an absent field equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsenceRules {
    /// The rule for zero values.
    pub zero: ZeroRule,
    /// The rule for empty lists.
    pub empty_list: EmptyListRule,
}

impl AbsenceRules {
    /// The rules for what is in a list: nothing tells its items apart but their content.
    pub(crate) fn in_list(self) -> Self {
        Self {
            zero: ZeroRule::EqualsAbsent,
            ..self
        }
    }
}

/// The compliance type and the treatment of zero values that apply to a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub compliance: ComplianceType,
    pub zero: ZeroRule,
}

impl Rules {
    /// What an absent field equals by these rules.
    pub fn absence(self) -> AbsenceRules {
        AbsenceRules {
            zero: self.zero,
            empty_list: match self.compliance {
                ComplianceType::MustOnlyHave => EmptyListRule::EqualsAbsent,
                ComplianceType::MustHave | ComplianceType::MustNotHave => {
                    EmptyListRule::IfNotStored
                }
            },
        }
    }
}
