//! Every text of suites that a user sees.

/// A document of another kind.
pub(crate) fn other_kind(kind: &str, found: &str) -> String {
    format!("kind: expected {kind}, found {found:?}")
}

/// A document of another version.
pub(crate) fn other_version(expected: &str, found: &str) -> String {
    format!("apiVersion: expected {expected}, found {found:?}")
}

/// A step names a cluster that the suite does not have.
pub(crate) fn no_cluster(name: &str, known: &str) -> String {
    format!("no cluster {name:?}: the suite has {known}")
}

/// An expectation that nothing fulfils.
pub(crate) const NOT_FOUND: &str = "not found";

/// A policy is on other clusters.
pub(crate) const NOT_ON_CLUSTER: &str = "not on this cluster";

/// A controller ended in the middle of a suite.
pub(crate) fn controllers_ended(why: &str) -> String {
    format!("the controllers of the fleet have ended: {why}")
}

/// The fleet does not come to rest.
pub(crate) fn not_idle(seconds: u64, waiting: &str) -> String {
    format!("the controllers are still busy after {seconds} s; waiting for {waiting}")
}

/// Steps behind one that could not be carried out.
pub(crate) const NOT_RUN: &str = "not run: an earlier step could not be carried out";

/// Policies that were bound to all clusters.
pub(crate) fn bound(policies: &[String]) -> String {
    let count = reeve_report::plural(policies.len(), "policy");
    let verb = if policies.len() == 1 { "was" } else { "were" };
    format!("{count} bound to nothing {verb} bound to all clusters")
}

/// A policy of a folder that no suite uses.
pub(crate) const UNUSED: &str = "no suite uses it";
