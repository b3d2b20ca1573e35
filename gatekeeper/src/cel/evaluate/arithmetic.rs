//! Arithmetic: overflows are errors, and numbers of different types do not mix.

use std::sync::Arc;

use super::foreign;
use crate::cel::error::{EvalError, Evaluated};
use crate::cel::expression::Operator;
use crate::cel::value::Value;

fn overflow() -> EvalError {
    EvalError::new("integer overflow")
}

fn unsigned_overflow() -> EvalError {
    EvalError::new("unsigned integer overflow")
}

pub fn negate<'a>(of: &Value<'a>) -> Evaluated<'a> {
    match of {
        Value::Int(value) => value.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(value) => Ok(Value::Double(-value)),
        _ => Err(EvalError::no_overload_of("-_")),
    }
}

pub fn add<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::String(one), Value::String(other)) => {
            Ok(Value::text(format!("{}{}", one.as_str(), other.as_str())))
        }
        (Value::Bytes(one), Value::Bytes(other)) => {
            Ok(Value::Bytes(Arc::new([one.as_slice(), other].concat())))
        }
        (Value::List(one), Value::List(other)) => {
            Ok(Value::list(one.iter().chain(other.iter()).collect()))
        }
        (Value::String(_) | Value::Bytes(_) | Value::List(_), _) => Err(EvalError::no_overload()),
        _ => calculate(Operator::Add, left, right),
    }
}

pub fn calculate<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(one), Value::Int(other)) => integers(operator, *one, *other).map(Value::Int),
        (Value::UInt(one), Value::UInt(other)) => unsigned(operator, *one, *other).map(Value::UInt),
        (Value::Double(one), Value::Double(other)) => {
            let result = match operator {
                Operator::Add => one + other,
                Operator::Subtract => one - other,
                Operator::Multiply => one * other,
                Operator::Divide => one / other,
                _ => return Err(EvalError::no_overload_of(operator.name())),
            };
            Ok(Value::Double(result))
        }
        (Value::Foreign(_), Value::Foreign(_)) => {
            foreign::call(operator.name(), None, &[left, right])
        }
        (Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Foreign(_), _) => {
            Err(EvalError::no_overload())
        }
        _ => Err(EvalError::no_overload_of(operator.name())),
    }
}

fn integers(operator: Operator, one: i64, other: i64) -> Result<i64, EvalError> {
    match operator {
        Operator::Add => one.checked_add(other).ok_or_else(overflow),
        Operator::Subtract => one.checked_sub(other).ok_or_else(overflow),
        Operator::Multiply => one.checked_mul(other).ok_or_else(overflow),
        Operator::Divide if other == 0 => Err(EvalError::new("division by zero")),
        Operator::Divide => one.checked_div(other).ok_or_else(overflow),
        Operator::Modulo if other == 0 => Err(EvalError::new("modulus by zero")),
        Operator::Modulo => one.checked_rem(other).ok_or_else(overflow),
        _ => Err(EvalError::no_overload_of(operator.name())),
    }
}

fn unsigned(operator: Operator, one: u64, other: u64) -> Result<u64, EvalError> {
    match operator {
        Operator::Add => one.checked_add(other).ok_or_else(unsigned_overflow),
        Operator::Subtract => one.checked_sub(other).ok_or_else(unsigned_overflow),
        Operator::Multiply => one.checked_mul(other).ok_or_else(unsigned_overflow),
        Operator::Divide if other == 0 => Err(EvalError::new("division by zero")),
        Operator::Divide => Ok(one / other),
        Operator::Modulo if other == 0 => Err(EvalError::new("modulus by zero")),
        Operator::Modulo => Ok(one % other),
        _ => Err(EvalError::no_overload_of(operator.name())),
    }
}
