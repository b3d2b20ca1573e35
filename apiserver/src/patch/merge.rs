//! JSON merge patches (RFC 7386).

use serde_json::{Map, Value};

use super::undecodable;
use crate::schema::json_kind;
use crate::status_error::StatusError;

/// What the patch makes of `current`.
pub fn merge_patch(current: &Value, patch: &Value) -> Result<Value, StatusError> {
    match patch {
        Value::Object(patch) => {
            let mut result = current.clone();
            merge(&mut result, patch);
            Ok(result)
        }
        Value::Null => Err(StatusError::bad_request("Invalid JSON Patch")),
        other => Err(undecodable(&format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_kind(other)
        ))),
    }
}

fn merge(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(key);
            }
            Value::Object(inner) => merge(target.entry(key.clone()).or_insert(Value::Null), inner),
            other => {
                target.insert(key.clone(), other.clone());
            }
        }
    }
}
