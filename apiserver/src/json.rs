//! JSON as deep as a kube-apiserver takes it. `serde_json` by itself refuses more than 128 levels.

use std::io;

use reeve_go_compat::json::json_float;
use serde::{Deserialize as _, Serialize as _};
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// The maximum depth of lists and objects in a document: that of Go's decoder.
pub(crate) const MOST_DEPTH: usize = 10_000;
/// So many levels are decoded without a stack that grows.
const SHALLOW: usize = 100;

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    /// It is nested deeper than [`MOST_DEPTH`]; this character begins the first level too many.
    #[error("invalid character '{0}' exceeded max depth")]
    TooDeep(char),
    /// It is not JSON.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
}

/// Parses a document that a client has sent.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    match depth(bytes) {
        Ok(depth) if depth <= SHALLOW => Ok(serde_json::from_slice(bytes)?),
        Ok(_) => Ok(deep(bytes)?),
        Err(opening) => Err(JsonError::TooDeep(opening)),
    }
}

/// Reads a document that this server has written, however deep it is: the managed fields of an object may be deeper
/// than what was sent.
pub(crate) fn parse_own(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    match depth(bytes) {
        Ok(depth) if depth <= SHALLOW => serde_json::from_slice(bytes),
        _ => deep(bytes),
    }
}

/// Whether a document has more levels than can be decoded without care.
pub(crate) fn is_deep(bytes: &[u8]) -> bool {
    depth(bytes).is_ok_and(|depth| depth > SHALLOW)
}

fn deep(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut decoder = serde_json::Deserializer::from_slice(bytes);
    decoder.disable_recursion_limit();
    let value = Value::deserialize(serde_stacker::Deserializer::new(&mut decoder))?;
    decoder.end()?;
    Ok(value)
}

/// The levels of a document, or what begins the first one too many. It may be no JSON at all.
fn depth(bytes: &[u8]) -> Result<usize, char> {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > MOST_DEPTH {
                    return Err(char::from(*byte));
                }
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(deepest)
}

/// What begins the first level too many of a value, if it has one. Does not recurse.
pub(crate) fn too_deep(value: &Value) -> Option<char> {
    let mut level = vec![value];
    for _ in 0..MOST_DEPTH {
        level = level.into_iter().flat_map(inner).collect();
        if level.is_empty() {
            return None;
        }
    }
    level.into_iter().find_map(|value| match value {
        Value::Object(_) => Some('{'),
        Value::Array(_) => Some('['),
        _ => None,
    })
}

/// An object as a kube-apiserver writes it: fractions are those of Go's encoder, so that `10.0` becomes `10`.
pub(crate) fn write(object: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    let mut serializer = Serializer::with_formatter(&mut text, GoNumbers);
    // Into memory, of a value whose keys are texts: it cannot fail.
    let _ = object.serialize(&mut serializer);
    text
}

struct GoNumbers;

impl Formatter for GoNumbers {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // There is one zero: a negative one loses its sign on the way.
        let value = if value == 0.0 { 0.0 } else { value };
        writer.write_all(json_float(value).as_bytes())
    }
}

/// The lists and objects right inside a value.
fn inner(value: &Value) -> Vec<&Value> {
    let nested = |value: &&Value| value.is_object() || value.is_array();
    match value {
        Value::Object(fields) => fields.values().filter(nested).collect(),
        Value::Array(items) => items.iter().filter(nested).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let sent = br#"{"a":10.0,"b":[1.50,-0.0,1e2],"c":1e21,"d":1e-7,"e":7,"f":"1.0"}"#;
        let written = write(&parse(sent).unwrap());
        assert_eq!(
            String::from_utf8_lossy(&written),
            r#"{"a":10,"b":[1.5,0,100],"c":1e+21,"d":1e-7,"e":7,"f":"1.0"}"#
        );
    }

    #[test]
    fn document_of_ten_thousand_levels_is_read_and_deeper_one_refused() {
        crate::stack::large(|| {
            for depth in [1, 100, 101, 127, 128, 9_999, 10_000] {
                let value = parse(lists(depth).as_bytes()).unwrap();
                assert_eq!(value.to_string(), lists(depth));
                assert_eq!(too_deep(&value), None, "{depth}");
            }
        });
        for depth in [10_001, 1_000_000] {
            let refused = parse(lists(depth).as_bytes()).unwrap_err();
            let text = refused.to_string();
            assert_eq!(text, "invalid character '[' exceeded max depth");
        }
        crate::stack::large(|| {
            let value = parse_own(lists(10_001).as_bytes()).unwrap();
            assert_eq!(too_deep(&value), Some('['));
        });
    }

    #[test]
    fn brackets_in_strings_do_not_count_as_depth() {
        let text = format!(r#"{{"a\"{}": "\\"}}"#, "[".repeat(20_000));
        assert!(!is_deep(text.as_bytes()));
        parse(text.as_bytes()).unwrap();
    }
}
