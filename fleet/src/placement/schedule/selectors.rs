//! Selectors over labels and claims: checked once, then matched against many clusters.

use std::collections::BTreeMap;

use reeve_api::ocm::{ClaimSelector, LabelSelector, Requirement};
use reeve_go_compat::labels;

use super::super::messages;

/// A checked selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    key: String,
    /// Absent: any value matches.
    values: Option<Vec<String>>,
    wanted: bool,
}

impl Selector {
    /// A selector over labels; the error is the reason why it is invalid.
    pub fn of_labels(selector: &LabelSelector) -> Result<Self, String> {
        let equal = selector.match_labels.iter().map(|(key, value)| {
            let values = vec![value.clone()];
            rule(key, "In", &values)
        });
        let others = selector.match_expressions.iter().map(Rule::of);
        equal.chain(others).collect::<Result<_, _>>().map(Self)
    }

    /// A selector over claims, with the same rules as for labels.
    pub fn of_claims(selector: &ClaimSelector) -> Result<Self, String> {
        let rules = selector.match_expressions.iter().map(Rule::of);
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Whether labels or claims match.
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
    let rules = labels::key_errors(key);
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
        let rules = labels::value_errors(value);
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
