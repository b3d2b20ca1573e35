//! When a policy is due: on change, after a while, or never again. Pure.

use std::time::Duration;

use jiff::Timestamp;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};

use crate::messages;
use crate::status::interval::Interval;

/// Whether a policy that was enqueued is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The evaluation is due.
    Now,
    /// Not before this time has passed.
    In(Duration),
    /// No evaluation is due until something changes.
    Never,
}

/// Decides whether a policy is due, given its latest status.
pub fn due(
    policy: &ConfigurationPolicy,
    status: &ConfigurationPolicyStatus,
    now: Timestamp,
) -> Due {
    let last = status.last_evaluated.as_deref().unwrap_or_default();
    let state = status.compliance();
    let fresh = last.is_empty()
        || policy.metadata.deletion_timestamp.is_some()
        || status.last_evaluated_generation != policy.metadata.generation
        || matches!(state, None | Some(Compliance::Terminating))
        || recreation_is_unfinished(status);
    if fresh {
        return Due::Now;
    }
    let interval = match Interval::of(policy.spec.evaluation_interval.as_ref(), state) {
        Interval::Watch | Interval::ReadError => return Due::Now,
        Interval::Never => return Due::Never,
        Interval::Every(interval) => interval,
    };
    let Ok(last) = last.parse::<Timestamp>() else {
        return Due::Now;
    };
    let passed = Duration::try_from(now.duration_since(last)).unwrap_or_default();
    match interval.checked_sub(passed) {
        Some(rest) if !rest.is_zero() => Due::In(rest),
        _ => Due::Now,
    }
}

fn recreation_is_unfinished(status: &ConfigurationPolicyStatus) -> bool {
    let conditions = status
        .compliancy_details
        .iter()
        .flatten()
        .flat_map(|detail| detail.conditions.iter().flatten());
    status.compliance() == Some(Compliance::NonCompliant)
        && conditions.into_iter().any(|condition| {
            condition.reason.as_deref() == Some(messages::UPDATE_ERROR)
                && condition
                    .message
                    .as_deref()
                    .is_some_and(|message| message.contains(messages::RECREATE_TIMED_OUT))
        })
}

#[cfg(test)]
mod tests {
    use reeve_api::configuration_policy::EvaluationInterval;
    use rstest::rstest;

    use super::*;

    fn policy(noncompliant: Option<&str>, compliant: Option<&str>) -> ConfigurationPolicy {
        let mut policy = ConfigurationPolicy::default();
        policy.metadata.generation = Some(2);
        policy.spec.evaluation_interval = Some(EvaluationInterval {
            compliant: compliant.map(str::to_owned),
            noncompliant: noncompliant.map(str::to_owned),
        });
        policy
    }

    fn status(state: &str, generation: i64, last: &str) -> ConfigurationPolicyStatus {
        ConfigurationPolicyStatus {
            compliant: Some(state.to_owned()),
            last_evaluated: Some(last.to_owned()),
            last_evaluated_generation: Some(generation),
            ..ConfigurationPolicyStatus::default()
        }
    }

    const NOON: &str = "2026-01-01T12:00:00Z";

    #[rstest]
    #[case::never_evaluated(
        policy(Some("never"), Some("never")),
        status("Compliant", 2, ""),
        Due::Now
    )]
    #[case::new_generation(
        policy(Some("never"), Some("never")),
        status("Compliant", 1, NOON),
        Due::Now
    )]
    #[case::unknown_state(policy(Some("never"), Some("never")), status("", 2, NOON), Due::Now)]
    #[case::terminating(
        policy(Some("never"), Some("never")),
        status("Terminating", 2, NOON),
        Due::Now
    )]
    #[case::never(policy(None, Some("never")), status("Compliant", 2, NOON), Due::Never)]
    #[case::never_in_the_other_state(
        policy(None, Some("never")),
        status("NonCompliant", 2, NOON),
        Due::Now
    )]
    #[case::watch(policy(Some("watch"), None), status("NonCompliant", 2, NOON), Due::Now)]
    #[case::not_yet(
        policy(Some("10s"), None),
        status("NonCompliant", 2, "2026-01-01T11:59:57Z"),
        Due::In(Duration::from_secs(7))
    )]
    #[case::passed(
        policy(Some("10s"), None),
        status("NonCompliant", 2, "2026-01-01T11:59:50Z"),
        Due::Now
    )]
    #[case::unreadable_interval(
        policy(Some("neverwatch"), None),
        status("NonCompliant", 2, NOON),
        Due::Now
    )]
    #[case::unreadable_time(policy(Some("10h"), None), status("NonCompliant", 2, "noon"), Due::Now)]
    fn policies_are_due(
        #[case] policy: ConfigurationPolicy,
        #[case] status: ConfigurationPolicyStatus,
        #[case] expected: Due,
    ) {
        assert_eq!(due(&policy, &status, NOON.parse().unwrap()), expected);
    }

    #[test]
    fn deleted_policy_is_always_due() {
        let mut policy = policy(None, Some("never"));
        let deleted = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(NOON.parse().unwrap());
        policy.metadata.deletion_timestamp = Some(deleted);
        let status = status("Compliant", 2, NOON);
        assert_eq!(due(&policy, &status, NOON.parse().unwrap()), Due::Now);
    }
}
