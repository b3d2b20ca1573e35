//! The secret values that an evaluation came across, to take them out of texts that others make: errors of templates
//! and of the API server quote what they were given.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// What stands in place of a secret value.
const REDACTED: &str = "[redacted]";
/// Shorter values are no secrets, and taking them out would leave no text.
const SHORTEST: usize = 3;

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
        let mut values: Vec<String> = long.collect();
        // The longest first: a value may be part of another one.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values.into())
    }
}

impl Secrets {
    /// These and those.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        if others.0.is_empty() {
            return self.clone();
        }
        self.0.iter().chain(others.0.iter()).cloned().collect()
    }

    /// The text without the values.
    #[must_use]
    pub fn taken_out_of(&self, text: &str) -> String {
        let without = |text: String, secret: &String| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), REDACTED)
            } else {
                text
            }
        };
        self.0.iter().fold(text.to_owned(), without)
    }
}

/// The values in a Secret, as they are kept and as they are meant.
pub fn of_object(secret: &Value) -> impl Iterator<Item = String> {
    let data = secret.get("data").and_then(Value::as_object);
    let encoded = data
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_str());
    encoded.flat_map(|encoded| {
        let decoded = STANDARD.decode(encoded).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        // Texts show values without the line break at their end.
        let trimmed = decoded.as_ref().map(|text| text.trim().to_owned());
        [Some(encoded.to_owned()), decoded, trimmed]
            .into_iter()
            .flatten()
    })
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
    fn values_are_taken_out_of_texts_the_longest_first() {
        let secrets: Secrets = ["pass", "password1", "ab"]
            .map(str::to_owned)
            .into_iter()
            .collect();
        assert_eq!(
            secrets.taken_out_of("parsing \"password1\" and pass, ab"),
            "parsing \"[redacted]\" and [redacted], ab"
        );
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }

    #[test]
    fn the_values_of_a_secret_are_known_encoded_and_decoded() {
        let secrets: Secrets = of_object(&json!({"data": {"a": "aHVudGVyMgo="}})).collect();
        assert_eq!(
            secrets.taken_out_of("aHVudGVyMgo= is hunter2."),
            "[redacted] is [redacted]."
        );
    }
}
