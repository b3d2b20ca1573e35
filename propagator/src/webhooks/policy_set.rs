//! The validation of policy sets.

use std::collections::HashSet;
use std::fmt;

use reeve_api::PolicySet;

use super::{AdmissionDecision, Admit, Operation};
use crate::messages;

impl Admit for PolicySet {
    fn admit(&self, _: Operation) -> AdmissionDecision {
        let exclusions = self.spec.exclusions.as_deref().unwrap_or_default();
        let members: HashSet<&str> = self.spec.policies.iter().map(String::as_str).collect();
        let mut seen = HashSet::new();
        let (mut repeated, mut foreign) = (Names::default(), Names::default());
        let mut warnings = Vec::new();
        for exclusion in exclusions {
            let policy = exclusion.policy_name.as_str();
            if !seen.insert(policy) {
                repeated.add(policy);
            }
            if !members.contains(policy) {
                foreign.add(policy);
            }
            let invalid = exclusion
                .cluster_names
                .iter()
                .filter(|c| !is_valid_cluster_name(c));
            warnings.extend(invalid.map(|cluster| messages::invalid_cluster_name(policy, cluster)));
        }
        let texts = [
            (repeated, messages::DUPLICATE_EXCLUSION),
            (foreign, messages::FOREIGN_EXCLUSION),
        ];
        let texts = texts.iter().filter(|(names, _)| !names.listed.is_empty());
        let texts: Vec<String> = texts
            .map(|(names, text)| format!("{text}: {names}"))
            .collect();
        AdmissionDecision {
            denied: (!texts.is_empty()).then(|| texts.join("\n")),
            warnings,
        }
    }
}

/// How many names a text lists.
const MAX_NAMES: usize = 100;

/// Names in the order in which they came, each once. A set of 3 MiB has so many that none is searched for in a list.
#[derive(Default)]
struct Names<'a> {
    listed: Vec<&'a str>,
    names: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    fn add(&mut self, name: &'a str) {
        if self.names.insert(name) {
            self.listed.push(name);
        }
    }
}

impl fmt::Display for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, more) = self.listed.split_at(self.listed.len().min(MAX_NAMES));
        formatter.write_str(&shown.join(", "))?;
        if more.is_empty() {
            return Ok(());
        }
        write!(formatter, ", {}", messages::more_names(more.len()))
    }
}

/// Whether a cluster can have this name: it must be a DNS subdomain.
fn is_valid_cluster_name(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_label = |label: &str| {
        ends(label.bytes().next())
            && ends(label.bytes().next_back())
            && label
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use super::*;

    fn decision(policies: &Value, exclusions: &Value) -> AdmissionDecision {
        let value = json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "PolicySet",
            "metadata": { "name": "s", "namespace": "policies" },
            "spec": { "policies": policies, "exclusions": exclusions }
        });
        let set: PolicySet = serde_json::from_value(value).unwrap();
        let decision = set.admit(Operation::Create);
        assert_eq!(decision, set.admit(Operation::Update), "PROP-54");
        decision
    }

    fn excluded(policies: &Value, excluded: &[&str]) -> Option<String> {
        let exclusions = excluded
            .iter()
            .map(|policy| json!({ "policyName": policy, "clusterNames": ["managed1"] }));
        decision(policies, &exclusions.collect()).denied
    }

    const FOREIGN: &str = "policy in spec.exclusions is not listed in spec.policies: ";
    const DUPLICATE: &str = "policy in spec.exclusions has a duplicate entry: ";

    #[test]
    fn prop_54_exclusions_of_members_are_accepted() {
        let members = json!(["policy-a", "policy-b"]);
        assert_eq!(
            decision(&members, &json!(null)),
            AdmissionDecision::default()
        );
        assert_eq!(decision(&members, &json!([])), AdmissionDecision::default());
        assert_eq!(excluded(&members, &["policy-a"]), None);
        assert_eq!(excluded(&members, &["policy-a", "policy-b"]), None);
    }

    #[test]
    fn prop_54_exclusions_of_other_policies_are_denied() {
        let refused = |names: &[&str]| excluded(&json!(["policy-a"]), names).unwrap();
        assert_eq!(refused(&["policy-b"]), format!("{FOREIGN}policy-b"));
        let two = refused(&["policy-b", "policy-a", "policy-c"]);
        assert_eq!(two, format!("{FOREIGN}policy-b, policy-c"));
    }

    #[test]
    fn prop_54_policy_excluded_twice_is_named_once() {
        let text = excluded(&json!(["policy-a"]), &["policy-b", "policy-b"]).unwrap();
        assert!(text.ends_with(&format!("\n{FOREIGN}policy-b")), "{text}");
    }

    #[test]
    fn prop_54_duplicate_exclusions_are_denied() {
        let members = json!(["policy-a", "policy-b"]);
        let refused = |names: &[&str]| excluded(&members, names).unwrap();
        let one = refused(&["policy-a", "policy-a", "policy-a"]);
        assert_eq!(one, format!("{DUPLICATE}policy-a"));
        let two = refused(&["policy-a", "policy-b", "policy-a", "policy-b"]);
        assert_eq!(two, format!("{DUPLICATE}policy-a, policy-b"));
    }

    #[test]
    fn prop_54_both_errors_are_listed_duplicates_first() {
        let text = excluded(&json!(["policy-a"]), &["policy-c", "policy-a", "policy-a"]);
        let want = format!("{DUPLICATE}policy-a\n{FOREIGN}policy-c");
        assert_eq!(text, Some(want));
    }

    #[test]
    fn prop_54_exclusion_in_an_empty_set_is_denied() {
        let text = excluded(&json!([]), &["policy-a"]);
        assert_eq!(text, Some(format!("{FOREIGN}policy-a")));
    }

    #[test]
    fn tens_of_thousands_of_exclusions_are_reviewed_in_linear_time() {
        let name = |number: u32| format!("policy-{number}");
        let members: Vec<String> = (0..30_000).map(name).collect();
        let exclusions = (15_000..45_000)
            .map(|number| json!({ "policyName": name(number), "clusterNames": [] }))
            .collect();
        let started = Instant::now();
        let denied = decision(&json!(members), &exclusions).denied.unwrap();
        let end = "policy-30099, and 14900 more";
        assert!(denied.ends_with(end), "{denied}");
        // Lists that are searched take half a minute.
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn prop_55_invalid_cluster_name_gets_a_warning() {
        let clusters = ["managed1", "eu.managed-1", "Managed1", "managed1 ", "-"];
        let exclusion = json!([{ "policyName": "policy-a", "clusterNames": clusters }]);
        let decision = decision(&json!(["policy-a"]), &exclusion);
        assert_eq!(decision.denied, None);
        let warning = |cluster| {
            format!("spec.exclusions of policy-a: {cluster:?} cannot be the name of a cluster")
        };
        let want = ["Managed1", "managed1 ", "-"].map(warning);
        assert_eq!(decision.warnings, want);
    }
}
