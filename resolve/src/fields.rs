//! Fields of documents, with the errors of Kubernetes' libraries for those of another type.

use reeve_go_compat::json::go_type;
use serde_json::{Map, Value};

use crate::messages;

const MAP: &str = "map[string]interface{}";

/// The value at a path of keys; nothing if one of them is absent. Something else than a map on the way is an error.
pub(crate) fn nested<'v>(object: &'v Value, path: &[&str]) -> Result<Option<&'v Value>, String> {
    let mut value = object;
    let mut place = String::new();
    for key in path {
        place = format!("{place}.{key}");
        let fields = match value {
            Value::Object(fields) => fields,
            other => return Err(wrong(&place, other)),
        };
        match fields.get(*key) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// The map at a key; nothing if it is absent.
pub(crate) fn map<'v>(
    object: &'v Map<String, Value>,
    key: &str,
) -> Result<Option<&'v Map<String, Value>>, String> {
    match object.get(key) {
        None => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(other) => Err(wrong(&format!(".{key}"), other)),
    }
}

fn wrong(place: &str, value: &Value) -> String {
    messages::accessor(place, &printed(value), go_type(value), MAP)
}

/// A value as Go prints it.
fn printed(value: &Value) -> String {
    let value = reeve_go_compat::value::Value::from(value);
    String::from_utf8_lossy(&reeve_go_compat::printing::display(&value)).into_owned()
}
