//! Which policy claims which operator, and what it approves. Policies that claim the same operator wait for each other,
//! and one install plan may need the approvals of several.

use std::collections::HashMap;

use parking_lot::Mutex;
use reeve_api::RemediationAction;
use reeve_api::names::{CLUSTER_NAME_LABEL, CLUSTER_NAMESPACE_LABEL};
use reeve_api::operator_policy::OperatorPolicy;
use reeve_runtime::object::ObjectKey;

use super::decide::approvals::Grants;
use super::decide::spec::{DesiredSubscription, remediation};

/// The cluster that a policy is for, by its labels. A hosting cluster has the policies of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyCluster {
    name: Option<String>,
    namespace: Option<String>,
}

impl PolicyCluster {
    pub fn of(policy: &OperatorPolicy) -> Self {
        let label = |name: &str| {
            let labels = policy.metadata.labels.as_ref()?;
            labels.get(name).cloned()
        };
        Self {
            name: label(CLUSTER_NAME_LABEL),
            namespace: label(CLUSTER_NAMESPACE_LABEL),
        }
    }
}

/// The operator that a policy is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub cluster: PolicyCluster,
    /// Name and namespace of the Subscription.
    pub name: String,
    pub namespace: String,
    pub enforces: bool,
}

impl Claim {
    pub fn of(policy: &OperatorPolicy, subscription: &DesiredSubscription) -> Self {
        Self {
            cluster: PolicyCluster::of(policy),
            name: subscription.name.clone(),
            namespace: subscription.namespace.clone(),
            enforces: remediation(policy) == RemediationAction::Enforce,
        }
    }

    fn is_same_operator(&self, other: &Self) -> bool {
        (&self.cluster, &self.name, &self.namespace)
            == (&other.cluster, &other.name, &other.namespace)
    }

    fn shares_namespace(&self, other: &Self) -> bool {
        self.cluster == other.cluster && self.namespace == other.namespace
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    /// `None` while the operator of the policy is not known.
    claim: Option<Claim>,
    /// `None` while the policy approves nothing.
    grants: Option<Grants>,
}

/// The claims of the policies that this process has reconciled.
#[derive(Default)]
pub struct Claims(Mutex<HashMap<ObjectKey, Entry>>);

impl Claims {
    /// Records what a policy claims. Returns the policies that this concerns.
    pub fn claim(&self, policy: &ObjectKey, claim: Option<&Claim>) -> Vec<ObjectKey> {
        let grants = |entry: &Entry| entry.grants.clone().filter(|_| claim.is_some());
        self.change(policy, |entry| Entry {
            claim: claim.cloned(),
            grants: grants(entry),
        })
    }

    /// Records what a policy approves. Returns the policies that this concerns.
    pub fn grant(&self, policy: &ObjectKey, grants: Option<&Grants>) -> Vec<ObjectKey> {
        self.change(policy, |entry| Entry {
            claim: entry.claim.clone(),
            grants: grants.cloned(),
        })
    }

    /// Removes a deleted policy. Returns the policies that this concerns.
    pub fn forget(&self, policy: &ObjectKey) -> Vec<ObjectKey> {
        let mut entries = self.0.lock();
        let before = entries.remove(policy);
        let claims = [before.and_then(|before| before.claim), None];
        concerned(&entries, policy, &claims)
    }

    /// What another policy approves; `None` if nothing, or if it was not reconciled yet.
    pub fn grants(&self, policy: &ObjectKey) -> Option<Grants> {
        self.0.lock().get(policy)?.grants.clone()
    }

    /// The other enforced policies that claim the same operator. Of policies that this process has not reconciled yet,
    /// `by_status` answers from their status.
    pub fn overlapping(
        &self,
        policy: &ObjectKey,
        claim: &Claim,
        by_status: impl IntoIterator<Item = ObjectKey>,
    ) -> Vec<ObjectKey> {
        let entries = self.0.lock();
        let claims = entries.iter().filter(|(key, entry)| {
            let other = entry.claim.as_ref();
            *key != policy
                && other.is_some_and(|other| other.enforces && other.is_same_operator(claim))
        });
        let mut overlapping: Vec<_> = claims.map(|(key, _)| key.clone()).collect();
        let unknown = by_status.into_iter();
        overlapping.extend(unknown.filter(|key| key != policy && !entries.contains_key(key)));
        overlapping
    }

