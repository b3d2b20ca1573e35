//! How Go prints a value (`fmt.Sprint`), which is what decides whether two scalars are "the same".

use serde_json::{Number, Value};

/// The text Go prints for a decoded JSON value: `<nil>`, `map[a:1 b:2]`, `[x y]`, `1e+06`.
///
/// Map keys are sorted, strings are verbatim.
pub fn sprint(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// Whether the two values would be the same to a reader of [`sprint`], without its collisions:
/// containers are compared item by item, only scalars by their text (so `1` equals `"1"`).
pub fn same_text(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_text(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same_text(a, b)))
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
        (a, b) => sprint(a) == sprint(b),
    }
}

/// The Go type a decoded JSON value has, as error messages name it.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&print_number(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(' ');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            let mut keys: Vec<_> = entries.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            out.push_str("map[");
            for (position, (key, item)) in keys.into_iter().enumerate() {
                if position > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_value(out, item);
            }
            out.push(']');
        }
    }
}

/// A JSON number as Go's `%v` prints it: integers that fit 64 signed bits in full, all others as
/// floating point.
fn print_number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => print_float(float),
        (None, None) => number.to_string(),
    }
}

/// The shortest digits that read back as the same number, laid out as Go's `%v` and `%g` do: with an
/// exponent of at least two digits below 1e-4 and from 1e6 on.
pub fn print_float(float: f64) -> String {
    let Some((digits, exponent)) = shortest_digits(float.abs()) else {
        return float.to_string();
    };
    let sign = if float.is_sign_negative() { "-" } else { "" };
    if (-4..6).contains(&exponent) {
        return format!("{sign}{}", plain(&digits, exponent));
    }
    let (first, rest) = digits.split_at(digits.len().min(1));
    let point = if rest.is_empty() { "" } else { "." };
    let direction = if exponent < 0 { '-' } else { '+' };
    format!(
        "{sign}{first}{point}{rest}e{direction}{:02}",
        exponent.unsigned_abs()
    )
}

/// The significant digits and the power of ten of the first one. Of two equally short texts `serde_json`, like
/// Go, prints the one with the even last digit; the standard library's `{:e}` may print the other.
fn shortest_digits(float: f64) -> Option<(String, i32)> {
    let text = Number::from_f64(float)?.to_string();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let leading_zeros = all.bytes().take_while(|byte| *byte == b'0').count();
    let digits = all.trim_matches('0');
    if digits.is_empty() {
        return Some(("0".to_owned(), 0));
    }
    let first = i32::try_from(whole.len()).ok()? - 1 - i32::try_from(leading_zeros).ok()?;
    Some((digits.to_owned(), first.saturating_add(exponent)))
}

fn plain(digits: &str, exponent: i32) -> String {
    let Ok(whole_digits) = usize::try_from(exponent.saturating_add(1)) else {
        let zeros = "0".repeat((exponent.unsigned_abs() as usize).saturating_sub(1));
        return format!("0.{zeros}{digits}");
    };
    match digits.split_at_checked(whole_digits) {
        Some(("", fraction)) => format!("0.{fraction}"),
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!(
            "{digits}{}",
            "0".repeat(whole_digits.saturating_sub(digits.len()))
        ),
    }
}
