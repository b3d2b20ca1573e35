//! Conversions between types.

use std::sync::Arc;

use kube_cel::cel::Value as Foreign;
use reeve_go_compat::printing::shortest_float;
use reeve_go_compat::strconv::{parse_bool, parse_float, parse_int, parse_uint};

use crate::cel::error::{EvalError, Evaluated};
use crate::cel::messages;
use crate::cel::value::Value;

/// Calls the function if it is a conversion that needs no library.
pub fn call<'a>(name: &str, all: &[&Value<'a>]) -> Option<Evaluated<'a>> {
    let [value] = all else {
        return None;
    };
    let result = match (name, value) {
        ("bool", Value::Bool(_))
        | ("bytes", Value::Bytes(_))
        | ("double", Value::Double(_))
        | ("int", Value::Int(_))
        | ("uint", Value::UInt(_))
        | ("string", Value::String(_))
        | ("duration", Value::Foreign(Foreign::Duration(_)))
        | ("timestamp", Value::Foreign(Foreign::Timestamp(_))) => Ok((*value).clone()),
        ("bool", Value::String(text)) => boolean(text.as_str()),
        ("bytes", Value::String(text)) => {
            Ok(Value::Bytes(Arc::new(text.as_str().as_bytes().to_vec())))
        }
        ("double", _) => double(value),
        ("int", _) => integer(value),
        ("uint", _) => unsigned(value),
        ("string", _) => return string(value),
        ("bool" | "bytes", _) => Err(no_overload(name, value)),
        _ => return None,
    };
    Some(result)
}

fn no_overload(name: &str, value: &Value<'_>) -> EvalError {
    EvalError::no_overload_for(name, &[value])
}

fn boolean<'a>(text: &str) -> Evaluated<'a> {
    let read = parse_bool(text).map(Value::Bool);
    read.ok_or_else(|| EvalError::conversion("string", "bool"))
}

#[expect(clippy::cast_precision_loss, reason = "as Go converts")]
fn double<'a>(value: &Value<'a>) -> Evaluated<'a> {
    match value {
        Value::Int(value) => Ok(Value::Double(*value as f64)),
        Value::UInt(value) => Ok(Value::Double(*value as f64)),
        Value::String(text) => parse_float(text.as_str())
            .map(Value::Double)
            .ok_or_else(|| EvalError::conversion("string", "double")),
        other => Err(no_overload("double", other)),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn integer<'a>(value: &Value<'a>) -> Evaluated<'a> {
    let overflow = || EvalError::new("integer overflow");
    match value {
        Value::UInt(value) => i64::try_from(*value)
            .map(Value::Int)
            .map_err(|_| overflow()),
        Value::Double(value) => {
            let is_in_range =
                *value > -9_223_372_036_854_775_808.0 && *value < 9_223_372_036_854_775_808.0;
            if !is_in_range {
                return Err(overflow());
            }
            Ok(Value::Int(*value as i64))
        }
        Value::String(text) => parse_int(text.as_str(), 10)
            .map(Value::Int)
            .ok_or_else(|| EvalError::conversion("string", "int")),
        Value::Foreign(Foreign::Timestamp(time)) => Ok(Value::Int(time.timestamp())),
        other => Err(no_overload("int", other)),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn unsigned<'a>(value: &Value<'a>) -> Evaluated<'a> {
    let overflow = || EvalError::new("unsigned integer overflow");
    match value {
        Value::Int(value) => u64::try_from(*value)
            .map(Value::UInt)
            .map_err(|_| overflow()),
        Value::Double(value) => {
            let is_in_range = *value >= 0.0 && *value < 18_446_744_073_709_551_616.0;
            if !is_in_range {
                return Err(overflow());
            }
            Ok(Value::UInt(*value as u64))
        }
        Value::String(text) => parse_uint(text.as_str(), 10)
            .map(Value::UInt)
            .ok_or_else(|| EvalError::conversion("string", "uint")),
        other => Err(no_overload("uint", other)),
    }
}

fn string<'a>(value: &Value<'a>) -> Option<Evaluated<'a>> {
    let text = match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Double(value) => shortest_float(*value),
        Value::Bytes(bytes) => {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return Some(Err(EvalError::new(messages::INVALID_UTF8)));
            };
            text.to_owned()
        }
        Value::Foreign(value) => return time_text(value).map(|text| Ok(Value::text(text))),
        other => return Some(Err(no_overload("string", other))),
    };
    Some(Ok(Value::text(text)))
}

/// The text of a time or a duration.
pub fn time_text(value: &Foreign) -> Option<String> {
    match value {
        Foreign::Duration(duration) => {
            let nanos = duration.num_nanoseconds()?;
            let sign = if nanos < 0 { "-" } else { "" };
            let nanos = nanos.unsigned_abs();
            let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
            let rest = format!("{rest:09}");
            let rest = rest.trim_end_matches('0');
            let point = if rest.is_empty() { "" } else { "." };
            Some(format!("{sign}{seconds}{point}{rest}s"))
        }
        Foreign::Timestamp(time) => {
            let text = time.to_rfc3339();
            Some(match text.strip_suffix("+00:00") {
                Some(text) => format!("{text}Z"),
                None => text,
            })
        }
        _ => None,
    }
}
