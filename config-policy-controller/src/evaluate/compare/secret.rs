//! `stringData` of a Secret: write-only at the API server, so it is compared with the decoded `data`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::error::CompareError;

/// The live `data` of a Secret with every value decoded. A value that is not text becomes `Null`,
/// which equals no text.
pub(crate) fn decoded_data(secret: &Value) -> Result<Value, CompareError> {
    let data = match secret.get("data") {
        None | Some(Value::Null) => return Ok(Value::Object(Map::new())),
        Some(Value::Object(data)) => data,
        Some(_) => return Err(CompareError::SecretData),
    };
    let mut decoded = Map::new();
    for (key, value) in data {
        let encoded = value.as_str().ok_or(CompareError::SecretData)?;
        let bytes = STANDARD
            .decode(encoded)
            .map_err(|_| CompareError::SecretDecode {
                name: name_of(secret).to_owned(),
            })?;
        let text = String::from_utf8(bytes).map_or(Value::Null, Value::String);
        decoded.insert(key.clone(), text);
    }
    Ok(Value::Object(decoded))
}

fn name_of(object: &Value) -> &str {
    object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}
