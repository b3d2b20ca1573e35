//! Floats as `strconv.FormatFloat` writes them.

/// The standard library panics over more places than fit 16 bits. No float has as many that are
/// not zero: the smallest one has 1074.
const MOST_PLACES: usize = 1_100;

/// Shortest digits that read back as the same number, in `%g` form: an exponent below 1e-4 and
/// from 1e6 on (unless there are more digits), as `%v` prints them.
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
            Some(precision) => {
                let shown = precision.min(MOST_PLACES);
                let zeros = "0".repeat(precision - shown);
                format!("{magnitude:.shown$}{zeros}")
            }
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

/// `%g` of a `float32`.
pub fn shortest_single(float: f32) -> String {
    // The digits of a float of half the size, which those of the larger one would follow.
    let decimal = if float.is_finite() {
        serde_json::to_string(&float).ok()
    } else {
        None
    };
    let Some(decimal) = decimal else {
        return shortest(float.into());
    };
    let sign = if float.is_sign_negative() { "-" } else { "" };
    let (digits, exponent) = digits_of(&decimal);
    format!("{sign}{}", general_of(&digits, exponent, GENERAL_LIMIT))
}

/// The shortest digits that mean this finite number, its sign aside, and the decimal exponent of
/// the first of them.
///
/// They are those of `serde_json`. Where two are equally near, they are even, as with Go; the
/// standard library's need not be.
pub fn shortest_digits(float: f64) -> (String, i32) {
    let number = serde_json::Number::from_f64(float);
    number.map_or_else(
        || ("0".to_owned(), 0),
        |number| digits_of(&number.to_string()),
    )
}

/// The digits of a decimal number without zeros around them, and the exponent of the first.
fn digits_of(decimal: &str) -> (String, i32) {
    let unsigned = decimal.trim_start_matches('-');
    let (mantissa, exponent) = split_exponent(unsigned);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let leading_zeros = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0');
    if digits.is_empty() {
        return ("0".to_owned(), 0);
    }
    let position = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    let exponent = exponent + position(whole.len()) - position(leading_zeros) - 1;
    (digits.to_owned(), exponent)
}

/// From this exponent on the general form has one: Go decides as if the precision of the fewest
/// digits were six.
const GENERAL_LIMIT: i32 = 6;

fn exponential(magnitude: f64, precision: Option<usize>) -> String {
    let Some(precision) = precision else {
        let (digits, exponent) = shortest_digits(magnitude);
        return with_exponent(&digits, exponent, 2);
    };
    let shown = precision.min(MOST_PLACES);
    let text = format!("{magnitude:.shown$e}");
    let (mantissa, exponent) = split_exponent(&text);
    let zeros = "0".repeat(precision - shown);
    join_exponent(&format!("{mantissa}{zeros}"), exponent, 2)
}

/// Digits with a point behind the first, and an exponent of at least so many digits.
pub fn with_exponent(digits: &str, exponent: i32, least: usize) -> String {
    match digits.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => {
            join_exponent(&format!("{first}.{rest}"), exponent, least)
        }
        _ => join_exponent(digits, exponent, least),
    }
}

fn split_exponent(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn join_exponent(mantissa: &str, exponent: i32, least: usize) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:0least$}", exponent.unsigned_abs())
}

fn general(magnitude: f64, precision: Option<usize>) -> String {
    let (digits, exponent) = match precision {
        None => shortest_digits(magnitude),
        Some(precision) => {
            let text = format!("{magnitude:.*e}", precision.clamp(1, MOST_PLACES) - 1);
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
    let limit = match precision.map(|precision| i32::try_from(precision.max(1))) {
        None => GENERAL_LIMIT,
        Some(Ok(precision)) if precision <= count || count < point => precision,
        Some(_) => count,
    };
    general_of(digits, exponent, limit)
}

/// With an exponent below 1e-4 and from this one on.
fn general_of(digits: &str, exponent: i32, limit: i32) -> String {
    if exponent < -4 || exponent >= limit {
        with_exponent(digits, exponent, 2)
    } else {
        plain(digits, exponent + 1)
    }
}

/// Digits with the decimal point behind so many of them.
pub fn plain(digits: &str, point: i32) -> String {
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
