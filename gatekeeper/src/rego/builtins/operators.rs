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

fn checked<N, E>(result: Result<N, E>) -> anyhow::Result<Value>
where
    Value: From<N>,
{
    Ok(result.map_or(Value::Undefined, Value::from))
}

pub fn plus(args: &[Value]) -> anyhow::Result<Value> {
    numbers!(args, |left, right| checked(left.add(right)))
}

pub fn minus(args: &[Value]) -> anyhow::Result<Value> {
    if let (Some(Value::Set(left)), Some(Value::Set(right))) = (args.first(), args.get(1)) {
        return Ok(left.difference(right).into());
    }
    numbers!(args, |left, right| checked(left.sub(right)))
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
        checked(left.mul(right))
    })
}

pub fn div(args: &[Value]) -> anyhow::Result<Value> {
    numbers!(args, |left, right| {
        if right.as_f64() == Some(0.0) {
            return Ok(Value::Undefined);
        }
        checked(left.clone().divide(right))
    })
}

pub fn rem(args: &[Value]) -> anyhow::Result<Value> {
    numbers!(args, |left, right| {
        if right.as_f64() == Some(0.0) || !left.is_integer() || !right.is_integer() {
            return Ok(Value::Undefined);
        }
        checked(left.clone().modulo(right))
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
