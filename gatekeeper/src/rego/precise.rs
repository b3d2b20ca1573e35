//! Numbers as Open Policy Agent computes with them: binary floats with 64 bits of precision, of which each result is kept as the
//! shortest text that means it.

use std::cmp::Ordering;

use reeve_go_compat::printing;
use regorus::Value;
use regorus_bigint::{BigInt, BigUint, Sign};

use super::text;

/// The longest whole number that is made, in bits: longer than any that a source may have. Printing one takes as much time as the
/// square of its length.
pub const NUMBER_BITS: i64 = 1 << 17;
/// The largest power of ten of a number that is computed with. Texts beyond this are refused before.
const MAX_POWER: i64 = 40_000;
/// Operands further apart than this, in bits, do not change each other.
const FAR: i64 = 200;
/// Below this, a float without a fraction is a whole number that lacks digits; above, its fraction may be lost.
const SMALL: f64 = 4_294_967_296.0;
/// Floats with more digits than this are results of computation rather than decimals that somebody wrote.
const WRITTEN_DIGITS: usize = 15;

/// `mantissa * 2^exponent`. The mantissa has its highest bit set, or is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precise {
    is_negative: bool,
    mantissa: u64,
    exponent: i64,
}

impl Precise {
    pub const ZERO: Self = Self {
        is_negative: false,
        mantissa: 0,
        exponent: 0,
    };
    pub const ONE: Self = Self {
        is_negative: false,
        mantissa: 1 << 63,
        exponent: -63,
    };
    pub const HALF: Self = Self {
        is_negative: false,
        mantissa: 1 << 63,
        exponent: -64,
    };

    /// Of a number of the engine; none for what is no number.
    pub fn of(value: &Value) -> Option<Self> {
        let Value::Number(number) = value else {
            return None;
        };
        if text::is_float(value) {
            return Some(Self::of_float(number.as_f64()?));
        }
        if let Some(whole) = number.as_i128() {
            return Some(Self::of_i128(whole));
        }
        let big = number.as_big()?;
        Some(Self::of_big(&big))
    }

    /// A float with few digits is a decimal that somebody wrote, and a whole one is an input; any other is the nearest to a result.
    fn of_float(float: f64) -> Self {
        let (digits, exponent) = printing::shortest_digits(float);
        let power = i64::from(exponent) + 1 - i64::try_from(digits.len()).unwrap_or_default();
        let parsed = (digits.len() <= WRITTEN_DIGITS || float.fract() == 0.0)
            .then(|| digits.parse().ok())
            .flatten()
            .and_then(|digits| Self::decimal(float.is_sign_negative(), &digits, power));
        parsed.unwrap_or_else(|| Self::of_bits(float))
    }

