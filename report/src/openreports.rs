//! Objects of `openreports.io/v1alpha1`: a `Report` for each policy or suite.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::model::{Entry, Report, Rule, State};
use crate::table::cut;

/// The `source` of results.
const SOURCE: &str = "reeve";
/// A report has at most so many results; more are in further reports.
const MOST: usize = 1000;
/// A report has at most so many bytes of results: an API server refuses objects of more than 1.5 MiB.
const MOST_BYTES: usize = 1 << 20;
/// The property with the reasons has at most so many characters.
const MOST_OF_DIFF: usize = 2000;

pub(crate) fn print(report: &Report) -> String {
    print_at(report, Timestamp::now())
}

pub(crate) fn print_at(report: &Report, now: Timestamp) -> String {
    // Values of JSON are always YAML.
    let all: Vec<String> = objects(report, now)
        .iter()
        .map(|object| serde_saphyr::to_string(object).unwrap_or_else(|_| object.to_string()))
        .collect();
    all.join("---\n")
}

/// The reports of all subjects: of each as many as its results need.
pub(crate) fn objects(report: &Report, now: Timestamp) -> Vec<Value> {
    let mut by_subject: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in &report.entries {
        by_subject.entry(&entry.subject).or_default().push(entry);
    }
    let mut names = Names::default();
    let mut objects = Vec::new();
    for (subject, entries) in by_subject {
        let (namespace, name) = subject.split_once('/').unwrap_or(("default", subject));
        for shard in shards(subject, &entries, now) {
            objects.push(json!({
                "apiVersion": "openreports.io/v1alpha1",
                "kind": "Report",
                "metadata": { "name": names.free(namespace, name), "namespace": namespace },
                "source": SOURCE,
                "summary": shard.summary,
                "results": shard.results,
            }));
        }
    }
    objects
}

/// The results of one report, with the summary of just these: those of all reports of a subject add up.
struct Shard {
    summary: BTreeMap<&'static str, usize>,
    results: Vec<Value>,
    bytes: usize,
}

impl Shard {
    fn new() -> Self {
        let words = ["pass", "fail", "warn", "error", "skip"];
        Self {
            summary: words.map(|word| (word, 0)).into(),
            results: Vec::new(),
            bytes: 0,
        }
    }
}

fn shards(subject: &str, entries: &[&Entry], now: Timestamp) -> Vec<Shard> {
    let mut full = Vec::new();
    let mut shard = Shard::new();
    for entry in entries {
        for rule in rules(entry) {
            let result = result(subject, entry, &rule, now);
            let bytes = result.to_string().len();
            let is_full = shard.results.len() >= MOST || shard.bytes + bytes > MOST_BYTES;
            if is_full && !shard.results.is_empty() {
                full.push(std::mem::replace(&mut shard, Shard::new()));
            }
            *shard.summary.entry(word(rule.state)).or_default() += 1;
            shard.results.push(result);
            shard.bytes += bytes;
        }
    }
    full.push(shard);
    full
}

/// The names that are taken: those of suites may become the same, and reports of one subject differ by a number.
#[derive(Default)]
struct Names(BTreeSet<(String, String)>);

impl Names {
    fn free(&mut self, namespace: &str, name: &str) -> String {
        let base = object_name(name);
        let mut number = 1_usize;
        loop {
            let end = if number == 1 {
                String::new()
            } else {
                format!("-{number}")
            };
            let own: String = base.chars().take(MOST_OF_NAME - end.len()).collect();
            let own = own + &end;
            if self.0.insert((namespace.to_owned(), own.clone())) {
                return own;
            }
            number += 1;
        }
    }
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
        let diff = cut(&diff.join("\n"), MOST_OF_DIFF);
        properties.insert("diff".to_owned(), diff.into());
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

/// A name has at most so many characters.
const MOST_OF_NAME: usize = 253;

/// A name that the API server accepts: lower case, digits, `-` and `.`.
fn object_name(name: &str) -> String {
    let keep = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '.') => c,
        _ => '-',
    };
    let name: String = name.chars().map(keep).take(MOST_OF_NAME).collect();
    match name.trim_matches(['-', '.']) {
        "" => "report".to_owned(),
        name => name.to_owned(),
    }
}
