//! Quantities of resources as numbers, with the same last bits that the upstream scheduler gets.

use serde_json::Value;

/// A quantity such as `500m` or `2Gi` as a number; `None` if it is none.
pub(super) fn number(quantity: &Value) -> Option<f64> {
    match quantity {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<f64> {
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-');
    let end = text
        .bytes()
        .position(|byte| !is_number(byte))
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at_checked(end)?;
    let (mantissa, scale) = decimal(digits)?;
    let (binary, decimal): (u32, i32) = match suffix {
        "" => (0, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (1, 0),
        "Mi" => (2, 0),
        "Gi" => (3, 0),
        "Ti" => (4, 0),
        "Pi" => (5, 0),
        "Ei" => (6, 0),
        other => {
            let exponent = other.strip_prefix(['e', 'E'])?;
            (0, exponent.parse().ok()?)
        }
    };
    let mantissa = mantissa.checked_mul(1024_i128.checked_pow(binary)?)?;
    // Sums of money are not at stake: the scores are whole numbers from -100 to 100.
    #[allow(clippy::cast_precision_loss)]
    let base = mantissa as f64;
    let exponent = decimal.checked_sub(scale)?;
    Some(if exponent == 0 {
        base
    } else {
        base * 10_f64.powi(exponent)
    })
}

/// A decimal number as digits and how many of them are behind the point.
fn decimal(text: &str) -> Option<(i128, i32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.contains(['+', '-']) || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    Some((mantissa, i32::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("500m", Some(0.5))]
    #[case("2", Some(2.0))]
    #[case("1.5", Some(1.5))]
    #[case("-1", Some(-1.0))]
    #[case("1Ki", Some(1024.0))]
    #[case("1.5Gi", Some(1_610_612_736.0))]
    #[case("1e3", Some(1000.0))]
    #[case("2E", Some(2e18))]
    #[case("", None)]
    #[case("Gi", None)]
    #[case("1x", None)]
    #[case("1.-5", None)]
    fn quantities_are_numbers(#[case] text: &str, #[case] number: Option<f64>) {
        assert_eq!(parse(text), number);
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[-+.0-9]{0,50}[a-zA-Z0-9+-]{0,12}") {
            let _ = parse(&text);
        }
    }
}
