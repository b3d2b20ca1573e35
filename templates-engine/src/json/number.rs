//! Numbers as text.

/// The sign of a finite number, the shortest digits that mean it, and the decimal exponent of the
/// first of them.
///
/// The digits are those of `serde_json`. Where two are equally near, they are even, as with Go; the
/// standard library's need not be.
fn shortest(decimal: &str) -> (bool, String, i32) {
    let negative = decimal.starts_with('-');
    let unsigned = decimal.trim_start_matches('-');
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let leading_zeros = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0');
    if digits.is_empty() {
        return (negative, "0".to_owned(), 0);
    }
    let position = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    let exponent =
        exponent.parse::<i32>().unwrap_or(0) + position(whole.len()) - position(leading_zeros) - 1;
    (negative, digits.to_owned(), exponent)
}

/// The shortest digits that mean this finite number, and the decimal exponent of the first.
pub fn shortest_digits(value: f64) -> (String, i32) {
    serde_json::Number::from_f64(value.abs()).map_or_else(
        || ("0".to_owned(), 0),
        |number| {
            let (_, digits, exponent) = shortest(&number.to_string());
            (digits, exponent)
        },
    )
}

fn with_exponent(digits: &str, exponent: i32, least_digits: usize) -> String {
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    let exponent = exponent.unsigned_abs();
    format!("{first}{point}{rest}e{sign}{exponent:0least_digits$}")
}

fn without_exponent(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(usize::try_from(-(exponent + 1)).unwrap_or(0));
        return format!("0.{zeros}{digits}");
    };
    match digits.split_at_checked(whole) {
        Some(("", fraction)) => format!("0.{fraction}"),
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits:0<whole$}"),
    }
}

fn signed(negative: bool, text: &str) -> String {
    format!("{}{text}", if negative { "-" } else { "" })
}

/// Go's `strconv.FormatFloat(x, 'g', -1, …)` of a finite number.
fn general(decimal: &str) -> String {
    let (negative, digits, exponent) = shortest(decimal);
    // Go decides as if the precision were 6, however many digits there are.
    let text = if (-4..GENERAL_LIMIT).contains(&exponent) {
        without_exponent(&digits, exponent)
    } else {
        with_exponent(&digits, exponent, 2)
    };
    signed(negative, &text)
}

fn non_finite(is_nan: bool, is_negative: bool) -> String {
    match (is_nan, is_negative) {
        (true, _) => "NaN",
        (false, true) => "-Inf",
        (false, false) => "+Inf",
    }
    .to_owned()
}

/// From this exponent on the general form has one.
const GENERAL_LIMIT: i32 = 6;

/// The general form of a `float64`: `1.5`, `1e+06`, `+Inf`.
pub fn general_float(value: f64) -> String {
    match serde_json::Number::from_f64(value) {
        Some(number) => general(&number.to_string()),
        None => non_finite(value.is_nan(), value < 0.0),
    }
}

/// The general form of a `float32`.
pub fn general_float_single(value: f32) -> String {
    match serde_json::to_string(&value) {
        Ok(decimal) if value.is_finite() => general(&decimal),
        _ => non_finite(value.is_nan(), value < 0.0),
    }
}

/// A finite number as JSON has it: with an exponent only below 1e-6 and from 1e21 on.
pub fn json_float(value: f64) -> String {
    let Some(number) = serde_json::Number::from_f64(value) else {
        return non_finite(value.is_nan(), value < 0.0);
    };
    let (negative, digits, exponent) = shortest(&number.to_string());
    let magnitude = value.abs();
    let text = if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        with_exponent(&digits, exponent, 1)
    } else {
        without_exponent(&digits, exponent)
    };
    signed(negative, &text)
}
