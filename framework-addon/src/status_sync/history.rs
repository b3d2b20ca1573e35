//! One template's history: what was reported before and what is reported now, put in order.
//!
//! Merging is a pure function of the stored history and the events at hand, so a process that is
//! killed between reading events and writing the status loses nothing and doubles nothing.

use std::cmp::Reverse;
use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use reeve_api::Compliance;
use reeve_api::policy::{ComplianceHistory, DetailsPerTemplate};
use reeve_runtime::events::{event_name, time_in_event_name};
use serde_json::Value;

/// The most entries that are kept.
pub const LONGEST: usize = 10;
/// Two equal messages closer than this are one report that came by two ways.
const SAME_REPORT: SignedDuration = SignedDuration::from_micros(5);
/// An event's own time that is later than its name by this much says that it was reported again.
const REPEATED: SignedDuration = SignedDuration::from_secs(1);

/// One report about a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name of the event that carries it.
    pub event_name: String,
    /// When the event was last seen, as far as its own fields tell.
    pub at: Timestamp,
    /// `<compliance>; <text>`.
    pub message: String,
}

impl Report {
    /// The time to sort by: that in the name, which has nanoseconds, unless the event was
    /// reported again later under the same name.
    fn moment(&self) -> Timestamp {
        match time_in_event_name(&self.event_name) {
            Some(named) if self.at.duration_since(named) < REPEATED => named,
            _ => self.at,
        }
    }
}

/// What a template's entry in the status becomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The compliance that the newest report announces; the stored one if there is no report.
    pub compliant: Option<String>,
    /// Newest first, at most [`LONGEST`].
    pub history: Vec<ComplianceHistory>,
}

/// Merges reports into a stored entry.
pub fn merge(mut reports: Vec<Report>, stored: Option<&DetailsPerTemplate>) -> Merged {
    let at_hand: HashSet<String> = reports.iter().map(|r| r.event_name.clone()).collect();
    let stored_history = stored.and_then(|stored| stored.history.as_deref());
    let remembered = stored_history.unwrap_or_default().iter().map(from_stored);
    reports.extend(remembered.filter(|old| !at_hand.contains(&old.event_name)));

    let mut dated: Vec<(Timestamp, Report)> = reports
        .into_iter()
        .map(|report| (report.moment(), report))
        .collect();
    // The name decides between equal times, so that the order does not depend on who was read first.
    dated.sort_by(|(one_at, one), (two_at, two)| {
        Reverse((one_at, &one.event_name)).cmp(&Reverse((two_at, &two.event_name)))
    });

    let mut history: Vec<ComplianceHistory> = Vec::new();
    let mut before: Option<(Timestamp, &str)> = None;
    for (at, report) in &dated {
        if history.len() == LONGEST {
            break;
        }
        let doubled = before.is_some_and(|(before_at, message)| {
            message == report.message && before_at.duration_since(*at) < SAME_REPORT
        });
        before = Some((*at, &report.message));
        if !doubled {
            history.push(to_stored(*at, report));
        }
    }
    let newest = history.first().and_then(|entry| entry.message.as_deref());
    let announced = newest.map(|message| Compliance::of_message(message).as_str().to_owned());
    Merged {
        compliant: announced.or_else(|| stored.and_then(|stored| stored.compliant.clone())),
        history,
    }
}

fn from_stored(entry: &ComplianceHistory) -> Report {
    let at = entry
        .last_timestamp
        .as_deref()
        .and_then(|text| text.parse().ok());
    Report {
        event_name: entry.event_name.clone().unwrap_or_default(),
        at: at.unwrap_or(Timestamp::UNIX_EPOCH),
        message: entry.message.clone().unwrap_or_default(),
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
/// with a time of exactly microseconds. Entries of another form are not reports and are skipped.
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
