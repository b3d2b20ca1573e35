//! Computes the status of a policy set.

use std::collections::BTreeSet;

use reeve_api::policy_set::{
    PolicyExclusion, PolicySetExclusionStatus, PolicySetPlacement, PolicySetStatus,
};
use reeve_api::{Compliance, PolicySet};

use crate::index::SetMember;
use crate::messages;

/// The desired status of a set, and the policies that it lists and that do not exist.
pub fn desired_status(
    set: &PolicySet,
    members: &[(String, SetMember)],
) -> (PolicySetStatus, Vec<String>) {
    if set.spec.policies.is_empty() {
        return (PolicySetStatus::default(), Vec::new());
    }
    let mut members_by_state = MembersByState::default();
    let mut placements = BTreeSet::new();
    for (policy, member) in members {
        let entries = match member {
            SetMember::Missing => {
                members_by_state.deleted.push(policy.clone());
                continue;
            }
            SetMember::Disabled(entries) => {
                members_by_state.disabled.push(policy.clone());
                entries
            }
            SetMember::Compliance(compliance, entries) => {
                members_by_state.add(policy, *compliance);
                entries
            }
        };
        placements.extend(entries.iter().map(|entry| {
            (
                entry.placement_binding.clone(),
                entry.placement.clone(),
                entry.placement_rule.clone(),
            )
        }));
    }
    let placements = placements.into_iter();
    let placements: Vec<_> = placements
        .map(
            |(placement_binding, placement, placement_rule)| PolicySetPlacement {
                placement,
                placement_binding,
                placement_rule,
            },
        )
        .collect();
    let exclusions = exclusions(set.spec.exclusions.iter().flatten());
    let status = PolicySetStatus {
        compliant: members_by_state
            .compliance()
            .map(|compliance| compliance.to_string()),
        placement: Some(placements).filter(|list| !list.is_empty()),
        status_message: Some(members_by_state.message(exclusions.is_some())),
        exclusions,
    };
    (status, members_by_state.deleted)
}

/// The exclusions as a status lists them: nothing merged, nothing checked.
pub fn exclusions<'a>(
    spec: impl Iterator<Item = &'a PolicyExclusion>,
) -> Option<Vec<PolicySetExclusionStatus>> {
    let mut listed: Vec<_> = spec
        .filter(|exclusion| !exclusion.cluster_names.is_empty())
        .map(|exclusion| {
            let mut clusters = exclusion.cluster_names.clone();
            clusters.sort();
            PolicySetExclusionStatus {
                clusters,
                policy_name: exclusion.policy_name.clone(),
            }
        })
        .collect();
    listed.sort_by(|a, b| a.policy_name.cmp(&b.policy_name));
    Some(listed).filter(|listed| !listed.is_empty())
}

/// The members of a set by state.
#[derive(Default)]
struct MembersByState {
    worst_reported: Option<Compliance>,
    pending: Vec<String>,
    disabled: Vec<String>,
    unknown: Vec<String>,
    deleted: Vec<String>,
}

impl MembersByState {
    fn add(&mut self, policy: &str, compliance: Option<Compliance>) {
        match compliance {
            None => self.unknown.push(policy.to_owned()),
            Some(Compliance::Pending) => self.pending.push(policy.to_owned()),
            Some(compliance) => {
                if self.worst_reported != Some(Compliance::NonCompliant) {
                    self.worst_reported = Some(compliance);
                }
            }
        }
    }

    /// The worst compliance, if that of every enabled policy is known.
    fn compliance(&self) -> Option<Compliance> {
        if !self.unknown.is_empty() {
            return None;
        }
        match self.worst_reported {
            Some(Compliance::NonCompliant) => Some(Compliance::NonCompliant),
            _ if !self.pending.is_empty() => Some(Compliance::Pending),
            worst_reported => worst_reported,
        }
    }

    fn message(&self, excludes: bool) -> String {
        let parts: Vec<_> = [
            (messages::SET_PENDING, &self.pending),
            (messages::SET_DISABLED, &self.disabled),
            (messages::SET_UNKNOWN, &self.unknown),
            (messages::SET_DELETED, &self.deleted),
        ]
        .into_iter()
        .filter(|(_, policies)| !policies.is_empty())
        .map(|(what, policies)| format!("{what}: {}", policies.join(", ")))
        .collect();
        let mut message = if parts.is_empty() {
            messages::SET_REPORTING.to_owned()
        } else {
            parts.join("; ")
        };
        if excludes {
            message.push_str(messages::SET_EXCLUSIONS);
        }
        message
    }
}

