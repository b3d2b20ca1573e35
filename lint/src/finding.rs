//! A finding.

use std::ops::Range;

use crate::rules::{Rule, find};

/// A place where a rule is violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) rule: &'static Rule,
    /// The file, as it was given.
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: usize,
    /// From 1; 0 when only the line is known.
    pub(crate) column: usize,
    /// Behind the last character on the same line; 0 when it is not known.
    pub(crate) end_column: usize,
    pub(crate) message: String,
    /// How it can be mended.
    pub(crate) edit: Option<Edit>,
}

/// Findings, and what they were found in.
pub(crate) struct Findings {
    pub(crate) all: Vec<Finding>,
    pub(crate) files: Vec<String>,
    pub(crate) fixed: usize,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The bytes that are replaced.
    pub(crate) range: Range<usize>,
    /// What replaces them.
    pub(crate) text: String,
    pub(crate) kind: EditKind,
}

/// The effect of a change on the values of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditKind {
    /// Nothing.
    Layout,
    /// A value becomes text.
    Quote,
    /// A document that cannot be read becomes one that can.
    Mend,
}

/// The rule with an identifier of this program.
pub(crate) fn rule(id: &str) -> &'static Rule {
    // The identifiers are constants of this crate; a test looks all of them up.
    find(id).unwrap_or(&crate::rules::RULES[0])
}
