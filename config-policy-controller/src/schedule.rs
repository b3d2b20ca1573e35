//! When a policy is due: on change, after a while, or never again. Pure.

use std::time::Duration;

use jiff::Timestamp;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, EvaluationInterval,
};

use crate::messages;

/// How soon a policy with an interval that nobody understands is evaluated again.
const UNREADABLE_INTERVAL: Duration = Duration::from_secs(10);
/// The longest duration that Go can express. The clock could not count to one that is much longer.
const LONGEST_DURATION: Duration = Duration::from_nanos(i64::MAX.unsigned_abs());

/// How a policy in some state is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Whenever something it looked at changes.
    Watch,
    /// Not again until the policy changes.
    Never,
    /// After this time.
    Every(Duration),
    /// The text is neither; evaluated every ten seconds.
    Unreadable,
}

impl Interval {
    /// The interval for a state. Everything that is not compliant counts as noncompliant.
    #[must_use]
    pub fn of(intervals: Option<&EvaluationInterval>, state: Option<Compliance>) -> Self {
        let text = intervals.and_then(|intervals| match state {
            Some(Compliance::Compliant) => intervals.compliant.as_deref(),
            _ => intervals.noncompliant.as_deref(),
        });
        match text {
            None | Some("" | "watch") => Self::Watch,
            Some("never") => Self::Never,
            Some(text) => duration(text).map_or(Self::Unreadable, Self::Every),
        }
    }

    /// The sentence that messages get when they are the last word.
    #[must_use]
    pub fn note(self, state: Compliance) -> Option<&'static str> {
        match (self, state) {
            (Self::Never, Compliance::Compliant) => Some(messages::NEVER_AGAIN_COMPLIANT),
            (Self::Never, _) => Some(messages::NEVER_AGAIN_NONCOMPLIANT),
            _ => None,
        }
    }

    /// When the next evaluation is due after one that went well; `None` if nothing is scheduled.
    #[must_use]
    pub fn next(self) -> Option<Duration> {
        match self {
            Self::Watch | Self::Never => None,
            Self::Every(duration) => Some(duration),
            Self::Unreadable => Some(UNREADABLE_INTERVAL),
        }
    }
}

/// Whether to evaluate a policy that was asked for.
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
#[must_use]
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
        Interval::Watch | Interval::Unreadable => return Due::Now,
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

/// A duration as Go writes it: `1h30m`, `0.5s`, `100ms`. As in Go, none is longer than 292 years.
fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    if rest == "0" {
        return Some(total);
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, remaining) = after.split_at(unit_end);
        let seconds = number.parse::<f64>().ok()? * unit_seconds(unit)?;
        total = total.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = remaining;
    }
    (!text.is_empty() && total <= LONGEST_DURATION).then_some(total)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" | "µs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10s", Some(Duration::from_secs(10)))]
    #[case("1h30m", Some(Duration::from_mins(90)))]
    #[case("0.5s", Some(Duration::from_millis(500)))]
    #[case("100ms", Some(Duration::from_millis(100)))]
    #[case("0s", Some(Duration::ZERO))]
    #[case("neverwatch", None)]
    #[case("10", None)]
    #[case("s", None)]
    #[case("", None)]
    #[case("2562047h", Some(Duration::from_hours(2_562_047)))]
    #[case("2562048h", None)]
    #[case("2600000000000000h", None)]
    #[case("99999999999999999999999999h", None)]
    fn durations(#[case] text: &str, #[case] expected: Option<Duration>) {
        assert_eq!(duration(text), expected);
    }

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
    fn a_deleted_policy_is_always_due() {
        let mut policy = policy(None, Some("never"));
        let deleted = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(NOON.parse().unwrap());
        policy.metadata.deletion_timestamp = Some(deleted);
        let status = status("Compliant", 2, NOON);
        assert_eq!(due(&policy, &status, NOON.parse().unwrap()), Due::Now);
    }
}
