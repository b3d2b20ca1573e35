//! Operators as functions: undefined for operands of the wrong type, and with a limit for numbers that grow.

use regorus::Value;

use crate::messages;

/// The longest whole number that is multiplied, in bits.
const NUMBER_BITS: u64 = 1 << 20;

/// The operands when both are numbers.
macro_rules! numbers {
    ($args:expr, |$left:ident, $right:ident| $body:expr) => {
        match ($args.first(), $args.get(1)) {
            (Some(Value::Number($left)), Some(Value::Number($right))) => $body,
            _ => Ok(Value::Undefined),
        }
    };
}

fn checked<N, E>(result: Result<N, E>) -> Value
where
    Value: From<N>,
{
    result.map_or(Value::Undefined, Value::from)
}

/// A float as a whole number and the power of ten that it is multiplied by.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    /// By the shortest text of the float; none for very large and very small ones.
    fn of(float: f64) -> Option<Self> {
        if float != 0.0 && !(1e-15..1e15).contains(&float.abs()) {
            return None;
        }
        let text = float.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            exponent: -i32::try_from(fraction.len()).ok()?,
        })
    }

    /// With no larger exponent than another.
    fn aligned(self, other: Self) -> Option<i128> {
        let by = u32::try_from(self.exponent.saturating_sub(other.exponent)).unwrap_or_default();
        self.digits.checked_mul(10_i128.checked_pow(by)?)
    }

    fn value(self) -> Option<f64> {
        format!("{}e{}", self.digits, self.exponent).parse().ok()
    }
}

/// The library computes with more digits than a float has, so that tenths add up to tenths: as decimals they do.
fn decimal(
    left: Option<f64>,
    right: Option<f64>,
    operate: fn(Decimal, Decimal) -> Option<Decimal>,
) -> Option<Value> {
    let (left, right) = (left?, right?);
    if left.fract() == 0.0 && right.fract() == 0.0 {
        return None;
    }
    let result = operate(Decimal::of(left)?, Decimal::of(right)?)?;
    result.value().map(Value::from)
}

pub fn plus(args: &[Value]) -> anyhow::Result<Value> {
    numbers!(args, |left, right| {
        let exact = decimal(left.as_f64(), right.as_f64(), |one, other| {
            Some(Decimal {
                digits: one.aligned(other)?.checked_add(other.aligned(one)?)?,
                exponent: one.exponent.min(other.exponent),
            })
        });
        Ok(exact.unwrap_or_else(|| checked(left.add(right))))
    })
}

pub fn minus(args: &[Value]) -> anyhow::Result<Value> {
    if let (Some(Value::Set(left)), Some(Value::Set(right))) = (args.first(), args.get(1)) {
        return Ok(left.difference(right).into());
    }
    numbers!(args, |left, right| {
        let exact = decimal(left.as_f64(), right.as_f64(), |one, other| {
            Some(Decimal {
                digits: one.aligned(other)?.checked_sub(other.aligned(one)?)?,
                exponent: one.exponent.min(other.exponent),
            })
        });
        Ok(exact.unwrap_or_else(|| checked(left.sub(right))))
    })
}

pub fn mul(args: &[Value]) -> anyhow::Result<Value> {
    numbers!(args, |left, right| {
        let bits = [left, right].map(|one| match one.as_i64() {
            Some(_) => 64,
            None => one.as_big().map_or(0, |big| big.bits()),
        });
        if bits.into_iter().fold(0, u64::saturating_add) > NUMBER_BITS {
            anyhow::bail!(messages::TEXT_TOO_LONG);
        }
        let exact = decimal(left.as_f64(), right.as_f64(), |one, other| {
            Some(Decimal {
                digits: one.digits.checked_mul(other.digits)?,
                exponent: one.exponent + other.exponent,
            })
        });
        Ok(exact.unwrap_or_else(|| checked(left.mul(right))))
    })
}

pub fn div(args: &[Value]) -> anyhow::Result<Value> {
    numbers!(args, |left, right| {
        if right.as_f64() == Some(0.0) {
            return Ok(Value::Undefined);
        }
        Ok(checked(left.clone().divide(right)))
    })
}

pub fn rem(args: &[Value]) -> anyhow::Result<Value> {
    numbers!(args, |left, right| {
        if right.as_f64() == Some(0.0) || !left.is_integer() || !right.is_integer() {
            return Ok(Value::Undefined);
        }
        Ok(checked(left.clone().modulo(right)))
    })
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn and(args: &[Value]) -> anyhow::Result<Value> {
    match (args.first(), args.get(1)) {
        (Some(Value::Set(left)), Some(Value::Set(right))) => Ok(left.intersection(right).into()),
        _ => Ok(Value::Undefined),
    }
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn or(args: &[Value]) -> anyhow::Result<Value> {
    match (args.first(), args.get(1)) {
        (Some(Value::Set(left)), Some(Value::Set(right))) => Ok(left.union(right).into()),
        _ => Ok(Value::Undefined),
    }
}
