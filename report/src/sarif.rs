//! SARIF 2.1.0, as code scanning reads it.

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::model::{Entry, Level, Report, Source, State};

/// Where the schema of the format is published.
pub const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(crate) fn print(report: &Report) -> String {
    let findings = report
        .entries
        .iter()
        .filter(|entry| entry.state != State::Compliant);
    let results: Vec<Value> = findings.map(result).collect();
    let ids: BTreeSet<&str> = report
        .entries
        .iter()
        .map(|entry| entry.subject.as_str())
        .collect();
    let rules: Vec<Value> = ids
        .into_iter()
        .map(|id| json!({ "id": id, "shortDescription": { "text": id } }))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "reeve", "version": env!("CARGO_PKG_VERSION"), "rules": rules,
            } },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(entry: &Entry) -> Value {
    let level = match entry.state.level() {
        Some(Level::Error) => "error",
        Some(Level::Warning) => "warning",
        Some(Level::Note) => "note",
        None => "none",
    };
    let place = match entry.place.as_str() {
        "" => String::new(),
        place => format!("{place}: "),
    };
    let why = match entry.summary() {
        why if why.is_empty() => entry.state.word().to_owned(),
        why => why,
    };
    let mut result = json!({
        "ruleId": entry.subject,
        "level": level,
        "message": { "text": format!("{place}{why}") },
    });
    if let Some(source) = &entry.source {
        result["locations"] = json!([location(source)]);
    }
    result
}

fn location(source: &Source) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&source.path) },
        "region": { "startLine": source.line.max(1) },
    } })
}

/// A path as a reference of a URI.
pub fn uri(path: &str) -> String {
    /// What RFC 3986 does not reserve, and the separator of paths.
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'/');
    utf8_percent_encode(path, ESCAPED).to_string()
}
