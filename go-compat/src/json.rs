//! JSON as Go's `encoding/json` reads and writes it.
//!
//! Both directions work with a stack of their own, so that nesting costs no native stack.

mod decode;
mod encode;
mod number;
mod syntax;
pub mod typed;

use serde::Deserialize as _;

use crate::value::Value;

pub use encode::{encode, encode_charged, encode_indented, indent};
pub use number::json_float;

/// Whether `<`, `>` and `&` are written so that HTML takes no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// As `\u003c` and so on; Go's default.
    Html,
    /// As they are.
    None,
}

/// Why JSON could not be read or written, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text is not JSON.
    #[error("{0}")]
    Syntax(String),
    /// A number is beyond what a `float64` holds.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    Number(String),
    /// A value of a type that JSON does not have.
    #[error("json: unsupported type: {0}")]
    UnsupportedType(String),
    /// A value that JSON does not have: an infinity, or a map that contains itself.
    #[error("json: unsupported value: {0}")]
    UnsupportedValue(String),
}

/// Reads JSON as Go's `json.Unmarshal` reads it into an `interface {}`: numbers become `float64`,
/// and of equal keys the last wins.
pub fn decode(text: &[u8]) -> Result<Value, JsonError> {
    match decode_partly(text) {
        (value, None) => Ok(value),
        (_, Some(error)) => Err(error),
    }
}

/// Reads JSON, keeping what could be read: nil when the text is not JSON, and nil in place of each
/// number that does not fit.
pub fn decode_partly(text: &[u8]) -> (Value, Option<JsonError>) {
    decode::decode(text)
}

/// How `encoding/json` names a JSON value of an unexpected type.
pub fn kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

/// The Go type of a value that JSON is decoded to.
pub fn go_type(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "<nil>",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "float64",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "[]interface {}",
        serde_json::Value::Object(_) => "map[string]interface {}",
    }
}

/// Reads JSON into the tree that objects are made of, however deeply it is nested.
pub fn tree(text: &[u8]) -> Result<serde_json::Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let tree = serde_json::Value::deserialize(serde_stacker::Deserializer::new(&mut deserializer))?;
    deserializer.end()?;
    Ok(tree)
}

/// The text with `\u{fffd}` for every byte that is not part of a character.
pub fn replace_invalid(mut bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    loop {
        match std::str::from_utf8(bytes) {
            Ok(rest) => {
                text.push_str(rest);
                return text;
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push(char::REPLACEMENT_CHARACTER);
                bytes = rest.get(1..).unwrap_or_default();
            }
        }
    }
}
