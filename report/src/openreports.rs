//! Objects of `openreports.io/v1alpha1`: a `Report` for each policy or suite.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::model::{Entry, Report, Rule, State};

/// The `source` of results.
const SOURCE: &str = "reeve";
/// A report has at most so many results; its summary counts all.
const MOST: usize = 1000;

pub(crate) fn print(report: &Report) -> String {
    print_at(report, Timestamp::now())
}

pub(crate) fn print_at(report: &Report, now: Timestamp) -> String {
    let mut by_subject: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in &report.entries {
        by_subject.entry(&entry.subject).or_default().push(entry);
    }
    let all = by_subject
        .into_iter()
        .map(|(subject, entries)| object(subject, &entries, now));
    // Values of JSON are always YAML.
    let all: Vec<String> = all
        .map(|object| serde_saphyr::to_string(&object).unwrap_or_else(|_| object.to_string()))
        .collect();
    all.join("---\n")
}

fn object(subject: &str, entries: &[&Entry], now: Timestamp) -> Value {
    let (namespace, name) = subject.split_once('/').unwrap_or(("default", subject));
    let mut summary: BTreeMap<&str, usize> = ["pass", "fail", "warn", "error", "skip"]
        .into_iter()
        .map(|word| (word, 0))
        .collect();
    let mut results = Vec::new();
    for entry in entries {
        for rule in rules(entry) {
            *summary.entry(word(rule.state)).or_default() += 1;
            if results.len() < MOST {
                results.push(result(subject, entry, &rule, now));
            }
        }
    }
    json!({
        "apiVersion": "openreports.io/v1alpha1",
        "kind": "Report",
        "metadata": { "name": object_name(name), "namespace": namespace },
        "source": SOURCE,
        "summary": summary,
        "results": results,
    })
}

/// The rules of an entry; one of its own if it has none.
fn rules(entry: &Entry) -> Vec<Rule> {
    if !entry.rules.is_empty() {
        return entry.rules.clone();
    }
    let why: Vec<String> = entry.reasons.iter().map(ToString::to_string).collect();
    vec![Rule {
        state: entry.state,
        message: why.join("; "),
        ..Rule::default()
    }]
}

/// The result of a state.
fn word(state: State) -> &'static str {
    match state {
        State::Compliant => "pass",
        State::Violation => "fail",
        State::Error => "error",
        State::Unplaced | State::Pending | State::Unknown | State::Skipped => "skip",
    }
}

fn result(subject: &str, entry: &Entry, rule: &Rule, now: Timestamp) -> Value {
    let mut properties = Map::new();
    if !entry.place.is_empty() {
        properties.insert("place".to_owned(), entry.place.clone().into());
    }
    for (key, value) in &entry.annotations {
        properties.insert(key.clone(), value.clone().into());
    }
    let diff: Vec<String> = rule.reasons.iter().map(ToString::to_string).collect();
    if !diff.is_empty() {
        properties.insert("diff".to_owned(), diff.join("\n").into());
    }
    let mut result = json!({
        "policy": subject,
        "result": word(rule.state),
        "source": SOURCE,
        "message": rule.message,
        "properties": properties,
        "timestamp": { "seconds": now.as_second(), "nanos": 0 },
    });
    if !rule.name.is_empty() {
        result["rule"] = rule.name.clone().into();
    }
    if let Some(severity) = rule.severity.as_deref().map(str::to_lowercase)
        && ["critical", "high", "medium", "low", "info"].contains(&severity.as_str())
    {
        result["severity"] = severity.into();
    }
    if let Some(category) = entry.annotations.get("categories") {
        result["category"] = category.clone().into();
    }
    result
}

/// A name that the API server accepts: lower case, digits, `-` and `.`.
fn object_name(name: &str) -> String {
    let keep = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '.') => c,
        _ => '-',
    };
    let name: String = name.chars().map(keep).take(253).collect();
    match name.trim_matches(['-', '.']) {
        "" => "report".to_owned(),
        name => name.to_owned(),
    }
}
