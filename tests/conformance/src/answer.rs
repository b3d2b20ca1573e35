//! Answers, and in what they differ.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::deep;

/// What a server has answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The type of the body.
    pub content_type: String,
    /// The differences that are not an answer's own.
    pub warnings: Vec<String>,
    /// The body; of a watch a list of its events; a text if it is no JSON.
    pub body: Value,
}

impl Answer {
    /// Something that is no answer of a server, but is compared like one.
    pub(crate) fn of_value(body: Value) -> Self {
        Self {
            code: 200,
            content_type: String::new(),
            warnings: Vec::new(),
            body,
        }
    }

    pub(crate) fn of(parts: &http::response::Parts, bytes: &[u8]) -> Self {
        let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let bytes = &*deep::cut(bytes);
        let body = serde_json::from_slice(bytes).unwrap_or_else(|_| {
            let lines: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(bytes)
                .into_iter()
                .collect();
            match lines {
                Ok(lines) => Value::Array(lines),
                Err(_) => Value::String(String::from_utf8_lossy(bytes).into_owned()),
            }
        });
        Self {
            code: parts.status.as_u16(),
            content_type: parts
                .headers
                .get("content-type")
                .map(text)
                .unwrap_or_default(),
            warnings: parts.headers.get_all("warning").iter().map(text).collect(),
            body,
        }
    }
}

/// In what two answers differ, looking at the whole or at some parts only; nothing if they are the same.
pub fn difference(embedded: &Answer, real: &Answer, only: &[String]) -> Option<String> {
    let mut differences = Vec::new();
    if embedded.code != real.code {
        differences.push(format!("code: {} instead of {}", embedded.code, real.code));
    }
    if embedded.content_type != real.content_type {
        differences.push(format!(
            "content type: {} instead of {}",
            embedded.content_type, real.content_type
        ));
    }
    let normalized_text = |all: &[String]| {
        all.iter()
            .map(|one| normalized_text(one))
            .collect::<Vec<_>>()
    };
    if normalized_text(&embedded.warnings) != normalized_text(&real.warnings) {
        differences.push(format!(
            "warnings: {:?} instead of {:?}",
            embedded.warnings, real.warnings
        ));
    }
    let (mut left, mut right) = (embedded.body.clone(), real.body.clone());
    normalize(&mut left, "");
    normalize(&mut right, "");
    if only.is_empty() {
        compare("", &left, &right, &mut differences);
    }
    for pointer in only {
        let part = |body: &Value| body.pointer(pointer).cloned().unwrap_or_default();
        compare(pointer, &part(&left), &part(&right), &mut differences);
    }
    (!differences.is_empty()).then(|| differences.join("\n"))
}

fn compare(path: &str, left: &Value, right: &Value, differences: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let path = format!("{path}/{key}");
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => compare(&path, left, right, differences),
                    (Some(left), None) => {
                        differences.push(format!("{path}: {left} instead of nothing"));
                    }
                    (None, right) => differences.push(format!(
                        "{path}: nothing instead of {}",
                        right.unwrap_or(&Value::Null)
                    )),
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (place, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{path}/{place}"), left, right, differences);
            }
        }
        (left, right) if left == right => {}
        (left, right) => differences.push(format!("{path}: {left}\n      instead of {right}")),
    }
}

static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").ok()
});
static TIME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").ok());
/// The volume of an account's token has a name of its own in every Pod.
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("kube-api-access-[a-z0-9]{5}").ok());
static AGE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\d{1,3}s$").ok());
static PORT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(127\.0\.0\.\d|localhost|\.svc):\d{4,}").ok());
static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"((?:resource version: |current: |ResourceVersion in (?:precondition|record) \())\d+( \(\d+\))?").ok()
});

/// Puts words in the places of what differs from server to server and from second to second.
fn normalize(value: &mut Value, key: &str) {
    match value {
        Value::Object(fields) => {
            let named = std::mem::take(fields);
            for (key, mut value) in named {
                normalize(&mut value, &key);
                fields.insert(normalized_text(&key), value);
            }
            sort_causes(fields);
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                normalize(item, key);
            }
            if key == "managedFields" {
                // By their times, which are in whole seconds, and only those of one second by their names.
                items.sort_by_key(Value::to_string);
            }
        }
        Value::String(text) => {
            *text = match key {
                "resourceVersion" if !text.is_empty() => "<version>".to_owned(),
                "continue" if !text.is_empty() => "<token>".to_owned(),
                "token" => "<token>".to_owned(),
                "clusterIP" | "clusterIPs" if text.starts_with("10.") => "<address>".to_owned(),
                // Ages in tables: the servers are not asked in the same second.
                "cells" if AGE.as_ref().is_some_and(|age| age.is_match(text)) => "<age>".to_owned(),
                _ => normalized_text(text),
            };
        }
        _ => {}
    }
}

/// The causes of a refusal come in any order, and so do they in its message.
fn sort_causes(status: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(causes)) = status
        .get_mut("details")
        .and_then(|details| details.get_mut("causes"))
    else {
        return;
    };
    if causes.len() < 2 {
        return;
    }
    causes.sort_by_key(Value::to_string);
    if let Some(Value::String(message)) = status.get_mut("message")
        && let Some((what, _)) = message.split_once(" is invalid: [")
    {
        *message = format!("{what} is invalid: <its causes>");
    }
}

fn normalized_text(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, word) in [
        (&UUID, "<uid>"),
        (&TIME, "<time>"),
        (&PORT, "$1:<port>"),
        (&TOKEN, "kube-api-access-<suffix>"),
        (&VERSION, "$1<version>"),
    ] {
        if let Some(pattern) = &**pattern {
            text = pattern.replace_all(&text, word).into_owned();
        }
    }
    text
}