/// Whether two statuses are equal; empty lists and absent ones are.
pub fn same_status(current: &PolicySetStatus, desired: &PolicySetStatus) -> bool {
    current.compliant == desired.compliant
        && current.status_message.as_deref().unwrap_or_default()
            == desired.status_message.as_deref().unwrap_or_default()
        && current.placement.clone().unwrap_or_default()
            == desired.placement.clone().unwrap_or_default()
        && current.exclusions.clone().unwrap_or_default()
            == desired.exclusions.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use reeve_api::policy::PolicyPlacement;
    use serde_json::json;

    use super::*;

    fn set(policies: &[&str]) -> PolicySet {
        let mut set = PolicySet::default();
        set.spec.policies = policies.iter().map(|&name| name.to_owned()).collect();
        set
    }

    fn through(binding: &str) -> Vec<PolicyPlacement> {
        vec![PolicyPlacement {
            placement_binding: Some(binding.to_owned()),
            placement: Some(format!("{binding}-placement")),
            policy_set: Some("s".to_owned()),
            ..PolicyPlacement::default()
        }]
    }

    fn compliance(compliance: Compliance) -> SetMember {
        SetMember::Compliance(Some(compliance), through("b"))
    }

    fn of(members: Vec<(&str, SetMember)>) -> PolicySetStatus {
        let names: Vec<_> = members.iter().map(|(name, _)| *name).collect();
        let members = members.into_iter();
        let members: Vec<_> = members
            .map(|(name, member)| (name.to_owned(), member))
            .collect();
        desired_status(&set(&names), &members).0
    }

    #[test]
    fn prop_152_empty_set_has_an_empty_status() {
        assert_eq!(of(vec![]), PolicySetStatus::default());
    }

    #[test]
    fn prop_158_policies_without_compliance_are_listed_by_state() {
        let status = of(vec![
            ("a", SetMember::Missing),
            ("silent", SetMember::Compliance(None, vec![])),
            ("off", SetMember::Disabled(vec![])),
            ("b", SetMember::Missing),
        ]);
        assert_eq!(status.compliant, None);
        assert_eq!(
            status.status_message.as_deref(),
            Some(
                "Disabled policies: off; No status provided while awaiting policy status: silent; Deleted policies: a, b"
            )
        );
    }

    #[test]
    fn set_has_the_worst_compliance_of_its_policies() {
        use Compliance::{Compliant, NonCompliant, Pending};
        let sum = |members: Vec<Compliance>| {
            let members = members.into_iter().map(|it| ("p", compliance(it)));
            of(members.collect()).compliant
        };
        assert_eq!(
            sum(vec![Compliant, Compliant]).as_deref(),
            Some("Compliant")
        );
        assert_eq!(sum(vec![Compliant, Pending]).as_deref(), Some("Pending"));
        assert_eq!(
            sum(vec![NonCompliant, Pending, Compliant]).as_deref(),
            Some("NonCompliant")
        );
        let pending = of(vec![
            ("p", compliance(Pending)),
            ("q", compliance(Compliant)),
        ]);
        assert_eq!(
            pending.status_message.as_deref(),
            Some("Policies awaiting pending dependencies: p")
        );
        let worst_reported = of(vec![
            ("p", compliance(Compliant)),
            ("off", SetMember::Disabled(vec![])),
        ]);
        assert_eq!(worst_reported.compliant.as_deref(), Some("Compliant"));
        let off = of(vec![("off", SetMember::Disabled(vec![]))]);
        assert_eq!(off.compliant, None);
    }

    #[test]
    fn prop_155_placements_are_listed_once_in_the_order_of_their_bindings() {
        let entry = |binding| SetMember::Compliance(Some(Compliance::Compliant), through(binding));
        let one = of(vec![
            ("p", entry("z")),
            ("q", entry("a")),
            ("r", entry("z")),
        ]);
        assert_eq!(
            serde_json::to_value(&one.placement).unwrap(),
            json!([
                { "placementBinding": "a", "placement": "a-placement" },
                { "placementBinding": "z", "placement": "z-placement" }
            ])
        );
        assert_eq!(
            one.status_message.as_deref(),
            Some("All policies are reporting status")
        );
    }

    #[test]
    fn prop_157_exclusions_are_sorted_and_empty_ones_dropped() {
        let exclusion = |policy: &str, clusters: &[&str]| PolicyExclusion {
            policy_name: policy.to_owned(),
            cluster_names: clusters.iter().map(|&name| name.to_owned()).collect(),
            reason: None,
        };
        let spec = [
            exclusion("z", &["c2", "c1"]),
            exclusion("a", &["c3"]),
            exclusion("empty", &[]),
        ];
        assert_eq!(
            serde_json::to_value(exclusions(spec.iter())).unwrap(),
            json!([
                { "policyName": "a", "clusters": ["c3"] },
                { "policyName": "z", "clusters": ["c1", "c2"] }
            ])
        );
        assert_eq!(exclusions([].iter()), None);
        let mut excluding = set(&["p"]);
        excluding.spec.exclusions = Some(vec![exclusion("p", &["c"])]);
        let members = [("p".to_owned(), compliance(Compliance::Compliant))];
        let (status, _) = desired_status(&excluding, &members);
        assert_eq!(
            status.status_message.as_deref(),
            Some(
                "All policies are reporting status; One or more policies were excluded. For details, see status.exclusions."
            )
        );
    }
}
