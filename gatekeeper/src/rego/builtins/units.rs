//! `units.parse` and `units.parse_bytes`, whose exponents are limited here: the engine would make a number of any length.

use regorus::Value;
use regorus_bigint::BigInt;

use super::{charge, text};
use crate::rego::precise::Precise;

/// Numbers with larger exponents, or more digits, are undefined. Those with exponents of seven digits are in the library, too.
const MAX_EXPONENT: i64 = 5_000;
/// The places that a fraction is rounded to.
const PLACES: u32 = 10;

/// A decimal number: `digits * 10^power`.
struct Decimal {
    digits: BigInt,
    power: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = unsigned
            .split_once(['e', 'E'])
            .map_or((unsigned, "0"), |(mantissa, exponent)| (mantissa, exponent));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let exponent: i64 = exponent.parse().ok()?;
        let power = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let length = i64::try_from(digits.len()).ok()?;
        if !is_plain || power.abs() > MAX_EXPONENT || length > MAX_EXPONENT {
            return None;
        }
        let digits = BigInt::parse_bytes(digits.as_bytes(), 10)?;
        let digits = if text.starts_with('-') {
            -digits
        } else {
            digits
        };
        Some(Self { digits, power })
    }

    fn scale(&self) -> BigInt {
        let power = u32::try_from(self.power.unsigned_abs()).unwrap_or_default();
        BigInt::from(10).pow(power)
    }

    /// The whole number; none when there is a fraction.
    fn whole(&self) -> Option<BigInt> {
        let scale = self.scale();
        if self.power >= 0 {
            return Some(&self.digits * scale);
        }
        let whole = &self.digits / &scale;
        (&whole * scale == self.digits).then_some(whole)
    }

    /// The nearest float of the decimal with so many places, halves away from zero.
    fn rounded(&self) -> f64 {
        let ten = BigInt::from(10);
        let doubled = &self.digits * ten.pow(PLACES) * 2;
        let scale = self.scale();
        let quotient = if self.power >= 0 {
            doubled * scale
        } else {
            doubled / scale
        };
        let half = if self.digits < BigInt::ZERO { -1 } else { 1 };
        let units: BigInt = (quotient + half) / 2;
        format!("{units}e-{PLACES}").parse().unwrap_or_default()
    }
}

/// A number and its unit. An `e` before digits begins an exponent.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' | b'.' | b'+' | b'-' => at += 1,
            b'e' | b'E' => match bytes.get(at + 1) {
                Some(b'0'..=b'9' | b'+' | b'-') => at += 2,
                _ => break,
            },
            _ => break,
        }
    }
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// What a unit multiplies by: a power of a thousand or of 1,024.
fn factor(unit: &str) -> Option<u64> {
    let (prefix, base) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, 1_024_u64),
        None => (unit, 1_000),
    };
    let power = match prefix {
        "" if unit.is_empty() => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        "e" => 6,
        _ => return None,
    };
    Some(base.pow(power))
}

/// A quantity as Kubernetes writes it: `m` is a thousandth.
pub fn parse(args: &[Value]) -> anyhow::Result<Value> {
    let text = text(args.first()).replace('"', "");
    charge(text.len())?;
    let (number, unit) = split(&text);
    let factor = match unit {
        "m" => Some(1),
        _ => factor(&unit.to_ascii_lowercase()),
    };
    let (Some(mut decimal), Some(factor)) = (Decimal::parse(number), factor) else {
        return Ok(Value::Undefined);
    };
    decimal.digits *= factor;
    if unit == "m" {
        decimal.power -= 3;
        // The library's thousandth is not exact, so that no number of them is whole.
        if decimal.digits == BigInt::ZERO {
            return Ok(Value::from(0_i64));
        }
        return Ok(Value::from(decimal.rounded()));
    }
    Ok(match decimal.whole() {
        Some(whole) => Value::Number(whole.into()),
        None => Value::from(decimal.rounded()),
    })
}

/// A number of bytes, without a fraction and whatever the case of the unit.
pub fn parse_bytes(args: &[Value]) -> anyhow::Result<Value> {
    let text = text(args.first()).replace('"', "").to_ascii_lowercase();
    charge(text.len())?;
    let (number, unit) = split(&text);
    let factor = factor(match unit {
        "b" => "b",
        unit => unit.strip_suffix('b').unwrap_or(unit),
    });
    let (Some(decimal), Some(factor)) = (Decimal::parse(number), factor) else {
        return Ok(Value::Undefined);
    };
    let number = Precise::of_decimal(&decimal.digits, decimal.power);
    let bytes = number.and_then(|number| number.times(Precise::of_u64(factor)).truncated());
    Ok(bytes.map_or(Value::Undefined, |bytes| Value::Number(bytes.into())))
}
