//! What the status of a policy set must say.

use std::collections::BTreeSet;

use reeve_api::policy_set::{
    PolicyExclusion, PolicySetExclusionStatus, PolicySetPlacement, PolicySetStatus,
};
use reeve_api::{Compliance, PolicySet};

use crate::index::Member;
use crate::messages;

/// The status that a set should have, and the policies that it lists and that do not exist.
pub fn status(set: &PolicySet, members: &[(String, Member)]) -> (PolicySetStatus, Vec<String>) {
    if set.spec.policies.is_empty() {
        return (PolicySetStatus::default(), Vec::new());
    }
    let mut seen = Seen::default();
    let mut placements = BTreeSet::new();
    for (policy, member) in members {
        let entries = match member {
            Member::Missing => {
                seen.deleted.push(policy.clone());
                continue;
            }
            Member::Disabled(entries) => {
                seen.disabled.push(policy.clone());
                entries
            }
            Member::Says(says, entries) => {
                seen.says(policy, *says);
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
        compliant: seen.compliance().map(|says| says.to_string()),
        placement: Some(placements).filter(|list| !list.is_empty()),
        status_message: Some(seen.message(exclusions.is_some())),
        exclusions,
    };
    (status, seen.deleted)
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

/// The members of a set, by what is known of them.
#[derive(Default)]
struct Seen {
    counted: Option<Compliance>,
    pending: Vec<String>,
    disabled: Vec<String>,
    unknown: Vec<String>,
    deleted: Vec<String>,
}

impl Seen {
    fn says(&mut self, policy: &str, says: Option<Compliance>) {
        match says {
            None => self.unknown.push(policy.to_owned()),
            Some(Compliance::Pending) => self.pending.push(policy.to_owned()),
            Some(says) => {
                if self.counted != Some(Compliance::NonCompliant) {
                    self.counted = Some(says);
                }
            }
        }
    }

    /// The worst answer, if every policy that could answer did.
    fn compliance(&self) -> Option<Compliance> {
        if !self.unknown.is_empty() {
            return None;
        }
        match self.counted {
            Some(Compliance::NonCompliant) => Some(Compliance::NonCompliant),
            _ if !self.pending.is_empty() => Some(Compliance::Pending),
            counted => counted,
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

/// Whether two statuses say the same: empty lists and absent ones do.
pub fn same(current: &PolicySetStatus, desired: &PolicySetStatus) -> bool {
    current.compliant == desired.compliant
        && current.status_message.as_deref().unwrap_or_default()
            == desired.status_message.as_deref().unwrap_or_default()
        && current.placement.clone().unwrap_or_default()
            == desired.placement.clone().unwrap_or_default()
        && current.exclusions.clone().unwrap_or_default()
            == desired.exclusions.clone().unwrap_or_default()
}
