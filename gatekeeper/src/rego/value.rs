//! Between JSON and the values of the Rego engine.

use regorus::Value;
use serde_json::{Map, Number};

use super::text;
use crate::Json;

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

/// The value of a document; what is deeper than [`MAX_DEPTH`] is undefined.
pub fn to_value(json: &Json) -> Value {
    convert(json, 0)
}

fn convert(json: &Json, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Undefined;
    }
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => of_number(number),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(list) => {
            let list: Vec<Value> = list.iter().map(|one| convert(one, depth + 1)).collect();
            Value::from(list)
        }
        Json::Object(object) => {
            let members = object.iter();
            members
                .map(|(name, member)| (Value::from(name.as_str()), convert(member, depth + 1)))
                .collect::<regorus::value::Object>()
                .into()
        }
    }
}

fn of_number(number: &Number) -> Value {
    if let Some(whole) = number.as_i64() {
        return Value::from(whole);
    }
    if let Some(whole) = number.as_u64() {
        return Value::from(whole);
    }
    Value::from(number.as_f64().unwrap_or_default())
}

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

/// An object with these members.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members
        .into_iter()
        .map(|(name, member)| (Value::from(name), member))
        .collect::<regorus::value::Object>()
        .into()
}
