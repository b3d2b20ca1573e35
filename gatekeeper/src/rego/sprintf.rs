//! `sprintf` with Go's format.

use reeve_go_compat::printing;
use reeve_go_compat::value::Value as GoValue;
use regorus::Value;

use super::text;

/// The text of a format and its operands; none when it is longer than `limit`.
pub fn sprintf(format: &str, operands: &[Value], limit: usize) -> Option<String> {
    let format = with_whole_numbers_as_texts(format, operands);
    let operands: Vec<GoValue> = operands.iter().map(operand).collect();
    let bytes = printing::sprintf(format.as_bytes(), &operands, limit)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// An operand as Open Policy Agent gives it to Go: numbers and texts as they are, anything else as its text.
fn operand(value: &Value) -> GoValue {
    match value {
        Value::Number(number) => {
            if let Some(whole) = number.as_i64().filter(|_| number.is_integer()) {
                GoValue::Int(whole)
            } else if number.is_integer() {
                GoValue::str(text::of_number(value))
            } else {
                GoValue::Float(number.as_f64().unwrap_or_default())
            }
        }
        Value::String(text) => GoValue::str(text.to_string()),
        other => GoValue::str(text::of_term(other)),
    }
}

/// Whole numbers beyond 64 bits are given as texts: their `%d` becomes `%s`, which prints the same.
fn with_whole_numbers_as_texts(format: &str, operands: &[Value]) -> String {
    let is_big = |value: &Value| matches!(value, Value::Number(number) if number.is_integer() && number.as_i64().is_none());
    if !operands.iter().any(is_big) {
        return format.to_owned();
    }
    let mut out = String::with_capacity(format.len());
    let mut operands = operands.iter();
    let mut is_directive = false;
    for rune in format.chars() {
        let verb = match rune {
            '%' if !is_directive => {
                is_directive = true;
                rune
            }
            '%' => {
                is_directive = false;
                rune
            }
            _ if is_directive && rune.is_ascii_alphabetic() => {
                is_directive = false;
                let operand = operands.next();
                if operand.is_some_and(is_big) && matches!(rune, 'd' | 'v') {
                    's'
                } else {
                    rune
                }
            }
            _ => rune,
        };
        out.push(verb);
    }
    out
}