    fn of_bits(float: f64) -> Self {
        let bits = float.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or_default();
        let (mantissa, exponent) = match exponent {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, exponent - 1075),
        };
        Self::rounded(float.is_sign_negative(), mantissa.into(), exponent, false)
    }

    fn of_i128(whole: i128) -> Self {
        Self::rounded(whole < 0, whole.unsigned_abs(), 0, false)
    }

    pub fn of_big(whole: &BigInt) -> Self {
        Self::rounded_big(whole.sign() == Sign::Minus, whole.magnitude(), 0, false)
    }

    pub fn of_u64(whole: u64) -> Self {
        Self::rounded(false, whole.into(), 0, false)
    }

    /// `digits * 10^power`; none when the power is too large.
    pub fn of_decimal(digits: &BigInt, power: i64) -> Option<Self> {
        Self::decimal(digits.sign() == Sign::Minus, digits.magnitude(), power)
    }

    fn decimal(is_negative: bool, digits: &BigUint, power: i64) -> Option<Self> {
        if power.abs() > MAX_POWER {
            return None;
        }
        let scale = BigUint::from(10_u32).pow(u32::try_from(power.unsigned_abs()).ok()?);
        if power >= 0 {
            return Some(Self::rounded_big(is_negative, &(digits * scale), 0, false));
        }
        let shift = i64::try_from(scale.bits()).ok()? + 66 - i64::try_from(digits.bits()).ok()?;
        let shift = shift.max(0);
        let shifted = digits << u64::try_from(shift).ok()?;
        let quotient = &shifted / &scale;
        let has_rest = &quotient * &scale != shifted;
        Some(Self::rounded_big(is_negative, &quotient, -shift, has_rest))
    }

    /// To the nearest with 64 bits, ties to even. `has_rest` when there is a little more than the mantissa says.
    fn rounded(is_negative: bool, mantissa: u128, exponent: i64, has_rest: bool) -> Self {
        if mantissa == 0 {
            return Self {
                is_negative,
                ..Self::ZERO
            };
        }
        let surplus = 64 - i64::from(mantissa.leading_zeros());
        if surplus <= 0 {
            let shifted = mantissa << surplus.unsigned_abs();
            return Self {
                is_negative,
                mantissa: u64::try_from(shifted).unwrap_or(u64::MAX),
                exponent: exponent + surplus,
            };
        }
        let kept = u64::try_from(mantissa >> surplus).unwrap_or(u64::MAX);
        let lost = mantissa & ((1 << surplus) - 1);
        let half = 1_u128 << (surplus - 1);
        let is_up = match lost.cmp(&half) {
            Ordering::Less => false,
            Ordering::Equal => has_rest || kept & 1 == 1,
            Ordering::Greater => true,
        };
        let exponent = exponent + surplus;
        match kept.checked_add(u64::from(is_up)) {
            Some(mantissa) => Self {
                is_negative,
                mantissa,
                exponent,
            },
            None => Self {
                is_negative,
                mantissa: 1 << 63,
                exponent: exponent + 1,
            },
        }
    }

    fn rounded_big(is_negative: bool, mantissa: &BigUint, exponent: i64, has_rest: bool) -> Self {
        let surplus = mantissa.bits().saturating_sub(128);
        let kept = mantissa >> surplus;
        let has_rest = has_rest || (surplus > 0 && mantissa.trailing_zeros() < Some(surplus));
        let exponent = exponent + i64::try_from(surplus).unwrap_or(i64::MAX / 2);
        let kept = u128::try_from(kept).unwrap_or(u128::MAX);
        Self::rounded(is_negative, kept, exponent, has_rest)
    }

    pub fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    pub fn is_negative(self) -> bool {
        self.is_negative
    }

    pub fn negated(self) -> Self {
        Self {
            is_negative: !self.is_negative,
            ..self
        }
    }

    pub fn absolute(self) -> Self {
        Self {
            is_negative: false,
            ..self
        }
    }

    pub fn plus(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return match (self.is_zero(), other.is_zero()) {
                (true, true) => Self {
                    is_negative: self.is_negative && other.is_negative,
                    ..Self::ZERO
                },
                (true, false) => other,
                _ => self,
            };
        }
        let (high, low) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        let apart = high.exponent - low.exponent;
        if apart > FAR {
            return high;
        }
        let sum = (high.signed() << u64::try_from(apart).unwrap_or_default()) + low.signed();
        let is_negative = sum.sign() == Sign::Minus;
        Self::rounded_big(is_negative, sum.magnitude(), low.exponent, false)
    }

    fn signed(self) -> BigInt {
        let sign = if self.is_negative {
            Sign::Minus
        } else {
            Sign::Plus
        };
        BigInt::from_biguint(sign, self.mantissa.into())
    }

    pub fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    pub fn times(self, other: Self) -> Self {
        Self::rounded(
            self.is_negative != other.is_negative,
            u128::from(self.mantissa) * u128::from(other.mantissa),
            self.exponent.saturating_add(other.exponent),
            false,
        )
    }

    /// None for a division by zero.
    pub fn over(self, other: Self) -> Option<Self> {
        let divisor = u128::from(other.mantissa);
        let shifted = u128::from(self.mantissa) << 64;
        let quotient = shifted.checked_div(divisor)?;
        // Three bits more show on which side of a half the rest is.
        let rest = (shifted - quotient * divisor) << 3;
        let more = rest / divisor;
        Some(Self::rounded(
            self.is_negative != other.is_negative,
            quotient << 3 | more,
            self.exponent.saturating_sub(other.exponent) - 67,
            rest != more * divisor,
        ))
    }

    pub fn is_whole(self) -> bool {
        self.exponent >= 0
            || self.is_zero()
            || i64::from(self.mantissa.trailing_zeros()) >= -self.exponent
    }

    /// Without its fraction; none when it is too long.
    pub fn truncated(self) -> Option<BigInt> {
        if self.exponent > NUMBER_BITS {
            return None;
        }
        let by = self.exponent.unsigned_abs();
        Some(if self.exponent >= 0 {
            self.signed() << by
        } else if by >= 64 {
            BigInt::ZERO
        } else {
            let whole = BigInt::from(self.mantissa >> by);
            if self.is_negative { -whole } else { whole }
        })
    }

    /// The number of the engine: whole ones exactly, others as the nearest float. None when it is too long.
    pub fn value(self) -> Option<Value> {
        if self.is_zero() {
            return Some(if self.is_negative {
                Value::from(-0.0)
            } else {
                Value::from(0_i64)
            });
        }
        if !self.is_whole() {
            return Some(self.nearest());
        }
        let whole = if self.exponent <= 0 {
            self.truncated()?
        } else if self.exponent > NUMBER_BITS {
            return None;
        } else {
            self.shortest()
        };
        Some(Value::Number(whole.into()))
    }

    /// The float nearest to what is no whole number.
    fn nearest(self) -> Value {
        let exponent = self.exponent.clamp(-2_000, 0);
        // One rounding, by the parser: the bits below a float's are more than the mantissa alone may lose.
        let by = u32::try_from(exponent.unsigned_abs()).unwrap_or_default();
        let digits = BigUint::from(self.mantissa) * BigUint::from(5_u32).pow(by);
        let sign = if self.is_negative { "-" } else { "" };
        let float: f64 = format!("{sign}{digits}e{exponent}")
            .parse()
            .unwrap_or_default();
        if float.fract() == 0.0 && float.abs() < SMALL && float != 0.0 {
            // The library would have come to the whole number with the digits that a float lacks.
            #[allow(clippy::cast_possible_truncation)] // it is whole, and small
            return Value::from(float as i64);
        }
        Value::from(float)
    }

    /// The whole number of the shortest digits that mean this one, filled with zeros.
    fn shortest(self) -> BigInt {
        let doubled = u128::from(self.mantissa) << 1;
        let shift = u64::try_from(self.exponent - 1).unwrap_or(0);
        // Of a long number, the first digits decide: the fewest are never more than twenty.
        let scale = BigUint::from(10_u32).pow(surplus_digits(self.exponent));
        let digits_of = |doubled: u128| {
            let whole = (BigUint::from(doubled) << shift) / &scale;
            whole.to_string().into_bytes()
        };
        let digits = shortest_between(
            &digits_of(doubled),
            &digits_of(doubled - 1),
            &digits_of(doubled + 1),
            self.mantissa & 1 == 0,
        );
        let whole = BigUint::parse_bytes(&digits, 10).unwrap_or_default() * scale;
        let sign = if self.is_negative {
            Sign::Minus
        } else {
            Sign::Plus
        };
        BigInt::from_biguint(sign, whole)
    }
}

