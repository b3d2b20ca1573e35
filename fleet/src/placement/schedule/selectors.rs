//! Selectors over labels and claims: checked once, then asked of many clusters.

use std::collections::BTreeMap;

use super::super::messages;
use super::super::types::{ClaimSelector, LabelSelector, Requirement};

const NAME_RULES: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const KEY_RULES: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const VALUE_RULES: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const PREFIX_RULES: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LONGEST: usize = 63;

/// A selector that has been checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    key: String,
    /// Absent: any value will do.
    values: Option<Vec<String>>,
    wanted: bool,
}

impl Selector {
    /// A selector over labels; the text says what is wrong with it.
    pub fn of_labels(selector: &LabelSelector) -> Result<Self, String> {
        let equal = selector.match_labels.iter().map(|(key, value)| {
            let values = vec![value.clone()];
            rule(key, "In", &values)
        });
        let others = selector.match_expressions.iter().map(Rule::of);
        equal.chain(others).collect::<Result<_, _>>().map(Self)
    }

    /// A selector over claims, to which the rules for labels apply too.
    pub fn of_claims(selector: &ClaimSelector) -> Result<Self, String> {
        let rules = selector.match_expressions.iter().map(Rule::of);
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Whether labels, or claims, are as they should be.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|rule| {
            let fits = labels.get(&rule.key).is_some_and(|label| {
                let values = rule.values.as_ref();
                values.is_none_or(|values| values.contains(label))
            });
            fits == rule.wanted
        })
    }
}

impl Rule {
    fn of(requirement: &Requirement) -> Result<Self, String> {
        rule(&requirement.key, &requirement.operator, &requirement.values)
    }
}

fn rule(key: &str, operator: &str, values: &[String]) -> Result<Rule, String> {
    let (set, wanted) = match operator {
        "In" => (true, true),
        "NotIn" => (true, false),
        "Exists" => (false, true),
        "DoesNotExist" => (false, false),
        other => return Err(messages::unknown_operator(other)),
    };
    let mut wrong = Vec::new();
    let rules = key_rules(key);
    if !rules.is_empty() {
        wrong.push(messages::bad_key(key, &rules.join("; ")));
    }
    if set && values.is_empty() {
        wrong.push(messages::NO_VALUES.to_owned());
    } else if !set && !values.is_empty() {
        let json = serde_json::Value::from(values).to_string();
        wrong.push(messages::values_for_existence(&json));
    }
    for (index, value) in values.iter().enumerate() {
        let rules = value_rules(value);
        if !rules.is_empty() {
            wrong.push(messages::bad_value(index, key, value, &rules.join("; ")));
        }
    }
    match wrong.as_slice() {
        [] => Ok(Rule {
            key: key.to_owned(),
            values: set.then(|| values.to_vec()),
            wanted,
        }),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

/// What is wrong with a key of a label.
fn key_rules(key: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => return vec![KEY_RULES.to_owned()],
        Some((prefix, name)) => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else if prefix.len() > 253 {
                wrong.push(format!("prefix part {}", too_long(253)));
            } else if !prefix.split('.').all(is_dns_label) {
                wrong.push(PREFIX_RULES.to_owned());
            }
            name
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > LONGEST {
        wrong.push(format!("name part {}", too_long(LONGEST)));
    }
    if !is_word(name) {
        wrong.push(NAME_RULES.to_owned());
    }
    wrong
}

/// What is wrong with a value of a label.
pub fn value_rules(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > LONGEST {
        wrong.push(too_long(LONGEST));
    }
    if !value.is_empty() && !is_word(value) {
        wrong.push(VALUE_RULES.to_owned());
    }
    wrong
}

fn is_word(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ends(text.bytes().next()) && ends(text.bytes().next_back()) && text.bytes().all(inner)
}

fn is_dns_label(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().next().is_some_and(lower)
        && text.bytes().next_back().is_some_and(lower)
        && text.bytes().all(|byte| lower(byte) || byte == b'-')
}
