//! Between JSON and the values of the Rego engine.

use regorus::Value;
use serde_json::{Map, Number};

use super::{EvaluationError, text};
use crate::Json;
use crate::messages;

/// Objects deeper than this are refused before they are converted.
pub const MAX_DEPTH: usize = 400;

/// Whether a document may be converted.
pub fn is_shallow(value: &Json) -> bool {
    let mut level: Vec<&Json> = vec![value];
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for one in level {
            match one {
                Json::Array(list) => next.extend(list),
                Json::Object(object) => next.extend(object.values()),
                _ => {}
            }
        }
        if next.is_empty() {
            return true;
        }
        level = next;
    }
    false
}

/// Drops a document level by level: dropping a deep one at once would take a stack as deep.
pub fn discard(value: Json) {
    let mut pending = vec![value];
    while let Some(one) = pending.pop() {
        match one {
            Json::Array(list) => pending.extend(list),
            Json::Object(object) => pending.extend(object.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}

/// How the numbers of a document come to a policy.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    /// As Gatekeeper decodes parameters: whole numbers of 64 bits with a sign, and floats.
    Decoded,
    /// As Gatekeeper decodes reviews and the inventory: floats.
    Floats,
    /// As Go's JSON encoder writes them.
    Encoded,
    /// As they are written in the document; `has_long` where some are texts that begin with [`LONG_NUMBER`].
    Written { has_long: bool },
}

/// The value of parameters; what is deeper than [`MAX_DEPTH`] is undefined.
pub fn to_value(json: &Json) -> Value {
    convert(json, Numbers::Decoded, 0)
}

/// The value of a review, or of an object of the inventory, of which Gatekeeper decodes all numbers as floats: `1000650000` is
/// printed as `1.00065e+09`.
pub fn to_object_value(json: &Json) -> Value {
    convert(json, Numbers::Floats, 0)
}

/// The value of a document that was converted to JSON.
pub fn to_document_value(json: &Json) -> Value {
    convert(json, Numbers::Encoded, 0)
}

/// What a text begins with that stands for a whole number of a document.
pub const LONG_NUMBER: char = '\0';

/// The value of a document with its numbers as they are written. `has_long` says that those that JSON trees cannot hold are texts
/// that begin with [`LONG_NUMBER`].
pub fn to_written_value(json: &Json, has_long: bool) -> Value {
    convert(json, Numbers::Written { has_long }, 0)
}

fn of_text(text: &str, numbers: Numbers) -> Value {
    let has_long = matches!(numbers, Numbers::Written { has_long: true });
    match text.strip_prefix(LONG_NUMBER).filter(|_| has_long) {
        Some(number) => text::number_of(number, f64::INFINITY),
        None => Value::from(text),
    }
}

fn convert(json: &Json, numbers: Numbers, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Undefined;
    }
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => of_number(number, numbers),
        Json::String(text) => of_text(text, numbers),
        Json::Array(list) => {
            let list = list.iter().map(|one| convert(one, numbers, depth + 1));
            Value::from(list.collect::<Vec<Value>>())
        }
        Json::Object(object) => {
            let members = object.iter();
            members
                .map(|(name, member)| {
                    let member = convert(member, numbers, depth + 1);
                    (Value::from(name.as_str()), member)
                })
                .collect::<regorus::value::Object>()
                .into()
        }
    }
}

fn of_number(number: &Number, numbers: Numbers) -> Value {
    let float = number.as_f64().unwrap_or_default();
    let written = |text: &str| text::number_of(text, float);
    match (numbers, number.as_i64()) {
        (Numbers::Floats, Some(whole)) if whole.abs_diff(0) < SHORT => Value::from(whole),
        (Numbers::Decoded | Numbers::Encoded | Numbers::Written { .. }, Some(whole)) => {
            Value::from(whole)
        }
        (Numbers::Written { .. }, None) => number.as_u64().map_or(Value::from(float), Value::from),
        (Numbers::Encoded, None) => match number.as_u64() {
            Some(whole) => Value::from(whole),
            None => written(&reeve_go_compat::json::json_float(float)),
        },
        _ => written(&reeve_go_compat::printing::shortest_float(float)),
    }
}

/// The least number that a float is written with an exponent for.
const SHORT: u64 = 1_000_000;

/// The document of a value. Sets become lists, keys that are no texts their JSON.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Null | Value::Undefined => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(_) => serde_json::from_str(&text::of_term(value)).unwrap_or(Json::Null),
        Value::String(text) => Json::String(text.to_string()),
        Value::Array(list) => Json::Array(list.iter().map(to_json).collect()),
        Value::Set(set) => Json::Array(set.iter_sorted().map(to_json).collect()),
        Value::Object(object) => {
            let members = object.iter_sorted().map(|(key, member)| {
                let key = match key {
                    Value::String(text) => text.to_string(),
                    other => to_json(other).to_string(),
                };
                (key, to_json(member))
            });
            Json::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// What of a document may still be written, in bytes. Values share their parts, so that a small one may be a huge document: it is
/// charged before anything is made of it.
#[derive(Debug)]
pub struct Output {
    limit: usize,
    left: usize,
}

impl Output {
    /// An output of at most this many bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, left: limit }
    }

    /// The document of a value; an error when it is too long or too deep.
    pub fn json(&mut self, value: &Value) -> Result<Json, EvaluationError> {
        self.accept(value)?;
        Ok(to_json(value))
    }

    /// Charges for a value.
    pub fn accept(&mut self, value: &Value) -> Result<(), EvaluationError> {
        if self.charge_value(value, 0) {
            return Ok(());
        }
        let message = messages::too_much_output(self.limit);
        Err(EvaluationError { message })
    }

    fn charge(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    fn charge_value(&mut self, value: &Value, depth: usize) -> bool {
        let own = match value {
            Value::String(text) => text.len() + 2,
            _ => 2,
        };
        depth <= MAX_DEPTH
            && self.charge(own)
            && match value {
                Value::Array(list) => list.iter().all(|one| self.charge_value(one, depth + 1)),
                Value::Set(set) => set.iter().all(|one| self.charge_value(one, depth + 1)),
                Value::Object(object) => object.iter().all(|(key, one)| {
                    self.charge_value(key, depth + 1) && self.charge_value(one, depth + 1)
                }),
                _ => true,
            }
    }
}

/// An object with these members.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members
        .into_iter()
        .map(|(name, member)| (Value::from(name), member))
        .collect::<regorus::value::Object>()
        .into()
}
