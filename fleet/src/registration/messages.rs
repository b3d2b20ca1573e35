//! The messages of conditions and rejections of clusters and sets.

/// A set has no clusters.
pub const NOBODY: &str = "No ManagedCluster selected";

/// A set has `count` clusters.
pub fn members(count: usize) -> String {
    format!("{count} ManagedClusters selected")
}

/// A cluster's agent does not renew its lease.
pub const SILENT: &str = "Registration agent stopped updating its lease.";

/// A binding's name differs from its set's.
pub const OTHER_NAME: &str =
    "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet";

/// A user must not bind a set.
pub fn may_not_bind(user: &str, set: &str) -> String {
    format!("user {user:?} is not allowed to bind cluster set {set:?}")
}

/// A user must not add clusters to a set, or remove them.
pub fn may_not_join(user: &str, set: &str) -> String {
    format!("user {user:?} cannot add/remove a ManagedCluster to/from ManagedClusterSet {set:?}")
}

/// A user has set the time of taints.
pub fn time_given(keys: &[&str]) -> String {
    format!(
        "It is not allowed to set TimeAdded of Taint \"{}\".",
        keys.join(",")
    )
}
