//! Whether an object has some fields.

use serde_json::Value;

/// A field that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The field.
    pub path: String,
    /// The expected value as JSON.
    pub expected: String,
    /// The value that is there as JSON; `None` if there is none.
    pub found: Option<String>,
}

/// The fields of `expected` that `found` does not have. Of a list every item must have an item that it is a subset of.
pub fn mismatches(expected: &Value, found: &Value) -> Vec<Mismatch> {
    let mut all = Vec::new();
    compare("", expected, Some(found), &mut all);
    all
}

fn compare(path: &str, expected: &Value, found: Option<&Value>, all: &mut Vec<Mismatch>) {
    match (expected, found) {
        (Value::Object(expected), Some(Value::Object(found))) => {
            for (key, value) in expected {
                compare(&join(path, key), value, found.get(key), all);
            }
        }
        (Value::Array(expected), Some(Value::Array(found))) => {
            for (index, item) in expected.iter().enumerate() {
                let is_subset = |one: &Value| mismatches(item, one).is_empty();
                if !found.iter().any(is_subset) {
                    all.push(Mismatch {
                        path: format!("{path}[{index}]"),
                        expected: item.to_string(),
                        found: Some(Value::Array(found.clone()).to_string()),
                    });
                }
            }
        }
        // Null expects that the field is not there.
        (Value::Null, None | Some(Value::Null)) => {}
        (expected, found) if found == Some(expected) => {}
        (expected, found) => all.push(Mismatch {
            path: path.to_owned(),
            expected: expected.to_string(),
            found: found.map(ToString::to_string),
        }),
    }
}

/// The path of a field, as `metadata.labels["a.b/c"]`.
fn join(path: &str, key: &str) -> String {
    let is_word = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match (path, is_word) {
        ("", true) => key.to_owned(),
        (path, true) => format!("{path}.{key}"),
        (path, false) => format!("{path}[{key:?}]"),
    }
}
