//! Values to numbers, by the rules of github.com/spf13/cast v1.10: what cannot be cast is zero.

use reeve_go_compat::strconv::{parse_float, parse_int};
use reeve_go_compat::value::Value;

/// `cast.ToInt64`, and `cast.ToInt` on 64-bit machines.
pub fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(number) | Value::Int64(number) => *number,
        Value::Uint8(number) => i64::from(*number),
        Value::Uint64(number) => number.cast_signed(),
        Value::Float(number) => truncated(*number),
        Value::Bool(flag) => i64::from(*flag),
        Value::Str(text) => text.as_utf8().and_then(int_from_text).unwrap_or(0),
        Value::Native(native) => native.integer().unwrap_or(0),
        _ => 0,
    }
}

/// `cast.ToFloat64`.
pub fn to_float(value: &Value) -> f64 {
    #[allow(clippy::cast_precision_loss)] // as Go's conversion loses it
    match value {
        Value::Int(number) | Value::Int64(number) => *number as f64,
        Value::Uint8(number) => f64::from(*number),
        Value::Uint64(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::Str(text) => text.as_utf8().and_then(parse_float).unwrap_or(0.0),
        Value::Native(native) => native.integer().unwrap_or(0) as f64,
        _ => 0.0,
    }
}

/// Go's conversion of a float to an integer as amd64 does it: out of range is the least integer.
pub fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) {
        #[allow(clippy::cast_possible_truncation)] // in range
        return number as i64;
    }
    i64::MIN
}

fn int_from_text(text: &str) -> Option<i64> {
    parse_int(&without_fraction(text), 0)
}

/// The integer part of a plain decimal number with a point; any other text as it is.
fn without_fraction(text: &str) -> String {
    let Some((whole, fraction)) = text.split_once('.') else {
        return text.to_owned();
    };
    let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(digits) || !plain(fraction) {
        return text.to_owned();
    }
    if digits.is_empty() {
        return format!("{whole}0");
    }
    whole.to_owned()
}