/// How many digits of a number with this exponent do not matter; none of one that may end in zeros among the first.
fn surplus_digits(exponent: i64) -> u32 {
    if exponent < 300 {
        return 0;
    }
    // A bit is 0.30103 digits.
    u32::try_from((exponent + 64) * 30_103 / 100_000 - 45).unwrap_or_default()
}

/// The fewest digits, filled with zeros, of a whole number between two others that are half a unit away; the bounds belong to it
/// when `is_inclusive`.
fn shortest_between(exact: &[u8], lower: &[u8], upper: &[u8], is_inclusive: bool) -> Vec<u8> {
    let significant = |digits: &[u8]| {
        let zeros = digits.iter().rev().take_while(|one| **one == b'0').count();
        digits.len() - zeros
    };
    let (lower_length, upper_length) = (significant(lower), significant(upper));
    for index in 0..significant(exact) {
        let at = |digits: &[u8]| digits.get(index).copied().unwrap_or(b'0');
        let (low, digit, high) = (at(lower), at(exact), at(upper));
        let may_go_down = low != digit || (is_inclusive && index + 1 == lower_length);
        let may_go_up =
            digit != high && (is_inclusive || digit + 1 < high || index + 1 < upper_length);
        let is_up = match (may_go_down, may_go_up) {
            (false, false) => continue,
            (true, true) => is_nearer_above(exact, index + 1, significant(exact)),
            (_, up) => up,
        };
        return filled(exact, index + 1, is_up);
    }
    exact.to_vec()
}

