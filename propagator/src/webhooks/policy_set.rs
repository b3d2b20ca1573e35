//! What a policy set must be.

use reeve_api::PolicySet;

use super::{AdmissionDecision, Admit, Operation};
use crate::messages;

impl Admit for PolicySet {
    fn admit(&self, _: Operation) -> AdmissionDecision {
        let exclusions = self.spec.exclusions.as_deref().unwrap_or_default();
        let (mut seen, mut repeated, mut foreign) = (Vec::new(), Vec::new(), Vec::new());
        let mut warnings = Vec::new();
        for exclusion in exclusions {
            let policy = exclusion.policy_name.as_str();
            if seen.contains(&policy) {
                add_once(&mut repeated, policy);
            }
            add_once(&mut seen, policy);
            if !self.spec.policies.iter().any(|member| member == policy) {
                add_once(&mut foreign, policy);
            }
            let strange = exclusion.cluster_names.iter().filter(|c| !is_name(c));
            warnings.extend(strange.map(|cluster| messages::strange_cluster(policy, cluster)));
        }
        let texts = [
            (repeated, messages::DUPLICATE_EXCLUSION),
            (foreign, messages::FOREIGN_EXCLUSION),
        ];
        let texts = texts.iter().filter(|(names, _)| !names.is_empty());
        let texts: Vec<String> = texts
            .map(|(names, text)| format!("{text}: {}", names.join(", ")))
            .collect();
        AdmissionDecision {
            denied: (!texts.is_empty()).then(|| texts.join("\n")),
            warnings,
        }
    }
}

fn add_once<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Whether a cluster can have this name: a DNS subdomain, as every object's.
fn is_name(text: &str) -> bool {
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
    use serde_json::{Value, json};

    use super::*;

    fn verdict(policies: &Value, exclusions: &Value) -> AdmissionDecision {
        let value = json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "PolicySet",
            "metadata": { "name": "s", "namespace": "policies" },
            "spec": { "policies": policies, "exclusions": exclusions }
        });
        let set: PolicySet = serde_json::from_value(value).unwrap();
        let verdict = set.admit(Operation::Create);
        assert_eq!(verdict, set.admit(Operation::Update), "case u13");
        verdict
    }

    fn excluded(policies: &Value, excluded: &[&str]) -> Option<String> {
        let exclusions = excluded
            .iter()
            .map(|policy| json!({ "policyName": policy, "clusterNames": ["managed1"] }));
        verdict(policies, &exclusions.collect()).denied
    }

    const FOREIGN: &str = "policy in spec.exclusions is not listed in spec.policies: ";
    const DUPLICATE: &str = "policy in spec.exclusions has a duplicate entry: ";

    #[test]
    fn case_u7_exclusions_of_members_are_accepted() {
        let members = json!(["policy-a", "policy-b"]);
        assert_eq!(
            verdict(&members, &json!(null)),
            AdmissionDecision::default()
        );
        assert_eq!(verdict(&members, &json!([])), AdmissionDecision::default());
        assert_eq!(excluded(&members, &["policy-a"]), None);
        assert_eq!(excluded(&members, &["policy-a", "policy-b"]), None);
    }

    #[test]
    fn case_u8_exclusions_of_others_are_named() {
        let refused = |names: &[&str]| excluded(&json!(["policy-a"]), names).unwrap();
        assert_eq!(refused(&["policy-b"]), format!("{FOREIGN}policy-b"));
        let two = refused(&["policy-b", "policy-a", "policy-c"]);
        assert_eq!(two, format!("{FOREIGN}policy-b, policy-c"));
    }

    #[test]
    fn case_u9_who_is_no_member_twice_is_named_once() {
        let text = excluded(&json!(["policy-a"]), &["policy-b", "policy-b"]).unwrap();
        assert!(text.ends_with(&format!("\n{FOREIGN}policy-b")), "{text}");
    }

    #[test]
    fn case_u10_duplicates_are_named() {
        let members = json!(["policy-a", "policy-b"]);
        let refused = |names: &[&str]| excluded(&members, names).unwrap();
        let one = refused(&["policy-a", "policy-a", "policy-a"]);
        assert_eq!(one, format!("{DUPLICATE}policy-a"));
        let two = refused(&["policy-a", "policy-b", "policy-a", "policy-b"]);
        assert_eq!(two, format!("{DUPLICATE}policy-a, policy-b"));
    }

    #[test]
    fn case_u11_both_mistakes_are_told_duplicates_first() {
        let text = excluded(&json!(["policy-a"]), &["policy-c", "policy-a", "policy-a"]);
        let want = format!("{DUPLICATE}policy-a\n{FOREIGN}policy-c");
        assert_eq!(text, Some(want));
    }

    #[test]
    fn case_u12_an_empty_set_has_no_members() {
        let text = excluded(&json!([]), &["policy-a"]);
        assert_eq!(text, Some(format!("{FOREIGN}policy-a")));
    }

    #[test]
    fn rough_edge_58_a_cluster_that_cannot_exist_is_warned_of_and_let_through() {
        let clusters = ["managed1", "eu.managed-1", "Managed1", "managed1 ", "-"];
        let exclusion = json!([{ "policyName": "policy-a", "clusterNames": clusters }]);
        let verdict = verdict(&json!(["policy-a"]), &exclusion);
        assert_eq!(verdict.denied, None);
        let warning = |cluster| {
            format!("spec.exclusions of policy-a: {cluster:?} cannot be the name of a cluster")
        };
        let want = ["Managed1", "managed1 ", "-"].map(warning);
        assert_eq!(verdict.warnings, want);
    }
}
