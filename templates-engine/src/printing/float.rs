//! Floats as `strconv.FormatFloat` writes them.

use crate::json::shortest_digits;

/// Shortest digits that read back as the same number, in `%g` form: an exponent below 1e-4 and
/// from 1e6 on (where more than six digits do not say otherwise), as `%v` prints them.
pub fn shortest(float: f64) -> String {
    format(float, 'g', None)
}

/// `strconv.FormatFloat`; no precision means the fewest digits that read back the same.
pub(super) fn format(float: f64, verb: char, precision: Option<usize>) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let sign = if float.is_sign_negative() { "-" } else { "" };
    let magnitude = float.abs();
    let text = match verb {
        'e' | 'E' => exponential(magnitude, precision),
        'f' | 'F' => match precision {
            Some(precision) => format!("{magnitude:.precision$}"),
            None => format!("{magnitude}"),
        },
        'b' => binary(magnitude),
        'x' | 'X' => hexadecimal(magnitude, precision),
        _ => general(magnitude, precision),
    };
    let text = format!("{sign}{text}");
    if verb.is_ascii_uppercase() && verb != 'F' {
        text.to_ascii_uppercase()
    } else {
        text
    }
}

fn exponential(magnitude: f64, precision: Option<usize>) -> String {
    let Some(precision) = precision else {
        let (digits, exponent) = shortest_digits(magnitude);
        return join_exponent(&with_first_point(&digits), exponent);
    };
    let text = format!("{magnitude:.precision$e}");
    let (mantissa, exponent) = split_exponent(&text);
    join_exponent(mantissa, exponent)
}

/// Digits with a point behind the first.
fn with_first_point(digits: &str) -> String {
    match digits.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}.{rest}"),
        _ => digits.to_owned(),
    }
}

fn split_exponent(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn join_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(magnitude: f64, precision: Option<usize>) -> String {
    let (digits, exponent) = match precision {
        None => shortest_digits(magnitude),
        Some(precision) => {
            let text = format!("{magnitude:.*e}", precision.max(1) - 1);
            let (mantissa, exponent) = split_exponent(&text);
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            (digits, exponent)
        }
    };
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let point = exponent + 1;
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // From this exponent on there is one. Go decides as if the precision of the fewest digits
    // were six.
    let limit = match precision.map(|precision| i32::try_from(precision.max(1))) {
        None => 6,
        Some(Ok(precision)) if precision <= count || count < point => precision,
        Some(_) => count,
    };
    if exponent < -4 || exponent >= limit {
        return join_exponent(&with_first_point(digits), exponent);
    }
    plain(digits, point)
}

/// Digits with the decimal point behind so many of them.
fn plain(digits: &str, point: i32) -> String {
    let Ok(point) = usize::try_from(point) else {
        let zeros = "0".repeat(point.unsigned_abs() as usize);
        return format!("0.{zeros}{digits}");
    };
    if point == 0 {
        return format!("0.{digits}");
    }
    match digits.split_at_checked(point) {
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits}{}", "0".repeat(point - digits.len())),
    }
}

const MANTISSA_BITS: u32 = 52;
const BIAS: i32 = 1023;

/// The mantissa as a whole number, and the power of two that it is multiplied with.
fn decompose(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    let exponent = i32::try_from((bits >> MANTISSA_BITS) & 0x7ff).unwrap_or(0);
    if exponent == 0 {
        (fraction, 1 - BIAS)
    } else {
        (fraction | (1 << MANTISSA_BITS), exponent - BIAS)
    }
}

fn binary(magnitude: f64) -> String {
    let (mantissa, exponent) = decompose(magnitude);
    format!("{mantissa}p{:+}", exponent - 52)
}

fn hexadecimal(magnitude: f64, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = decompose(magnitude);
    if mantissa == 0 {
        exponent = 0;
    }
    // One bit before the point, sixty behind it.
    mantissa <<= 60 - MANTISSA_BITS;
    while mantissa != 0 && mantissa & (1 << 60) == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let shift = u32::try_from(precision).unwrap_or(15) * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let whole = mantissa >> 60;
    let fraction = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(precision) => {
            let mut digits = fraction;
            while digits.len() < precision {
                digits.push('0');
            }
            digits.truncate(precision);
            digits
        }
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "0x{whole}{point}{fraction}p{sign}{:02}",
        exponent.unsigned_abs()
    )
}
