//! Functions of numbers, which the library computes with more digits than a float has.

use std::cmp::Ordering;

use regorus::Value;
use regorus_bigint::{BigInt, Sign};

use super::{call, charge, charged, members};
use crate::messages;
use crate::rego::precise::{NUMBER_BITS, Precise};
use crate::rego::text;

/// The value of a result; an error when it is too long.
pub fn kept(number: Precise) -> anyhow::Result<Value> {
    let value = number.value();
    value.ok_or_else(|| anyhow::anyhow!(messages::TEXT_TOO_LONG))
}

/// An operand that must be whole, with the precision that the library gives it; none when it is not.
pub fn integer(value: Option<&Value>) -> anyhow::Result<Option<BigInt>> {
    match value.and_then(Precise::of) {
        Some(number) if number.is_whole() => Ok(Some(truncated(number)?)),
        _ => Ok(None),
    }
}

fn truncated(number: Precise) -> anyhow::Result<BigInt> {
    let whole = number.truncated();
    whole.ok_or_else(|| anyhow::anyhow!(messages::TEXT_TOO_LONG))
}

pub fn abs(args: &[Value]) -> anyhow::Result<Value> {
    match args.first().and_then(Precise::of) {
        Some(number) => kept(number.absolute()),
        None => Ok(Value::Undefined),
    }
}

/// A function to whole numbers, which are exact even with more than 64 bits.
fn rounded(args: &[Value], round: fn(Precise) -> anyhow::Result<BigInt>) -> anyhow::Result<Value> {
    match args.first().and_then(Precise::of) {
        Some(number) => Ok(Value::Number(round(number)?.into())),
        None => Ok(Value::Undefined),
    }
}

/// Halves away from zero.
pub fn round(args: &[Value]) -> anyhow::Result<Value> {
    rounded(args, |number| {
        truncated(if number.is_negative() {
            number.minus(Precise::HALF)
        } else {
            number.plus(Precise::HALF)
        })
    })
}

/// The library goes by the sign of the whole part, which zero has not: the ceiling of -0.5 is 1.
pub fn ceil(args: &[Value]) -> anyhow::Result<Value> {
    rounded(args, |number| {
        let whole = truncated(number)?;
        let is_done = whole.sign() == Sign::Minus || number.is_whole();
        Ok(if is_done { whole } else { whole + 1 })
    })
}

/// The library goes by the sign of the whole part, which zero has not: the floor of -0.5 is 0.
pub fn floor(args: &[Value]) -> anyhow::Result<Value> {
    rounded(args, |number| {
        let whole = truncated(number)?;
        let is_done = whole.sign() != Sign::Minus || number.is_whole();
        Ok(if is_done { whole } else { whole - 1 })
    })
}

/// A whole number as the library recognises it: one that is written as such, and fits into 64 bits.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) if !text::is_float(value) => number.as_i64(),
        _ => None,
    }
}

/// Whole numbers alone are added without looking for an overflow.
pub fn sum(args: &[Value]) -> anyhow::Result<Value> {
    let Some(members) = members(args.first()) else {
        return Ok(Value::Undefined);
    };
    let wholes = members.iter().map(|one| whole(one));
    if let Some(wholes) = wholes.collect::<Option<Vec<i64>>>() {
        return Ok(Value::from(wholes.into_iter().fold(0, i64::wrapping_add)));
    }
    folded(&members, Precise::ZERO, Precise::plus)
}

pub fn product(args: &[Value]) -> anyhow::Result<Value> {
    match members(args.first()) {
        Some(members) => folded(&members, Precise::ONE, Precise::times),
        None => Ok(Value::Undefined),
    }
}

fn folded(
    members: &[&Value],
    first: Precise,
    operate: fn(Precise, Precise) -> Precise,
) -> anyhow::Result<Value> {
    let numbers = members.iter().map(|one| Precise::of(one));
    match numbers.collect::<Option<Vec<Precise>>>() {
        Some(numbers) => kept(numbers.into_iter().fold(first, operate)),
        None => Ok(Value::Undefined),
    }
}

/// The last of the largest.
#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn max(args: &[Value]) -> anyhow::Result<Value> {
    let members = members(args.first()).unwrap_or_default();
    Ok(last_where(&members, Ordering::is_ge))
}

/// The last of the smallest. In a set, null is none of the members where there are others.
#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn min(args: &[Value]) -> anyhow::Result<Value> {
    let mut members = members(args.first()).unwrap_or_default();
    if matches!(args.first(), Some(Value::Set(_))) && members.len() > 1 {
        members.retain(|one| !matches!(one, Value::Null));
    }
    Ok(last_where(&members, Ordering::is_le))
}

