//! Decimal arithmetic as github.com/shopspring/decimal does it: exact, division to 16 places.

use num_bigint::{BigInt, Sign};

use crate::function::{Env, Failure};
use crate::functions::define::charge_items;

/// A whole number times a power of ten.
#[derive(Clone, Debug)]
pub struct Decimal {
    digits: BigInt,
    exponent: i64,
}

/// How many places a quotient has.
const PLACES: i64 = 16;

/// Digits beyond this are charged; one factor of a product brings at most 17.
const DIGITS_A_STEP: u64 = 64;

impl Decimal {
    /// The shortest decimal number that reads as this float.
    pub fn from_float(number: f64) -> Result<Self, Failure> {
        if number.is_nan() {
            return Err(Failure::text("Cannot create a Decimal from NaN"));
        }
        if number.is_infinite() {
            let sign = if number > 0.0 { '+' } else { '-' };
            return Err(Failure::text(format!(
                "Cannot create a Decimal from {sign}Inf"
            )));
        }
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().unwrap_or_default();
        let places = i64::try_from(fraction.len()).unwrap_or(0);
        Ok(Self {
            digits,
            exponent: exponent.parse::<i64>().unwrap_or(0) - places,
        })
    }

    /// The nearest float.
    pub fn to_float(&self) -> f64 {
        if self.digits.sign() == Sign::NoSign {
            return 0.0;
        }
        format!("{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(f64::NAN)
    }

    fn charge(&self, env: &mut Env<'_>) -> Result<(), Failure> {
        let steps = self.digits.bits() / DIGITS_A_STEP + 1;
        charge_items(env, usize::try_from(steps).unwrap_or(usize::MAX))
    }

    /// The digits with the exponent lowered to this one.
    fn digits_at(&self, exponent: i64) -> BigInt {
        &self.digits * power_of_ten(self.exponent - exponent)
    }

    /// The sum.
    pub fn add(self, other: &Self, env: &mut Env<'_>) -> Result<Self, Failure> {
        self.charge(env)?;
        let exponent = self.exponent.min(other.exponent);
        Ok(Self {
            digits: self.digits_at(exponent) + other.digits_at(exponent),
            exponent,
        })
    }

    /// The difference.
    pub fn sub(self, other: &Self, env: &mut Env<'_>) -> Result<Self, Failure> {
        let negated = Self {
            digits: -&other.digits,
            exponent: other.exponent,
        };
        self.add(&negated, env)
    }

    /// The product.
    pub fn mul(self, other: &Self, env: &mut Env<'_>) -> Result<Self, Failure> {
        self.charge(env)?;
        Ok(Self {
            digits: self.digits * &other.digits,
            exponent: self.exponent + other.exponent,
        })
    }

    /// The quotient, half a unit of its last place rounded away from zero.
    pub fn div(self, other: &Self, env: &mut Env<'_>) -> Result<Self, Failure> {
        self.charge(env)?;
        if other.digits.sign() == Sign::NoSign {
            return Err(Failure::text("decimal division by 0"));
        }
        let shift = self.exponent - other.exponent + PLACES;
        let dividend = &self.digits * power_of_ten(shift);
        let divisor = &other.digits * power_of_ten(-shift);
        let quotient = &dividend / &divisor;
        let remainder: BigInt = &dividend - &quotient * &divisor;
        let twice = (remainder * 2_u8).magnitude().clone();
        let digits = if twice < *divisor.magnitude() {
            quotient
        } else if dividend.sign() == divisor.sign() {
            quotient + 1_u8
        } else {
            quotient - 1_u8
        };
        Ok(Self {
            digits,
            exponent: -PLACES,
        })
    }
}

/// Ten to this power; one for a negative power.
fn power_of_ten(exponent: i64) -> BigInt {
    BigInt::from(10_u8).pow(u32::try_from(exponent.max(0)).unwrap_or(u32::MAX))
}