    fn change(&self, policy: &ObjectKey, change: impl FnOnce(&Entry) -> Entry) -> Vec<ObjectKey> {
        let mut entries = self.0.lock();
        let before = entries.get(policy).cloned().unwrap_or_default();
        let after = change(&before);
        entries.insert(policy.clone(), after.clone());
        if before == after {
            return Vec::new();
        }
        concerned(&entries, policy, &[before.claim, after.claim])
    }
}

/// The enforced policies with an operator in the namespace of one of these claims.
fn concerned(
    entries: &HashMap<ObjectKey, Entry>,
    policy: &ObjectKey,
    claims: &[Option<Claim>; 2],
) -> Vec<ObjectKey> {
    let concerns = |other: &Claim| {
        let mut claims = claims.iter().flatten();
        other.enforces && claims.any(|claim| claim.shares_namespace(other))
    };
    let others = entries
        .iter()
        .filter(|(key, entry)| *key != policy && entry.claim.as_ref().is_some_and(concerns));
    others.map(|(key, _)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator_policy::decide::spec::names;

    fn claim(name: &str, enforces: bool) -> Claim {
        Claim {
            cluster: PolicyCluster {
                name: None,
                namespace: None,
            },
            name: name.to_owned(),
            namespace: "operators".to_owned(),
            enforces,
        }
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("managed", name)
    }

    #[test]
    fn op_24_15_policies_without_cluster_labels_overlap() {
        let claims = Claims::default();
        assert!(
            claims
                .claim(&key("a"), Some(&claim("quay", true)))
                .is_empty()
        );
        assert_eq!(
            claims.claim(&key("b"), Some(&claim("quay", true))),
            [key("a")]
        );
        let overlapping = claims.overlapping(&key("b"), &claim("quay", true), []);
        assert_eq!(overlapping, [key("a")]);
    }

    #[test]
    fn op_6_informing_policy_is_no_overlap() {
        let claims = Claims::default();
        claims.claim(&key("a"), Some(&claim("quay", false)));
        assert!(
            claims
                .overlapping(&key("b"), &claim("quay", true), [])
                .is_empty()
        );
    }

    #[test]
    fn op_6_status_counts_only_until_the_policy_is_reconciled() {
        let claims = Claims::default();
        let by_status = || [key("a"), key("b")];
        let own = claim("quay", true);
        assert_eq!(claims.overlapping(&key("b"), &own, by_status()), [key("a")]);
        claims.claim(&key("a"), Some(&claim("argocd", true)));
        assert!(claims.overlapping(&key("b"), &own, by_status()).is_empty());
    }

    #[test]
    fn op_11_change_of_grants_enqueues_policies_of_the_namespace_once() {
        let claims = Claims::default();
        claims.claim(&key("a"), Some(&claim("quay", true)));
        claims.claim(&key("b"), Some(&claim("argocd", true)));
        let grants = Grants::default();
        assert_eq!(claims.grant(&key("b"), Some(&grants)), [key("a")]);
        assert!(claims.grant(&key("b"), Some(&grants)).is_empty());
        assert_eq!(claims.grants(&key("b")), Some(grants));
        assert_eq!(claims.forget(&key("b")), [key("a")]);
        assert_eq!(claims.grants(&key("b")), None);
    }

    #[test]
    fn op_24_16_names_with_dots_are_no_other_names() {
        let claims = Claims::default();
        let dotted = ObjectKey::new("managed", "a.b.c");
        claims.claim(&dotted, Some(&claim("quay", true)));
        let overlapping = claims.overlapping(&key("a"), &claim("quay", true), []);
        assert_eq!(overlapping, [dotted]);
    }

    #[test]
    fn op_24_17_operators_whose_labels_are_cut_to_the_same_text_do_not_overlap() {
        let claims = Claims::default();
        let long = |end: &str| claim(&format!("{}{end}", "a".repeat(62)), true);
        let label = |claim: &Claim| names::olm_label(&claim.name, &claim.namespace);
        assert_eq!(label(&long("b")), label(&long("bc")));
        claims.claim(&key("a"), Some(&long("b")));
        assert!(claims.overlapping(&key("b"), &long("bc"), []).is_empty());
    }
}
