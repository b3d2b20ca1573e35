//! `format`: texts of values by clauses as `%s` and `%.2f`.

use std::fmt::Write as _;

use kube_cel::cel::Value as Foreign;
use reeve_go_compat::printing::shortest_float;

use super::conversions::time_text;
use super::strings::quote;
use crate::cel::error::{EvalError, Evaluated};
use crate::cel::messages;
use crate::cel::messages::clause_name;
use crate::cel::value::{List, Value};

/// The places of `%f` and `%e` unless the clause has some.
const PLACES: usize = 6;
/// The most places that a clause may ask for.
const MOST_PLACES: usize = 1_000;
/// The most that one call may make, in bytes.
const LARGEST: usize = 8 * 1024 * 1024;

pub fn format<'a>(all: &[&Value<'a>]) -> Evaluated<'a> {
    let [Value::String(template), Value::List(arguments)] = all else {
        return Err(EvalError::no_overload());
    };
    let mut text = String::new();
    let mut next = 0;
    let mut characters = template.as_str().chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        if characters.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let mut places = None;
        if characters.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = characters.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let given = digits.parse().unwrap_or(0_usize);
            if given > MOST_PLACES {
                return Err(EvalError::cost_exceeded());
            }
            places = Some(given);
        }
        let Some(verb) = characters.next() else {
            return Err(EvalError::new(messages::UNEXPECTED_END));
        };
        text.push_str(&clause(verb, places, arguments, next)?);
        next += 1;
        if text.len() > LARGEST {
            return Err(EvalError::cost_exceeded());
        }
    }
    Ok(Value::text(text))
}

fn clause(
    verb: char,
    places: Option<usize>,
    arguments: &List<'_>,
    index: usize,
) -> Result<String, EvalError> {
    let Some(expected) = clause_name(verb) else {
        return Err(EvalError::new(messages::unknown_clause(verb)));
    };
    let Some(value) = arguments.get(index) else {
        return Err(EvalError::new(messages::no_argument(index)));
    };
    let formatted = match verb {
        's' => top_string(&value),
        'd' => decimal(&value),
        'f' => number(&value).map(|number| grouped(&fixed(number, places.unwrap_or(PLACES)))),
        // Kubernetes ignores the places of this one.
        'e' => number(&value).map(|number| scientific(number, PLACES)),
        'b' => binary(&value),
        'o' => octal(&value),
        _ => hexadecimal(&value, verb == 'X'),
    };
    formatted.ok_or_else(|| EvalError::new(messages::clause_mismatch(expected, value.type_name())))
}

fn top_string(value: &Value<'_>) -> Option<String> {
    match value {
        Value::String(text) => Some(text.as_str().to_owned()),
        Value::Double(number) => Some(shortest_float(*number)),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Foreign(value) => time_text(value),
        other => inner(other),
    }
}

/// The text of a value within a list or a map.
fn inner(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Double(number) => fixed(*number, PLACES),
        Value::String(text) => quote(text.as_str()),
        Value::Bytes(bytes) => format!("b{}", quote(&String::from_utf8_lossy(bytes))),
        Value::Type(name) => (*name).to_owned(),
        Value::List(list) => {
            let parts: Option<Vec<String>> = list.iter().map(|one| inner(&one)).collect();
            format!("[{}]", parts?.join(", "))
        }
        Value::Map(map) => {
            let entries: Option<Vec<String>> = map
                .entries()
                .iter()
                .map(|(key, value)| Some(format!("{}:{}", inner(key)?, inner(value)?)))
                .collect();
            let mut entries = entries?;
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Foreign(value @ Foreign::Duration(_)) => {
            format!("duration({})", quote(&time_text(value)?))
        }
        Value::Foreign(value @ Foreign::Timestamp(_)) => {
            format!("timestamp({})", quote(&time_text(value)?))
        }
        Value::Foreign(_) | Value::Optional(_) | Value::Format(_) => return None,
    })
}

/// The text of a key in an error.
pub fn plain(value: &Value<'_>) -> String {
    top_string(value).unwrap_or_else(|| value.type_name().to_owned())
}

fn decimal(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Int(value) => Some(value.to_string()),
        Value::UInt(value) => Some(value.to_string()),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "as Go converts")]
fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::Int(value) => Some(*value as f64),
        Value::UInt(value) => Some(*value as f64),
        _ => None,
    }
}

