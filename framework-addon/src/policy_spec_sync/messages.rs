//! Every text of spec sync that a user can see.

/// Reason and action of the events.
pub const REASON: &str = "PolicySpecSync";
/// A policy on one cluster cannot be decoded.
pub const LEFT_ALONE: &str = "the policy is left as it is";
/// The reason if it is the hub's.
pub const UNDECODABLE_ON_HUB: &str = "it cannot be decoded on the hub";
/// The reason if it is the managed cluster's.
pub const UNDECODABLE_ON_MANAGED: &str = "it cannot be decoded on the managed cluster";

/// A policy was copied.
pub fn created(policy: &str, namespace: &str) -> String {
    format!("Policy {policy} was synchronized to cluster namespace {namespace}")
}

/// A replica was updated.
pub fn updated(policy: &str, namespace: &str) -> String {
    format!("Policy {policy} was updated in cluster namespace {namespace}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        insta::assert_snapshot!(created("ns.p", "c1"), @"Policy ns.p was synchronized to cluster namespace c1");
        insta::assert_snapshot!(updated("ns.p", "c1"), @"Policy ns.p was updated in cluster namespace c1");
    }
}
