//! Edits of JSON objects.

use serde_json::{Value, json};

/// Puts a value where none is. What is no object, but should be, becomes one only if it is missing.
pub(crate) fn or(object: &mut Value, field: &str, value: impl Into<Value>) {
    if object.is_null() {
        *object = json!({});
    }
    if let Some(object) = object.as_object_mut() {
        let slot = object.entry(field).or_insert(Value::Null);
        if slot.is_null() || slot.as_str() == Some("") {
            *slot = value.into();
        }
    }
}

pub(crate) fn each<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = object.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// Removes a field of an object.
pub(super) fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}
