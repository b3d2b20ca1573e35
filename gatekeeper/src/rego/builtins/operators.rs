//! Operators as functions: undefined for operands of the wrong type, and with a limit for numbers that grow.

use regorus::Value;

use super::numbers::{integer, kept};
use crate::rego::precise::Precise;
use crate::rego::text;

/// The operands when both are whole numbers of the engine that fit well into 128 bits.
fn small(args: &[Value]) -> Option<(i128, i128)> {
    let of = |index: usize| match args.get(index) {
        Some(value @ Value::Number(number)) if !text::is_float(value) => {
            number.as_i64().map(i128::from)
        }
        _ => None,
    };
    Some((of(0)?, of(1)?))
}

/// The operands when both are numbers.
fn precise(args: &[Value]) -> Option<(Precise, Precise)> {
    Some((Precise::of(args.first()?)?, Precise::of(args.get(1)?)?))
}

/// The exact result of small whole numbers where it has no more than 64 bits, that of the library otherwise.
fn computed(
    args: &[Value],
    exactly: fn(i128, i128) -> i128,
    precisely: fn(Precise, Precise) -> Precise,
) -> anyhow::Result<Value> {
    if let Some((left, right)) = small(args) {
        let result = exactly(left, right);
        if result.unsigned_abs() <= u128::from(u64::MAX) {
            return Ok(Value::from(result));
        }
    }
    match precise(args) {
        Some((left, right)) => kept(precisely(left, right)),
        None => Ok(Value::Undefined),
    }
}

pub fn plus(args: &[Value]) -> anyhow::Result<Value> {
    computed(args, |left, right| left + right, Precise::plus)
}

pub fn minus(args: &[Value]) -> anyhow::Result<Value> {
    if let (Some(Value::Set(left)), Some(Value::Set(right))) = (args.first(), args.get(1)) {
        return Ok(left.difference(right).into());
    }
    computed(args, |left, right| left - right, Precise::minus)
}

pub fn mul(args: &[Value]) -> anyhow::Result<Value> {
    computed(args, |left, right| left * right, Precise::times)
}

pub fn div(args: &[Value]) -> anyhow::Result<Value> {
    let quotient = precise(args).and_then(|(left, right)| left.over(right));
    quotient.map_or(Ok(Value::Undefined), kept)
}

pub fn rem(args: &[Value]) -> anyhow::Result<Value> {
    if let Some((left, right)) = small(args) {
        let rest = left.checked_rem(right);
        return Ok(rest.map_or(Value::Undefined, Value::from));
    }
    let (Some(left), Some(right)) = (integer(args.first())?, integer(args.get(1))?) else {
        return Ok(Value::Undefined);
    };
    // The library looks at the lowest 64 bits alone to find a division by zero.
    if right.iter_u64_digits().next().unwrap_or_default() == 0 {
        return Ok(Value::Undefined);
    }
    Ok(Value::Number((left % right).into()))
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