/// Whether the rest of the digits is more than half, or half behind an odd digit.
fn is_nearer_above(digits: &[u8], from: usize, length: usize) -> bool {
    match digits.get(from) {
        Some(b'5') if from + 1 == length => {
            digits.get(from - 1).is_some_and(|digit| digit % 2 == 1)
        }
        Some(digit) => *digit >= b'5',
        None => false,
    }
}

/// The first digits, the last of them one higher when `is_up`, and zeros.
fn filled(digits: &[u8], kept: usize, is_up: bool) -> Vec<u8> {
    let mut out: Vec<u8> = digits.iter().take(kept).copied().collect();
    out.resize(digits.len(), b'0');
    if is_up {
        let nines = out.iter().take(kept).rev().take_while(|one| **one == b'9');
        let nines = nines.count();
        for digit in out.iter_mut().take(kept).skip(kept - nines) {
            *digit = b'0';
        }
        match (kept - nines).checked_sub(1).and_then(|at| out.get_mut(at)) {
            Some(digit) => *digit += 1,
            None => out.insert(0, b'1'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn precise(number: &str) -> Precise {
        Precise::of(&Value::from_numeric_string(number).unwrap()).unwrap()
    }

    fn value(number: Precise) -> String {
        text::of_term(&number.value().unwrap())
    }

    #[test]
    fn tenths_add_up_to_tenths() {
        assert_eq!(value(precise("0.1").plus(precise("0.2"))), "0.3");
    }

    #[test]
    fn third_times_three_is_whole() {
        let third = Precise::ONE.over(precise("3")).unwrap();
        assert_eq!(value(third.times(precise("3"))), "1");
        let kept = Precise::of(&third.value().unwrap()).unwrap();
        assert_eq!(value(kept.times(precise("3"))), "1");
    }

    #[test]
    fn whole_numbers_beyond_64_bits_have_the_shortest_digits() {
        let power = precise("1208925819614629174706176");
        assert_eq!(value(power), "1208925819614629174700000");
        assert_eq!(
            value(precise("99999999999999999999999").plus(Precise::ZERO)),
            "100000000000000000000000"
        );
    }

    #[test]
    fn long_numbers_have_the_shortest_digits() {
        let power = precise("1e300").times(precise("1e300"));
        let digits = value(power);
        assert_eq!(digits.trim_end_matches('0'), "1");
        assert_eq!(digits.len(), 601);
    }

    #[test]
    fn number_beyond_the_limit_has_no_value() {
        let mut number = precise("1024");
        for _ in 0..20 {
            number = number.times(number);
        }
        assert!(number.value().is_none() && number.truncated().is_none());
    }
}
