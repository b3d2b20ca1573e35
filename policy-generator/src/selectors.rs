//! Label selectors of placements: Kubernetes' form, or plain labels.

use std::collections::BTreeMap;

use reeve_go_compat::value::{Key, Map, Value};

use crate::values::json_typed;

/// The label selector of a generated placement; `None` if the map is none.
pub fn label_selector(given: Option<&Value>) -> Option<Value> {
    let Some(given) = given else {
        return Some(Value::dict([("matchExpressions", Value::list([]))]));
    };
    let Value::Map(map) = given else {
        return None;
    };
    if is_label_selector(map) {
        return Some(given.clone());
    }
    let mut labels = BTreeMap::new();
    for (key, value) in map.entries() {
        let (Key::Str(key), Value::Str(value)) = (key, value) else {
            return None;
        };
        labels.insert(key, value);
    }
    let expressions = labels.into_iter().map(|(key, value)| {
        let key = ("key", Value::Str(key));
        if value.is_empty() {
            return Value::dict([key, ("operator", "Exists".into())]);
        }
        let values = Value::list([Value::Str(value)]);
        Value::dict([key, ("operator", "In".into()), ("values", values)])
    });
    Some(Value::dict([(
        "matchExpressions",
        Value::list(expressions),
    )]))
}

/// Whether a map decodes strictly as a `LabelSelector`; Go compares the names of fields without their case.
fn is_label_selector(map: &Map) -> bool {
    let Ok(Value::Map(map)) = json_typed(&Value::Map(map.clone())) else {
        return false;
    };
    map.entries().iter().all(|(key, value)| {
        let Key::Str(key) = key else { return false };
        match (key.lossy().to_ascii_lowercase().as_str(), value) {
            ("matchlabels" | "matchexpressions", Value::Nil) => true,
            ("matchlabels", Value::Map(labels)) => labels
                .entries()
                .iter()
                .all(|(_, value)| matches!(value, Value::Str(_) | Value::Nil)),
            ("matchexpressions", Value::List(list)) => list.to_vec().iter().all(is_requirement),
            _ => false,
        }
    })
}

fn is_requirement(value: &Value) -> bool {
    let is_text = |value: &Value| matches!(value, Value::Str(_) | Value::Nil);
    match value {
        Value::Nil => true,
        Value::Map(map) => map.entries().iter().all(|(key, value)| {
            let Key::Str(key) = key else { return false };
            match (key.lossy().to_ascii_lowercase().as_str(), value) {
                ("key" | "operator", value) => is_text(value),
                ("values", Value::Nil) => true,
                ("values", Value::List(list)) => list.to_vec().iter().all(is_text),
                _ => false,
            }
        }),
        _ => false,
    }
}
