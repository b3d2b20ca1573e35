use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Rule, Violation};
use reeve_go_compat::json::{Escape, JsonError, encode_indented};
use reeve_go_compat::value::{Struct, Value};

const SCHEMA: &str = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/sarif-2.1/schema/sarif-schema-2.1.0.json";
const NAME: &str = "Go Template Utils Linter";
const HOME: &str = "https://github.com/stolostron/go-template-utils";

/// Violations as a SARIF 2.1.0 report about the file at this path.
pub fn to_sarif(violations: &[Violation], path: &str) -> Result<String, JsonError> {
    let rules: BTreeMap<&str, &Rule> = violations
        .iter()
        .map(|violation| (violation.rule.id, violation.rule))
        .collect();
    let indexes: BTreeMap<&str, usize> = rules.keys().copied().zip(0..).collect();
    let results = violations.iter().map(|violation| {
        let index = indexes.get(violation.rule.id).copied().unwrap_or(0);
        result(violation, index, path)
    });
    let driver = object([
        ("name", Value::from(NAME)),
        ("informationUri", Value::from(HOME)),
        (
            "rules",
            Value::list(rules.values().map(|rule| describe(rule))),
        ),
    ]);
    let artifact = object([("location", object([("uri", Value::from(path))]))]);
    let run = object([
        ("tool", object([("driver", driver)])),
        ("artifacts", Value::list([artifact])),
        ("results", Value::list(results)),
    ]);
    let report = object([
        ("version", Value::from("2.1.0")),
        ("$schema", Value::from(SCHEMA)),
        ("runs", Value::list([run])),
    ]);
    let mut text = encode_indented(&report, Escape::Html, "", "  ")?;
    text.push(b'\n');
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Members in this order.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.map(|(name, value)| (name.to_owned(), value));
    Value::Struct(Rc::new(Struct::new("", members.into())))
}

fn number(value: usize) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn describe(rule: &Rule) -> Value {
    let mut members = vec![
        ("id".to_owned(), Value::from(rule.id)),
        ("name".to_owned(), Value::from(rule.name)),
        (
            "shortDescription".to_owned(),
            object([("text", Value::from(rule.description))]),
        ),
    ];
    if !rule.full_description.is_empty() {
        let text = Value::from(rule.full_description);
        let full = object([("text", text.clone()), ("markdown", text)]);
        members.push(("fullDescription".to_owned(), full));
    }
    Value::Struct(Rc::new(Struct::new("", members)))
}

fn result(violation: &Violation, rule_index: usize, path: &str) -> Value {
    let start_line = ("startLine", number(violation.line));
    let region = match violation.column {
        0 => object([start_line]),
        column => object([start_line, ("startColumn", number(column))]),
    };
    let artifact = object([("uri", Value::from(path)), ("index", Value::Int(0))]);
    let place = object([("artifactLocation", artifact), ("region", region)]);
    object([
        ("level", Value::from(violation.rule.level.name())),
        (
            "message",
            object([("text", Value::from(violation.message.as_str()))]),
        ),
        (
            "locations",
            Value::list([object([("physicalLocation", place)])]),
        ),
        ("ruleId", Value::from(violation.rule.id)),
        ("ruleIndex", number(rule_index)),
    ])
}
