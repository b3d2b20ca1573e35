//! Numbers and booleans as Go's `strconv` reads them.

use std::borrow::Cow;

/// `strconv.ParseBool`; `None` for any other text.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// `strconv.ParseInt(text, base, 64)` for base 0 (by prefix, with underscores) and base 2 to 16.
pub fn parse_int(text: &str, base: u32) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let magnitude = parse_uint(digits, base)?;
    if negative {
        return 0_i64.checked_sub_unsigned(magnitude);
    }
    i64::try_from(magnitude).ok()
}

/// What `strconv.Atoi` answers beside its error: the nearest number where there are too many digits, else zero.
pub fn nearest_int(text: &str) -> i64 {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let mut magnitude = 0_u64;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return 0;
        }
        let next = magnitude.checked_mul(10);
        let next = next.and_then(|next| next.checked_add((byte - b'0').into()));
        // Go does not check what follows, digits or not.
        let Some(next) = next else {
            magnitude = u64::MAX;
            break;
        };
        magnitude = next;
    }
    if negative {
        0_i64.saturating_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).unwrap_or(i64::MAX)
    }
}

/// `strconv.ParseUint(text, base, 64)`, likewise.
pub fn parse_uint(text: &str, base: u32) -> Option<u64> {
    let mut plain = Cow::Borrowed(text);
    if base == 0 && text.contains('_') {
        if !underscores_fit(text) {
            return None;
        }
        plain = Cow::Owned(text.replace('_', ""));
    }
    let (base, digits) = match (base, plain.as_bytes()) {
        (0, [b'0', b'x' | b'X', ..]) => (16, plain.get(2..)?),
        (0, [b'0', b'o' | b'O', ..]) => (8, plain.get(2..)?),
        (0, [b'0', b'b' | b'B', ..]) => (2, plain.get(2..)?),
        (0, [b'0', _, ..]) => (8, plain.get(1..)?),
        (0, _) => (10, &*plain),
        (base, _) => (base, &*plain),
    };
    if digits.starts_with('+') {
        return None; // which Rust would allow
    }
    u64::from_str_radix(digits, base).ok()
}

/// Go's rule for underscores in numbers: only between digits, a base prefix counting as one.
fn underscores_fit(digits: &str) -> bool {
    if !digits.contains('_') {
        return true;
    }
    let lower = digits.to_ascii_lowercase();
    let is_hex = lower.starts_with("0x");
    let prefixed = is_hex || lower.starts_with("0b") || lower.starts_with("0o");
    let body = if prefixed {
        lower.get(2..).unwrap_or_default()
    } else {
        &lower
    };
    let mut last = if prefixed { '0' } else { '^' };
    for character in body.chars() {
        if character.is_ascii_digit() || is_hex && character.is_ascii_hexdigit() {
            last = '0';
        } else if character == '_' {
            if last != '0' {
                return false;
            }
            last = '_';
        } else {
            if last == '_' {
                return false;
            }
            last = '!';
        }
    }
    last != '_'
}

/// `strconv.ParseFloat(text, 64)`; `None` for bad syntax and for what is out of range.
pub fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let lower = unsigned.to_ascii_lowercase();
    match lower.as_str() {
        "inf" | "infinity" => return Some(sign * f64::INFINITY),
        "nan" => return Some(f64::NAN),
        _ => {}
    }
    if lower.starts_with("0x") {
        return parse_hex_float(&lower).map(|magnitude| sign * magnitude);
    }
    // Underscores need a base prefix here.
    if !lower.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    if !underscores_fit(&lower) {
        return None;
    }
    let plain: String = lower
        .chars()
        .filter(|character| *character != '_')
        .collect();
    if !plain
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-'))
    {
        return None;
    }
    let magnitude: f64 = plain.parse().ok()?;
    magnitude.is_finite().then_some(sign * magnitude)
}

/// `0x` mantissa `p` exponent, rounded to the nearest, ties to even.
fn parse_hex_float(lower: &str) -> Option<f64> {
    if !underscores_fit(lower) {
        return None;
    }
    let plain: String = lower
        .chars()
        .filter(|character| *character != '_')
        .collect();
    let (mantissa, exponent) = plain.strip_prefix("0x")?.split_once('p')?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse::<i32>().unwrap_or(100_000).min(100_000);
    let mut exponent = if exponent.starts_with('-') {
        -size
    } else {
        size
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut bits: u64 = 0;
    let mut lost = false;
    for (position, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        if bits >> 59 == 0 {
            bits = bits << 4 | digit;
            if position >= whole.len() {
                exponent = exponent.saturating_sub(4);
            }
        } else {
            lost |= digit != 0;
            if position < whole.len() {
                exponent = exponent.saturating_add(4);
            }
        }
    }
    // Far below half a unit in the last place, so that it only breaks ties.
    let magnitude = scaled(bits | u64::from(lost), exponent);
    magnitude.is_finite().then_some(magnitude)
}

/// `bits * 2^exponent`, rounded once, to the nearest, ties to even.
fn scaled(bits: u64, exponent: i32) -> f64 {
    if bits == 0 {
        return 0.0;
    }
    let length = i32::try_from(64 - bits.leading_zeros()).unwrap_or(64);
    // The place of the last bit that the result can hold.
    let last_place = (length + exponent - 53).max(-1074);
    let drop = last_place - exponent;
    let kept = if drop <= 0 {
        bits
    } else if drop > 64 {
        0
    } else {
        let half = 1_u128 << (drop - 1);
        let wide = u128::from(bits);
        let remainder = wide & ((half << 1) - 1);
        let floor = wide >> drop;
        let up = remainder > half || remainder == half && floor & 1 == 1;
        u64::try_from(floor + u128::from(up)).unwrap_or(u64::MAX)
    };
    let place = if drop <= 0 { exponent } else { last_place };
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    ldexp(kept as f64, place)
}

/// `math.Ldexp`: `number * 2^exponent`. Exact unless the result is subnormal.
pub fn ldexp(number: f64, exponent: i32) -> f64 {
    let mut result = number;
    let mut left = exponent.clamp(-4200, 4200);
    while left != 0 && result != 0.0 && result.is_finite() {
        // Down in one last step, so that rounding happens once.
        let step = left.clamp(-900, 900);
        result *= 2_f64.powi(step);
        left -= step;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_parsed_as_in_go() {
        for text in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(parse_bool(text), Some(true));
        }
        for text in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(parse_bool(text), Some(false));
        }
        assert_eq!(parse_bool("yes"), None);
    }
}
