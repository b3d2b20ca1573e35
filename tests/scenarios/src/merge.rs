//! Objects that differ from a given one in some fields.

use serde_json::Value;

/// Replaces the values of `into` that `from` has, too, field by field, and adds those that it lacks.
pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}
