//! From and to `serde_json` values: Kubernetes objects on their way in.

use super::{Element, Key, List, Map, Value};

impl From<&serde_json::Value> for Value {
    /// Integers become `int64` and other numbers `float64`, as in objects read from an API server.
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => number.as_i64().map_or_else(
                || Self::Float(number.as_f64().unwrap_or(f64::NAN)),
                Self::Int64,
            ),
            serde_json::Value::String(text) => Self::Str(text.into()),
            serde_json::Value::Array(items) => {
                Self::List(List::new(Element::Any, items.iter().map(Self::from)))
            }
            serde_json::Value::Object(entries) => Self::Map(Map::from_entries(
                entries
                    .iter()
                    .map(|(key, value)| (Key::Str(key.into()), Self::from(value)))
                    .collect(),
            )),
        }
    }
}
