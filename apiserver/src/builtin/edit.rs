//! Edits of JSON objects.

use serde_json::{Value, json};

/// Sets a field that is absent, null or empty. A null becomes an object; other values stay.
pub(crate) fn set_default(object: &mut Value, field: &str, value: impl Into<Value>) {
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

/// The items of a list field.
pub(crate) fn items_mut<'a>(
    object: &'a mut Value,
    list: &str,
) -> impl Iterator<Item = &'a mut Value> {
    let list = object.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// Removes a field of an object.
pub(super) fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}
