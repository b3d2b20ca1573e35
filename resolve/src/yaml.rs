//! YAML as upstream's program reads and writes it.

use reeve_go_compat::{json, yaml};
use serde_json::Value;

/// Reads the first document.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let value = yaml::decode_sigs(text.as_bytes())
        .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    let bytes = json::encode(&value, json::Escape::None)
        .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    json::tree(&bytes).map_err(|error| error.to_string())
}

/// Writes sorted YAML, lists indented.
pub(crate) fn write(value: &Value) -> Result<String, String> {
    let bytes = yaml::encode_json_for_template(value).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The same with an indentation of 4.
pub(crate) fn write_wide(value: &Value) -> Result<String, String> {
    let value = reeve_go_compat::value::Value::from(value);
    let bytes = yaml::encode_with_indent(&value, 4).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
