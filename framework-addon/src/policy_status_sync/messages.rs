//! Every text of status sync that a user can see.

/// Reason and action of the events.
pub const REASON: &str = "PolicyStatusSync";

/// The hub cannot be reached.
pub const CUT_OFF: &str = "the hub does not take statuses: they wait until it does";
/// The reason if it does not answer.
pub const NO_ANSWER: &str = "no answer in time";

/// The status on the managed cluster was written.
pub fn updated(policy: &str, namespace: &str) -> String {
    format!("Policy {policy} status was updated in cluster namespace {namespace}")
}

/// The status on the hub was written; `state` is empty while it is not known.
pub fn updated_on_hub(policy: &str, state: &str, namespace: &str) -> String {
    if state.is_empty() {
        return updated(policy, namespace);
    }
    format!("Policy {policy} status was updated to {state} in cluster namespace {namespace}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        insta::assert_snapshot!(updated("ns.p", "c1"), @"Policy ns.p status was updated in cluster namespace c1");
        insta::assert_snapshot!(updated_on_hub("ns.p", "Compliant", "c1"), @"Policy ns.p status was updated to Compliant in cluster namespace c1");
        insta::assert_snapshot!(updated_on_hub("ns.p", "", "c1"), @"Policy ns.p status was updated in cluster namespace c1");
    }
}