fn not_finite(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        })
    } else {
        None
    }
}

/// The shortest decimal digits of a number, with the place of the point.
fn digits(number: f64) -> (Vec<u8>, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|digit| digit - b'0');
    let exponent: i32 = exponent.parse().unwrap_or_default();
    (digits.collect(), exponent + 1)
}

/// Rounds the shortest digits, half to even, to as many.
fn rounded(digits: &[u8], keep: usize) -> (Vec<u8>, bool) {
    let mut kept: Vec<u8> = digits.iter().take(keep).copied().collect();
    let rest = digits.get(keep..).unwrap_or_default();
    let is_odd = kept.last().is_some_and(|last| last % 2 == 1);
    let rounds_up = match rest {
        [] => false,
        // Where no digit is left, it is rounded up.
        [5] => is_odd || kept.iter().all(|digit| *digit == 0),
        [first, ..] => *first >= 5,
    };
    if !rounds_up {
        return (kept, false);
    }
    for digit in kept.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return (kept, false);
        }
        *digit = 0;
    }
    kept.insert(0, 1);
    (kept, true)
}

fn fixed(number: f64, places: usize) -> String {
    if let Some(text) = not_finite(number) {
        return text.to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let (mut digits, mut point) = digits(number);
    if point <= 0 {
        let zeros = usize::try_from(1 - point).unwrap_or_default();
        digits.splice(0..0, std::iter::repeat_n(0, zeros));
        point = 1;
    }
    let mut whole = usize::try_from(point).unwrap_or(1);
    let (mut digits, has_carried) = rounded(&digits, whole + places);
    whole += usize::from(has_carried);
    digits.resize(whole + places, 0);
    let shown: String = digits
        .iter()
        .map(|digit| char::from(b'0' + digit))
        .collect();
    let (integer, fraction) = shown.split_at(whole);
    if places == 0 {
        return format!("{sign}{integer}");
    }
    format!("{sign}{integer}.{fraction}")
}

/// With a comma after thousands.
fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, whole) = match whole.strip_prefix('-') {
        Some(whole) => ("-", whole),
        None => ("", whole),
    };
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

fn scientific(number: f64, places: usize) -> String {
    if let Some(text) = not_finite(number) {
        return text.to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let (digits, point) = digits(number);
    let mut exponent = if number == 0.0 { 0 } else { point - 1 };
    let (mut digits, has_carried) = rounded(&digits, places + 1);
    exponent += i32::from(has_carried);
    digits.resize(places + 1, 0);
    let shown: String = digits
        .iter()
        .map(|digit| char::from(b'0' + digit))
        .collect();
    let (integer, fraction) = shown.split_at(1);
    let point = if places == 0 { "" } else { "." };
    let power: String = format!("{:02}", exponent.abs())
        .chars()
        .map(superscript)
        .collect();
    let minus = if exponent < 0 { "\u{207b}" } else { "" };
    format!("{sign}{integer}{point}{fraction}\u{d7}10{minus}{power}")
}

fn superscript(digit: char) -> char {
    match digit {
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        digit => u32::from(digit)
            .checked_sub(u32::from('0'))
            .and_then(|digit| char::from_u32(0x2070 + digit))
            .unwrap_or(digit),
    }
}

fn binary(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Int(value) => Some(signed(*value, |magnitude| format!("{magnitude:b}"))),
        Value::UInt(value) => Some(format!("{value:b}")),
        Value::Bool(value) => Some(if *value { "1" } else { "0" }.to_owned()),
        _ => None,
    }
}

fn octal(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Int(value) => Some(signed(*value, |magnitude| format!("{magnitude:o}"))),
        Value::UInt(value) => Some(format!("{value:o}")),
        _ => None,
    }
}

fn signed(value: i64, show: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", show(value.unsigned_abs()))
}

fn hexadecimal(value: &Value<'_>, is_upper: bool) -> Option<String> {
    let text = match value {
        Value::Int(value) => signed(*value, |magnitude| format!("{magnitude:x}")),
        Value::UInt(value) => format!("{value:x}"),
        Value::String(text) => bytes_in_hex(text.as_str().as_bytes()),
        Value::Bytes(value) => bytes_in_hex(value),
        _ => return None,
    };
    Some(if is_upper { text.to_uppercase() } else { text })
}

fn bytes_in_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
