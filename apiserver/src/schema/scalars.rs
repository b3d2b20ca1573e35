//! Scalars that Kubernetes reads and writes in a way of its own.

use jiff::Timestamp;
use serde_json::Value;

/// The name of an unexpected JSON value in Go's errors.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A time as it is written again: in UTC, with whole seconds, or with microseconds.
pub(crate) fn time(text: &str, micro: bool) -> Result<String, String> {
    let parsed: Option<Timestamp> = text.parse().ok().filter(|_| looks_like_time(text));
    let Some(time) = parsed else {
        return Err(time_error(text, micro));
    };
    Ok(if micro {
        time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    } else {
        time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    })
}

/// RFC 3339 is narrower than what the parser takes.
fn looks_like_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20 && bytes.get(4) == Some(&b'-') && bytes.get(10) == Some(&b'T')
}

/// The elements of the layout in order; the error names the first that does not match.
const ELEMENTS: [(&str, usize); 11] = [
    ("2006", 4),
    ("-", 0),
    ("01", 2),
    ("-", 0),
    ("02", 2),
    ("T", 0),
    ("15", 2),
    (":", 0),
    ("04", 2),
    (":", 0),
    ("05", 2),
];

fn time_error(text: &str, micro: bool) -> String {
    let layout = if micro {
        "2006-01-02T15:04:05.000000Z07:00"
    } else {
        "2006-01-02T15:04:05Z07:00"
    };
    let mut rest = text;
    for (element, digits) in ELEMENTS {
        let matched = if digits == 0 {
            rest.strip_prefix(element)
        } else {
            rest.get(..digits)
                .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|_| rest.get(digits..))
        };
        let Some(after) = matched else {
            return format!(
                "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}"
            );
        };
        rest = after;
    }
    format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as \"Z07:00\"")
}

/// Base64 without line breaks, as Go writes it.
pub(crate) fn bytes(text: &str) -> Result<String, String> {
    let mut clean = String::with_capacity(text.len());
    let mut padding = 0;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'\r' | b'\n' => continue,
            b'=' if clean.len() % 4 >= 2 => padding += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => {}
            _ => return Err(format!("illegal base64 data at input byte {index}")),
        }
        clean.push(char::from(byte));
    }
    if !clean.len().is_multiple_of(4) {
        return Err(format!(
            "illegal base64 data at input byte {}",
            text.len() - clean.len() % 4
        ));
    }
    Ok(clean)
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
