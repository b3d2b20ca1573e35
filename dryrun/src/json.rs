//! YAML and JSON as Kubernetes reads them.

use reeve_go_compat::yaml;
use serde_json::Value;

use crate::messages;

/// Reads the first document of a text.
pub(crate) fn from_yaml(text: &str) -> Result<Value, String> {
    let value = yaml::decode_sigs_json(text.as_bytes());
    value.map_err(|error| messages::not_yaml(&error.to_string()))
}

/// Writes YAML as kubectl prints it.
pub(crate) fn to_yaml(value: &Value) -> Result<String, String> {
    let bytes = yaml::encode_sigs(value).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text at a pointer, or an empty one.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}
