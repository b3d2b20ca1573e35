//! Scalars that Kubernetes reads and writes in a way of its own.

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use reeve_go_compat::base64;
use reeve_go_compat::time::{self, Zone};
use serde_json::Value;

/// A time as it is written again: in UTC, with whole seconds, or with microseconds.
pub(crate) fn time(text: &str, micro: bool) -> Result<String, String> {
    let layout = if micro {
        "2006-01-02T15:04:05.000000Z07:00"
    } else {
        "2006-01-02T15:04:05Z07:00"
    };
    let time = time::parse(layout.as_bytes(), text.as_bytes(), &Zone::Utc)?;
    let written = time.in_zone(Zone::Utc).format(layout.as_bytes());
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// Base64 without line breaks, as Go writes it.
pub(crate) fn bytes(text: &str) -> Result<String, String> {
    base64::decode(text.as_bytes()).map(|bytes| STANDARD.encode(bytes))
}

/// The name of the type of a JSON value in errors of the API server.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if whole(number).is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A number without a fraction, however it is written.
pub(super) fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        format!("{float:.0}").parse().ok()
    })
}
