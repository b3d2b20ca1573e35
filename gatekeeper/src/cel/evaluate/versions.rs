//! Versions that are read leniently: `semver(text, true)`.

use super::foreign;
use crate::cel::error::Evaluated;
use crate::cel::value::Value;

/// The numbers of a version.
const NUMBERS: usize = 3;

/// Calls the function if it is one of versions.
pub fn call<'a>(name: &str, all: &[&Value<'a>]) -> Option<Evaluated<'a>> {
    match (name, all) {
        ("semver" | "isSemver", [text @ Value::String(_), Value::Bool(false)]) => {
            Some(foreign::call(name, None, &[text]))
        }
        ("semver" | "isSemver", [Value::String(text), Value::Bool(true)]) => {
            let normal = Value::text(normalized(text.as_str()));
            Some(foreign::call(name, None, &[&normal]))
        }
        _ => None,
    }
}

/// Without `v` and leading zeros, and with all numbers.
fn normalized(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let mut numbers: Vec<&str> = numbers
        .split('.')
        .map(|number| {
            let trimmed = number.trim_start_matches('0');
            let is_zero = trimmed.is_empty() && !number.is_empty();
            if is_zero { "0" } else { trimmed }
        })
        .collect();
    while numbers.len() < NUMBERS {
        numbers.push("0");
    }
    format!("{}{rest}", numbers.join("."))
}