fn last_where(members: &[&Value], is_better: fn(Ordering) -> bool) -> Value {
    let best = members.iter().copied().reduce(|best, one| {
        if is_better(text::compare(one, best)) {
            one
        } else {
            best
        }
    });
    best.cloned().unwrap_or(Value::Undefined)
}

/// Of a text, the characters.
pub fn count(args: &[Value]) -> anyhow::Result<Value> {
    match args.first() {
        Some(Value::String(text)) => Ok(Value::from(text.chars().count())),
        _ => call("count", args),
    }
}

/// The place and the length are whole numbers.
pub fn substring(args: &[Value]) -> anyhow::Result<Value> {
    let places = args.get(1..).unwrap_or_default();
    if places.iter().any(|one| whole(one).is_none()) {
        return Ok(Value::Undefined);
    }
    charged("substring", args)
}

/// In base 2, 8, 10 or 16, without a fraction.
pub fn format_int(args: &[Value]) -> anyhow::Result<Value> {
    let radix = match args.get(1).and_then(whole) {
        Some(radix @ (2 | 8 | 10 | 16)) => u32::try_from(radix)?,
        _ => return Ok(Value::Undefined),
    };
    let Some(value) = args.first() else {
        return Ok(Value::Undefined);
    };
    let Some(number) = Precise::of(value) else {
        return Ok(Value::Undefined);
    };
    let number = truncated(number)?;
    charge(usize::try_from(number.bits())?)?;
    Ok(Value::from(number.to_str_radix(radix)))
}

pub fn range(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(first), Some(last)) = (integer(args.first())?, integer(args.get(1))?) else {
        return Ok(Value::Undefined);
    };
    ranged(first, &last, &BigInt::from(1))
}

pub fn range_step(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(first), Some(last)) = (integer(args.first())?, integer(args.get(1))?) else {
        return Ok(Value::Undefined);
    };
    match integer(args.get(2))? {
        Some(step) if step.sign() == Sign::Plus => ranged(first, &last, &step),
        _ => Ok(Value::Undefined),
    }
}

fn ranged(first: BigInt, last: &BigInt, step: &BigInt) -> anyhow::Result<Value> {
    let span: BigInt = if first <= *last {
        last - &first
    } else {
        &first - last
    };
    let length = usize::try_from(&span / step).unwrap_or(usize::MAX);
    charge(length.saturating_mul(size_of::<Value>()))?;
    let is_up = first <= *last;
    let mut all = Vec::with_capacity(length.saturating_add(1));
    let mut next = first;
    for _ in 0..=length {
        all.push(Value::Number(next.clone().into()));
        if is_up {
            next += step;
        } else {
            next -= step;
        }
    }
    Ok(Value::from(all))
}

/// A function of bits with operands as the library takes them.
pub fn bits(name: &str, args: &[Value]) -> anyhow::Result<Value> {
    let mut operands = Vec::with_capacity(args.len());
    for one in args {
        match integer(Some(one))? {
            Some(number) => operands.push(number),
            None => return Ok(Value::Undefined),
        }
    }
    let result = match (name, operands.as_slice()) {
        ("bits.and", [left, right]) => left & right,
        ("bits.or", [left, right]) => left | right,
        ("bits.xor", [left, right]) => left ^ right,
        ("bits.negate", [one]) => !one,
        (_, [_, by]) if by.sign() == Sign::Minus => return Ok(Value::Undefined),
        ("bits.lsh", [left, by]) => {
            let by = u64::try_from(by).unwrap_or(u64::MAX);
            let length = left.bits().saturating_add(by);
            if left.sign() != Sign::NoSign && length > NUMBER_BITS.unsigned_abs() {
                anyhow::bail!(messages::TEXT_TOO_LONG);
            }
            if left.sign() == Sign::NoSign {
                BigInt::ZERO
            } else {
                left << by
            }
        }
        ("bits.rsh", [left, by]) => left >> u64::try_from(by).unwrap_or(u64::MAX),
        _ => return Ok(Value::Undefined),
    };
    charge(usize::try_from(result.bits() / 8)?)?;
    Ok(Value::Number(result.into()))
}

/// The number that a text means: what Go's parser of floats takes, and no larger than a float.
pub fn to_number(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return call("to_number", args);
    };
    let float = reeve_go_compat::strconv::parse_float(text).filter(|float| float.is_finite());
    Ok(float.map_or(Value::Undefined, |float| text::number_of(text, float)))
}
