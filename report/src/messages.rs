//! Every text of the outputs.

use crate::model::{State, Subject};

/// A report without a policy.
pub(crate) const NO_POLICIES: &str = "no policies";
/// A report without a suite.
pub(crate) const NO_SUITES: &str = "no steps";

/// Namespaces that were created, because objects are in them.
pub fn made_namespaces(of: &str, names: &[String]) -> String {
    let noun = if names.len() == 1 {
        "namespace"
    } else {
        "namespaces"
    };
    format!("made {noun} {} on {of}", names.join(", "))
}

/// A number with its noun: `1 cluster`, `2 clusters`, `2 policies`.
pub fn plural(count: usize, noun: &str) -> String {
    let stem = noun.strip_suffix('y').filter(|_| !noun.ends_with("ey"));
    match (count, stem) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}

/// How many are in a state.
pub(crate) fn counted(subject: Subject, state: State, count: usize) -> String {
    match (subject, state) {
        (Subject::Policies, State::Violation) => plural(count, "violation"),
        (_, State::Error) => plural(count, "error"),
        (Subject::Policies, State::Compliant) => format!("{count} compliant"),
        (Subject::Suites, State::Compliant) => format!("{count} passed"),
        (Subject::Suites, State::Violation) => format!("{count} failed"),
        (_, State::Unplaced) => format!("{count} unplaced"),
        (_, State::Pending) => format!("{count} pending"),
        (_, State::Unknown) => format!("{count} not evaluated"),
        (_, State::Skipped) => format!("{count} skipped"),
    }
}

/// The files that were not used, in one line.
pub(crate) fn skipped(count: usize, list: &str) -> String {
    format!("skipped {count}: {list}")
}

/// Some of the clusters of a policy.
pub(crate) fn some_clusters(some: usize, all: usize) -> String {
    format!("{some} of {all}")
}

/// Rows that a terminal has no room for.
pub(crate) fn more_rows(count: usize) -> String {
    format!("… {} more (-o wide shows all)", plural(count, "row"))
}
