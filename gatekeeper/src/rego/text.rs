//! The text of a value as Open Policy Agent prints terms.

use std::cmp::Ordering;
use std::fmt::Write;

use reeve_go_compat::runes;
use regorus::Value;

/// The text of a term: strings quoted, sets in braces, `set()` where one is empty.
pub fn of_term(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Undefined => {}
        Value::Null => out.push_str("null"),
        Value::Bool(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Number(_) => out.push_str(&of_number(value)),
        Value::String(text) => out.push_str(&runes::quote(text.as_bytes())),
        Value::Array(list) => {
            out.push('[');
            join(list.iter(), out);
            out.push(']');
        }
        Value::Set(set) if set.is_empty() => out.push_str("set()"),
        Value::Set(set) => {
            out.push('{');
            let mut members: Vec<&Value> = set.iter_sorted().collect();
            members.sort_by(|one, other| compare(one, other));
            join(members.into_iter(), out);
            out.push('}');
        }
        Value::Object(object) => {
            out.push('{');
            let mut members: Vec<(&Value, &Value)> = object.iter_sorted().collect();
            members.sort_by(|(one, _), (other, _)| compare(one, other));
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(key, out);
                out.push_str(": ");
                write(member, out);
            }
            out.push('}');
        }
    }
}

/// The order of Open Policy Agent, which has objects before sets where the engine has them behind.
pub fn compare(one: &Value, other: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Undefined | Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
        Value::Set(_) => 6,
    };
    rank(one).cmp(&rank(other)).then_with(|| one.cmp(other))
}

fn join<'a>(values: impl Iterator<Item = &'a Value>, out: &mut String) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(value, out);
    }
}

/// Whether a number is none that is written as a whole one: `1.0` and `1e3` are floats, as they are for Go.
pub fn is_float(value: &Value) -> bool {
    // The type of numbers is not public, but that of a known one can be compared.
    match (value, &Value::from(0.5)) {
        (Value::Number(one), Value::Number(float)) => {
            std::mem::discriminant(one) == std::mem::discriminant(float)
        }
        _ => false,
    }
}

/// The text of a number; empty for anything else.
pub fn of_number(value: &Value) -> String {
    let Value::Number(number) = value else {
        return String::new();
    };
    let float = number.as_f64().filter(|_| is_float(value));
    float.map_or_else(|| number.format_decimal(), of_float)
}

/// The library keeps the text of a number. That of a float is lost here: it is taken for the one of an input or a result, but for
/// small whole numbers, which only sources and documents write as floats.
fn of_float(float: f64) -> String {
    let text = reeve_go_compat::printing::shortest_float(float);
    if text == "-0" || text.contains(['e', '.']) {
        text
    } else {
        format!("{text}.0")
    }
}

/// The number of a text that has this value: whole only when it is written so.
pub fn number_of(text: &str, float: f64) -> Value {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_negative_zero = float == 0.0 && float.is_sign_negative();
    if is_negative_zero || digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Value::from(float);
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    // Reading zeros takes as much time as other digits, and there may be many.
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    Value::from_numeric_string(&format!("{sign}{digits}")).unwrap_or(Value::Undefined)
}

/// The Go type that holds a value's content.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Undefined | Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "json.Number",
        Value::String(_) => "string",
        Value::Array(_) | Value::Set(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
