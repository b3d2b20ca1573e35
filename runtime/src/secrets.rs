//! Redacts the secret values that an evaluation has read: errors of templates and of the API server quote their
//! input.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::value;
use serde_json::Value;

/// The replacement of a secret value.
const REDACTED: &str = "[redacted]";
/// Shorter values are not redacted, or hardly any text would be left.
const SHORTEST: usize = 3;
/// Shorter lines of a value of several lines reveal nothing.
const SHORTEST_LINE: usize = 8;

/// Secret values. Clones share them, and nothing prints them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<[String]>);

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.0.len())
    }
}

impl FromIterator<String> for Secrets {
    fn from_iter<I: IntoIterator<Item = String>>(values: I) -> Self {
        let long = values.into_iter().filter(|value| value.len() >= SHORTEST);
        Self::sorted(long.flat_map(forms).collect())
    }
}

impl FromIterator<Secrets> for Secrets {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        let all: Vec<Self> = all.into_iter().collect();
        Self::sorted(all.iter().flat_map(|one| one.0.iter()).cloned().collect())
    }
}

impl Secrets {
    fn sorted(mut values: Vec<String>) -> Self {
        // The longest first: a value may be part of another one.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values.into())
    }

    /// The values of both.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
        if others.0.is_empty() {
            return self.clone();
        }
        Self::sorted(self.0.iter().chain(others.0.iter()).cloned().collect())
    }

    /// The text with each value replaced by `[redacted]`, values that overlap by one. What is inserted is not searched again: a
    /// value could be part of it.
    pub fn redact(&self, text: &str) -> String {
        let found = self.0.iter().flat_map(|secret| {
            let found = text.match_indices(secret.as_str());
            found.map(|(at, value)| at..at + value.len())
        });
        let mut found: Vec<Range<usize>> = found.collect();
        found.sort_by_key(|range| range.start);
        let mut redacted = String::with_capacity(text.len());
        let mut end = 0;
        for range in found {
            if range.start >= end {
                redacted.push_str(&text[end..range.start]);
                redacted.push_str(REDACTED);
            }
            end = end.max(range.end);
        }
        redacted.push_str(&text[end..]);
        redacted
    }
}

/// The forms in which a text may quote a value: as it is, in JSON, and line by line.
fn forms(value: String) -> Vec<String> {
    let quoted = |escape| {
        let json = json::encode(&value::Value::str(&value), escape).ok()?;
        let json = String::from_utf8(json).ok()?;
        Some(json.strip_prefix('"')?.strip_suffix('"')?.to_owned())
    };
    let in_json = [quoted(Escape::Html), quoted(Escape::None)];
    let mut forms: Vec<String> = in_json.into_iter().flatten().collect();
    if value.contains('\n') {
        let lines = value.lines().map(str::trim);
        let long = lines.filter(|line| line.len() >= SHORTEST_LINE);
        forms.extend(long.map(str::to_owned));
    }
    forms.push(value);
    forms
}

/// The values in a Secret, encoded and decoded.
pub fn of_object(secret: &Value) -> impl Iterator<Item = String> {
    let texts = |field: &str| {
        let fields = secret.get(field).and_then(Value::as_object);
        let values = fields.into_iter().flatten();
        values.filter_map(|(_, value)| value.as_str())
    };
    let plain = texts("stringData").map(str::to_owned);
    let data = texts("data").flat_map(|encoded| {
        let decoded = STANDARD.decode(encoded).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        // Texts show values without the line break at their end.
        let trimmed = decoded.as_ref().map(|text| text.trim().to_owned());
        [Some(encoded.to_owned()), decoded, trimmed]
            .into_iter()
            .flatten()
    });
    plain.chain(data)
}

/// The names of all fields of an object.
pub fn field_names(object: &Value) -> HashSet<String> {
    let mut names = HashSet::new();
    add_field_names(object, &mut names);
    names
}

fn add_field_names(object: &Value, names: &mut HashSet<String>) {
    match object {
        Value::Object(fields) => {
            for (name, value) in fields {
                names.insert(name.clone());
                add_field_names(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_field_names(item, names)),
        _ => {}
    }
}

/// The name and the namespace of an object, which are not secret.
pub fn own_names(object: &Value) -> impl Iterator<Item = String> {
    let names = ["/metadata/name", "/metadata/namespace"];
    let names = names
        .into_iter()
        .filter_map(|path| object.pointer(path)?.as_str());
    names.map(str::to_owned)
}

/// The strings in a document at JSON pointers.
pub fn at_pointers(document: &Value, pointers: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for pointer in pointers {
        if let Some(value) = document.pointer(pointer) {
            strings(value, &mut found);
        }
    }
    found
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn longest_value_is_redacted_first() {
        let secrets: Secrets = ["pass", "password1", "ab"]
            .map(str::to_owned)
            .into_iter()
            .collect();
        assert_eq!(
            secrets.redact("parsing \"password1\" and pass, ab"),
            "parsing \"[redacted]\" and [redacted], ab"
        );
        assert!(!format!("{secrets:?}").contains("pass"));
    }

    #[test]
    fn values_that_overlap_are_redacted_whole() {
        let secrets: Secrets = ["password1", "word12345"]
            .map(str::to_owned)
            .into_iter()
            .collect();
        assert_eq!(secrets.redact("a password12345 b"), "a [redacted] b");
        let secrets: Secrets = ["one", "two"].map(str::to_owned).into_iter().collect();
        assert_eq!(secrets.redact("onetwo"), "[redacted][redacted]");
    }

    #[test]
    fn parts_of_the_replacement_as_values_do_not_multiply_it() {
        let parts = (0..REDACTED.len()).flat_map(|start| {
            let ends = start + SHORTEST..=REDACTED.len();
            ends.map(move |end| REDACTED[start..end].to_owned())
        });
        let secrets: Secrets = parts.chain(["hunter2".to_owned()]).collect();
        assert_eq!(secrets.redact("hunter2, hunter2"), "[redacted], [redacted]");
    }

    #[test]
    fn quoted_values_are_redacted() {
        let secrets: Secrets = ["say \"<hunter>\"", "-----BEGIN-----\nMIIEpAIBAAK\n}\n"]
            .map(str::to_owned)
            .into_iter()
            .collect();
        for quotation in [
            r#"{"a":"say \"<hunter>\""}"#,
            r#"{"a":"say \"\u003chunter\u003e\""}"#,
            r#"{"a":"-----BEGIN-----\nMIIEpAIBAAK\n}\n"}"#,
        ] {
            assert_eq!(secrets.redact(quotation), r#"{"a":"[redacted]"}"#);
        }
        assert_eq!(
            secrets.redact("a: |\n  -----BEGIN-----\n  MIIEpAIBAAK\n  }\n"),
            "a: |\n  [redacted]\n  [redacted]\n  }\n"
        );
    }

    #[test]
    fn secret_data_is_redacted_encoded_and_decoded() {
        let secrets: Secrets = of_object(&json!({"data": {"a": "aHVudGVyMgo="}})).collect();
        assert_eq!(
            secrets.redact("aHVudGVyMgo= is hunter2."),
            "[redacted] is [redacted]."
        );
    }
}
