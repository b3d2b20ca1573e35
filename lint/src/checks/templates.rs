//! RVL006: templates that cannot be parsed.

use std::borrow::Cow;

use reeve_api::names::DISABLE_TEMPLATES_ANNOTATION;
use reeve_go_compat::strconv::parse_bool;
use reeve_templates_engine::resolver::{
    Config, Input, Options, ResolveError, Resolver, SkipObject,
};
use serde_json::{Value, json};

use crate::file::Position;
use crate::finding::Finding;
use crate::items::{Item, Role, text};
use crate::messages;

const HUB: (&str, &str) = ("{{hub", "hub}}");

/// Checks the templates of an object, hub templates of a whole policy first.
///
/// Nothing resolves the templates of a Policy or ConfigurationPolicy that disables them.
pub(crate) fn check(item: &Item<'_>) -> Vec<Finding> {
    let policy = match item.role {
        Role::Desired { policy, .. } => policy,
        Role::Document | Role::Template => item.value,
    };
    if has_templates_disabled(policy) {
        return Vec::new();
    }
    match item.role {
        Role::Document => {
            let mut findings: Vec<Finding> = hub(item).into_iter().collect();
            if item.kind() == "ConfigurationPolicy" {
                findings.extend(raw(item));
            }
            findings
        }
        Role::Template if item.kind() == "ConfigurationPolicy" => raw(item).into_iter().collect(),
        Role::Template => Vec::new(),
        Role::Desired { .. } => managed(item).into_iter().collect(),
    }
}

fn has_templates_disabled(policy: &Value) -> bool {
    matches!(text(policy, "/kind"), "Policy" | "ConfigurationPolicy")
        && policy
            .pointer("/metadata/annotations")
            .and_then(|annotations| annotations.get(DISABLE_TEMPLATES_ANNOTATION))
            .and_then(Value::as_str)
            .and_then(parse_bool)
            .unwrap_or(false)
}

fn hub(item: &Item<'_>) -> Option<Finding> {
    let config = Config {
        start_delimiter: HUB.0.to_owned(),
        stop_delimiter: HUB.1.to_owned(),
        ..Config::default()
    };
    let resolver = Resolver::new(config).ok()?;
    let check = |value: &Value| error(&resolver, Input::Json(&bytes(value)));
    let (_, whole) = check(item.value)?;
    Some(culprit(item, &whole, HUB.0, check))
}

fn managed(item: &Item<'_>) -> Option<Finding> {
    let resolver = Resolver::default();
    let check = |value: &Value| error(&resolver, Input::Json(&bytes(&without_hub(value))));
    let (_, whole) = check(item.value)?;
    Some(culprit(item, &whole, "{{", check))
}

/// The scalar that cannot be parsed by itself, or else the object.
fn culprit(
    item: &Item<'_>,
    whole: &str,
    start: &str,
    check: impl Fn(&Value) -> Option<(usize, String)>,
) -> Finding {
    for (pointer, value) in item.scalars() {
        let has_template = value.as_str().is_some_and(|text| text.contains(start));
        if !has_template {
            continue;
        }
        if let Some((_, why)) = check(&json!({ "value": value })) {
            return item.finding(&pointer, "RVL006", messages::template(&why));
        }
    }
    item.finding("", "RVL006", messages::template(whole))
}

/// Checks `object-templates-raw`, whose lines are lines of the file.
fn raw(item: &Item<'_>) -> Option<Finding> {
    const FIELD: &str = "/spec/object-templates-raw";
    let text = item.value.pointer(FIELD)?.as_str()?;
    let (line, why) = error(
        &Resolver::default(),
        Input::Yaml(&without_actions_of_hub(text)),
    )?;
    let range = item.document.scalar(&item.at(FIELD))?;
    let start = item.file.position(range);
    let is_block = item.file.text.get(range.clone())?.starts_with(['|', '>']);
    let position = Position {
        line: if is_block {
            start.line + line
        } else {
            start.line
        },
        column: if is_block { 0 } else { start.column },
        end_column: 0,
    };
    Some(item.file.at(position, "RVL006", messages::template(&why)))
}

/// Why an input cannot be parsed, and on which of its lines.
fn error(resolver: &Resolver, input: Input<'_>) -> Option<(usize, String)> {
    let functions = vec![("skipObject".to_owned(), SkipObject::new().function())];
    let options = Options {
        functions,
        ..Options::default()
    };
    match resolver.prepare(input, options).err()? {
        ResolveError::Parse { source, .. } => {
            let text = source.to_string();
            let text = text.strip_prefix("template: tmpl:").unwrap_or(&text);
            let (line, why) = text.split_once(": ").unwrap_or(("", text));
            let line = line.split(':').next().unwrap_or_default();
            Some((line.parse().unwrap_or(1), why.to_owned()))
        }
        other => Some((1, other.to_string())),
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    // Keys are text, so that it can be written.
    serde_json::to_vec(value).unwrap_or_default()
}

/// A value whose hub templates are replaced by some text.
fn without_hub(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_actions_of_hub(text).into_owned()),
        Value::Array(items) => items.iter().map(without_hub).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), without_hub(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

fn without_actions_of_hub(text: &str) -> Cow<'_, str> {
    if !text.contains(HUB.0) {
        return Cow::Borrowed(text);
    }
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(HUB.0) {
        result.push_str(before);
        let (action, behind) = after.split_once(HUB.1).unwrap_or((after, ""));
        result.push_str("hub");
        // Lines count.
        result.extend(action.chars().filter(|c| *c == '\n'));
        rest = behind;
    }
    result.push_str(rest);
    Cow::Owned(result)
}
