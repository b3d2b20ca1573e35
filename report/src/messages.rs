//! Every text of the outputs.

use std::collections::BTreeMap;

use crate::model::{State, Subject};

/// A report without a policy.
pub(crate) const NO_POLICIES: &str = "no policies";
/// A report without a suite.
pub(crate) const NO_SUITES: &str = "no steps";

/// Namespaces that were created, because objects are in them: each with its server. A line for each set of namespaces.
pub fn made_namespaces(made: &[(String, String)]) -> Vec<String> {
    /// So many servers are named; more are counted.
    const NAMED: usize = 3;
    let mut by_server: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (server, namespace) in made {
        by_server.entry(server).or_default().push(namespace);
    }
    let mut by_names: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for (server, mut names) in by_server {
        names.sort_unstable();
        by_names.entry(names).or_default().push(server);
    }
    let line = |(names, servers): (Vec<&str>, Vec<&str>)| {
        let noun = if names.len() == 1 {
            "namespace"
        } else {
            "namespaces"
        };
        let on = if servers.len() > NAMED {
            plural(servers.len(), "cluster")
        } else {
            servers.join(", ")
        };
        format!("made {noun} {} on {on}", names.join(", "))
    };
    by_names.into_iter().map(line).collect()
}

/// Policies were bound that nothing had bound. `off` is what leaves them unplaced.
pub fn bound(count: usize, off: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!(
        "{} bound to nothing {verb} bound to all clusters ({off} leaves that)",
        plural(count, "policy")
    )
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
        (Subject::Policies | Subject::Checks, State::Violation) => plural(count, "violation"),
        (_, State::Error) => plural(count, "error"),
        (Subject::Policies, State::Compliant) => format!("{count} compliant"),
        (Subject::Suites, State::Compliant) => format!("{count} passed"),
        (Subject::Checks, State::Compliant) => format!("{count} ok"),
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

/// Reasons that are left out.
pub(crate) fn more_reasons(count: usize) -> String {
    format!("… {} more (-o wide shows all)", plural(count, "reason"))
}

/// Names, and how many more there are.
pub(crate) fn and_more(names: &str, count: usize) -> String {
    format!("{names} and {count} more")
}

/// Rows that a terminal has no room for.
pub(crate) fn more_rows(count: usize) -> String {
    format!("… {} more (-o wide shows all)", plural(count, "row"))
}
