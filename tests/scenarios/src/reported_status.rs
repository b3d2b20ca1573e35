//! What a replicated `Policy` publishes of its templates: its status, read.

use std::fmt::{Display, Formatter, Result as FmtResult};

use serde_json::Value;

/// The status of a replicated `Policy`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedStatus(pub Value);

/// An entry of a template's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The event that carried it.
    pub event: String,
    /// When, to the second.
    pub at: String,
    /// The message of the event.
    pub message: String,
}

impl Display for ReportedStatus {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> FmtResult {
        write!(formatter, "{:#}", self.0)
    }
}

impl ReportedStatus {
    /// The overall compliance; empty while unknown.
    pub fn compliance(&self) -> &str {
        self.0["compliant"].as_str().unwrap_or_default()
    }

    /// The templates' names, in order.
    pub fn templates(&self) -> Vec<&str> {
        self.details().iter().map(name).collect()
    }

    /// The compliance of a template; empty while unknown.
    pub fn compliance_of(&self, template: &str) -> &str {
        let compliance = self.of(template).and_then(|entry| entry.get("compliant"));
        compliance.and_then(Value::as_str).unwrap_or_default()
    }

    /// A template's history, newest first.
    pub fn history(&self, template: &str) -> Vec<Entry> {
        let history = self.of(template).and_then(|entry| entry.get("history"));
        let entries = history.and_then(Value::as_array).into_iter().flatten();
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let read = |entry| Entry {
            event: text(entry, "eventName"),
            at: text(entry, "lastTimestamp"),
            message: text(entry, "message"),
        };
        entries.map(read).collect()
    }

    /// The messages of a template's history, newest first.
    pub fn messages(&self, template: &str) -> Vec<String> {
        let history = self.history(template).into_iter();
        history.map(|entry| entry.message).collect()
    }

    /// The newest message about a template; empty when there is none.
    pub fn newest(&self, template: &str) -> String {
        self.messages(template)
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    fn of(&self, template: &str) -> Option<&Value> {
        self.details().iter().find(|entry| name(entry) == template)
    }

    fn details(&self) -> &[Value] {
        self.0["details"].as_array().map_or(&[], Vec::as_slice)
    }
}

fn name(entry: &Value) -> &str {
    entry["templateMeta"]["name"].as_str().unwrap_or_default()
}
