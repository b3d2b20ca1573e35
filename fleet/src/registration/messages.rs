//! The texts that users of clusters and sets see.

/// A set without clusters.
pub const NOBODY: &str = "No ManagedCluster selected";

/// How many clusters a set has.
pub fn members(count: usize) -> String {
    format!("{count} ManagedClusters selected")
}

/// A cluster whose agent is not heard of.
pub const SILENT: &str = "Registration agent stopped updating its lease.";

/// A binding by another name than its set's.
pub const OTHER_NAME: &str =
    "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet";

/// A user who may not bind a set.
pub fn may_not_bind(user: &str, set: &str) -> String {
    format!("user {user:?} is not allowed to bind cluster set {set:?}")
}

/// A user who may not move clusters into a set, or out of it.
pub fn may_not_join(user: &str, set: &str) -> String {
    format!("user {user:?} cannot add/remove a ManagedCluster to/from ManagedClusterSet {set:?}")
}

/// Taints whose time was given by who wrote them.
pub fn time_given(keys: &[&str]) -> String {
    format!(
        "It is not allowed to set TimeAdded of Taint \"{}\".",
        keys.join(",")
    )
}
