//! YAML as upstream's program reads and writes it.

use reeve_go_compat::yaml::{self, ToJsonError};
use serde_json::Value;

/// Reads the first document.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    yaml::decode_sigs_json(text.as_bytes()).map_err(|error| match error {
        ToJsonError::Json(error) => error.to_string(),
        error => format!("error converting YAML to JSON: {error}"),
    })
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
