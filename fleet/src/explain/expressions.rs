//! The expressions of templates: where they are, who resolves them, and which the hub could not resolve.

use reeve_api::names::HUB_TEMPLATES_ERROR_ANNOTATION;
use reeve_report::{Rule, State};
use serde_json::Value;

use super::finding;
use super::observe::{definitions, text};
use crate::results::shorten;

/// Who resolves an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The propagator, before the policy is replicated.
    Hub,
    /// The controller of the managed cluster, at each evaluation.
    Cluster,
}

/// What is nested deeper has no expression that could be shown.
const MOST_LEVELS: usize = 100;

/// The fields of a value with expressions for a side: the path and the text.
pub(super) fn expressions(value: &Value, side: Side) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    texts(value, String::new(), 0, &mut all);
    let is_for = |text: &str| {
        let hub = text.contains("{{hub");
        match side {
            Side::Hub => hub,
            Side::Cluster => text.replace("{{hub", "").contains("{{"),
        }
    };
    all.retain(|(_, text)| is_for(text));
    all
}

fn texts<'a>(value: &'a Value, path: String, level: usize, all: &mut Vec<(String, &'a str)>) {
    if level > MOST_LEVELS {
        return;
    }
    match value {
        Value::String(text) => all.push((path, text)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, format!("{path}[{index}]"), level + 1, all);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                texts(field, format!("{path}{dot}{key}"), level + 1, all);
            }
        }
        _ => {}
    }
}

/// The value at a path of [`expressions`]; it may be of another type than text.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut found = Some(value);
    for part in path.split('.').flat_map(|part| part.split('[')) {
        found = match (found?, part.strip_suffix(']')) {
            (Value::Array(items), Some(index)) => items.get(index.parse::<usize>().ok()?),
            (Value::Object(fields), _) => fields.get(part),
            _ => None,
        };
    }
    found
}

/// The templates that the hub could not resolve.
pub(super) fn hub_template_errors(replica: &Value) -> Vec<Rule> {
    let errors = definitions(replica).filter_map(|definition| {
        let annotations = definition.pointer("/metadata/annotations")?;
        let why = annotations.get(HUB_TEMPLATES_ERROR_ANNOTATION)?.as_str()?;
        let name = text(definition, "/metadata/name");
        Some(finding(name, State::Error, shorten::short(why)))
    });
    errors.collect()
}

/// Whether the hub could not resolve a template.
pub(super) fn is_unresolved(definition: &Value) -> bool {
    let annotations = definition.pointer("/metadata/annotations");
    annotations.is_some_and(|all| all.get(HUB_TEMPLATES_ERROR_ANNOTATION).is_some())
}
