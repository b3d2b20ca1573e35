//! `spec.evaluationInterval`: when a policy in some state is evaluated again. Pure.

use std::time::Duration;

use reeve_api::Compliance;
use reeve_api::configuration_policy::EvaluationInterval;

use crate::messages;

/// How soon a policy with an interval that nobody understands is evaluated again.
const UNREADABLE_INTERVAL: Duration = Duration::from_secs(10);
/// The longest duration that Go can express. The clock could not count to one that is much longer.
const LONGEST_DURATION: Duration = Duration::from_nanos(i64::MAX.unsigned_abs());

/// How a policy in some state is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Whenever an object that it read changes.
    Watch,
    /// Not again until the policy changes.
    Never,
    /// After this time.
    Every(Duration),
    /// The text is neither; evaluated every ten seconds.
    ReadError,
}

impl Interval {
    /// The interval for a state. Everything that is not compliant counts as noncompliant.
    pub fn of(intervals: Option<&EvaluationInterval>, state: Option<Compliance>) -> Self {
        let text = intervals.and_then(|intervals| match state {
            Some(Compliance::Compliant) => intervals.compliant.as_deref(),
            _ => intervals.noncompliant.as_deref(),
        });
        match text {
            None | Some("" | "watch") => Self::Watch,
            Some("never") => Self::Never,
            Some(text) => duration(text).map_or(Self::ReadError, Self::Every),
        }
    }

    /// The note in messages that the policy is not evaluated again.
    pub fn note(self, state: Compliance) -> Option<&'static str> {
        match (self, state) {
            (Self::Never, Compliance::Compliant) => Some(messages::NEVER_AGAIN_COMPLIANT),
            (Self::Never, _) => Some(messages::NEVER_AGAIN_NONCOMPLIANT),
            _ => None,
        }
    }

    /// When the next evaluation is due after one that went well; `None` if nothing is scheduled.
    pub fn next(self) -> Option<Duration> {
        match self {
            Self::Watch | Self::Never => None,
            Self::Every(duration) => Some(duration),
            Self::ReadError => Some(UNREADABLE_INTERVAL),
        }
    }
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
}
