//! The history of one template: stored and new reports, sorted.
//!
//! Merging is a pure function of the stored history and the current events, so a process that is killed between reading events and
//! writing the status loses and duplicates nothing.

use jiff::{SignedDuration, Timestamp};
use reeve_api::Compliance;
use reeve_api::policy::{ComplianceHistory, DetailsPerTemplate};
use reeve_runtime::events::event_name;
use serde_json::Value;

use crate::compliance_events::{Report, newest_first};

/// The limit of entries.
pub const MAX_HISTORY: usize = 10;
/// Two equal messages closer than this are one report that came by two ways: by an event, whose
/// name has nanoseconds (`event_name` in the runtime's `events.rs`), and by the object's status,
/// whose times are cut to microseconds (`micros` in config-policy-controller's `status/update.rs`). The
/// rule is part of that wire format: an evaluator gives one report one time both ways, and does not
/// repeat a message within it.
const SAME_REPORT: SignedDuration = SignedDuration::from_micros(5);

/// The merged entry of a template in the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedHistory {
    /// The compliance of the newest report; the stored one if there is no report.
    pub compliant: Option<String>,
    /// Newest first, at most [`MAX_HISTORY`].
    pub history: Vec<ComplianceHistory>,
}

/// Merges reports into a stored entry.
pub fn merge(reports: Vec<Report>, stored: Option<&DetailsPerTemplate>) -> MergedHistory {
    let stored_history = stored.and_then(|stored| stored.history.as_deref());
    let dated = newest_first(reports, stored_history.unwrap_or_default());
    let mut history: Vec<ComplianceHistory> = Vec::new();
    let mut previous: Option<(Timestamp, &str)> = None;
    for (at, report) in &dated {
        if history.len() == MAX_HISTORY {
            break;
        }
        let is_duplicate = previous.is_some_and(|(before_at, message)| {
            message == report.message && before_at.duration_since(*at) < SAME_REPORT
        });
        previous = Some((*at, &report.message));
        if !is_duplicate {
            history.push(to_stored(*at, report));
        }
    }
    let newest = history.first().and_then(|entry| entry.message.as_deref());
    let reported = newest.map(|message| Compliance::of_message(message).as_str().to_owned());
    MergedHistory {
        compliant: reported.or_else(|| stored.and_then(|stored| stored.compliant.clone())),
        history,
    }
}

fn to_stored(at: Timestamp, report: &Report) -> ComplianceHistory {
    ComplianceHistory {
        event_name: Some(report.event_name.clone()),
        last_timestamp: Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        message: Some(report.message.clone()),
    }
}

/// The reports in the `status.history` of a template object: entries `{lastTimestamp, message}`
/// with a time of exactly six digits after the point. Entries of another form are not reports and
/// are skipped. Six digits are a wire format: the other end is `micros` in
/// config-policy-controller's `status/update.rs`, which must write no other. The event's name is made as
/// evaluators make it (`event_name` in the runtime's `events.rs`), so that a report at a whole
/// microsecond has one name both ways.
pub fn of_object(policy: &str, object: &Value) -> Vec<Report> {
    let entries = object.pointer("/status/history").and_then(Value::as_array);
    let read = |entry: &Value| {
        let at = microseconds(entry.get("lastTimestamp")?.as_str()?)?;
        let message = entry.get("message")?.as_str()?.trim();
        (!message.is_empty()).then(|| Report {
            event_name: event_name(policy, at),
            at,
            message: message.to_owned(),
        })
    };
    entries.into_iter().flatten().filter_map(read).collect()
}

fn microseconds(text: &str) -> Option<Timestamp> {
    let (_, fraction) = text.split_once('.')?;
    let digits = fraction.chars().take_while(char::is_ascii_digit).count();
    let at: Timestamp = text.parse().ok()?;
    // Event names hold 64 bits of nanoseconds; Go's zero time is long before them.
    let fits = i64::try_from(at.as_nanosecond()).is_ok();
    (digits == 6 && fits).then_some(at)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
