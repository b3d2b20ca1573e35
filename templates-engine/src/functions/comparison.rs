//! `eq` and its kin. Ported from Go's `text/template/funcs.go`.

use std::cmp::Ordering;
use std::rc::Rc;

use super::define::{Answer, Group, takes, takes_more};
use crate::function::Parameter::Reflect;
use crate::function::{Arguments, Env, Failure, Function};
use reeve_go_compat::printing;
use reeve_go_compat::value::{Kind, Value};

const COMPARISON: Group = Group("Comparison");

/// The table of this topic.
pub(super) const FUNCTIONS: &[Function] = &[
    COMPARISON.function("eq", takes_more(&[Reflect], Reflect), eq, "value other…", "Whether the value equals any of the others. Numbers of different types, such as `1` and `1.0`, cannot be compared."),
    COMPARISON.function("ne", takes(&[Reflect, Reflect]), ne, "value other", "Whether the two differ."),
    COMPARISON.function("lt", takes(&[Reflect, Reflect]), lt, "value other", "Whether the first is less."),
    COMPARISON.function("le", takes(&[Reflect, Reflect]), le, "value other", "Whether the first is less or equal."),
    COMPARISON.function("gt", takes(&[Reflect, Reflect]), gt, "value other", "Whether the first is greater."),
    COMPARISON.function("ge", takes(&[Reflect, Reflect]), ge, "value other", "Whether the first is greater or equal."),
];

/// A value of a kind that Go compares.
enum Basic<'a> {
    Bool(bool),
    /// Signed or not: the two may be compared with each other.
    Int(i128),
    Float(f64),
    Str(&'a [u8]),
}

fn basic(value: &Value) -> Option<Basic<'_>> {
    Some(match value {
        Value::Bool(value) => Basic::Bool(*value),
        Value::Int(value) | Value::Int64(value) => Basic::Int((*value).into()),
        Value::Uint8(value) => Basic::Int((*value).into()),
        Value::Uint64(value) => Basic::Int((*value).into()),
        Value::Float(value) => Basic::Float(*value),
        Value::Str(value) => Basic::Str(value),
        Value::Native(value) => Basic::Int(value.integer()?.into()),
        _ => return None,
    })
}

fn nothing(value: &Value) -> bool {
    matches!(value, Value::Nil | Value::Missing)
}

fn incompatible(a: &Value, b: &Value) -> Failure {
    Failure::text(format!(
        "incompatible types for comparison: {} and {}",
        a.type_name(),
        b.type_name()
    ))
}

fn equal(a: &Value, b: &Value) -> Result<bool, Failure> {
    Ok(match (basic(a), basic(b)) {
        (Some(Basic::Bool(a)), Some(Basic::Bool(b))) => a == b,
        (Some(Basic::Int(a)), Some(Basic::Int(b))) => a == b,
        #[allow(clippy::float_cmp)] // as Go does
        (Some(Basic::Float(a)), Some(Basic::Float(b))) => a == b,
        (Some(Basic::Str(a)), Some(Basic::Str(b))) => a == b,
        (None, None) => return equal_references(a, b),
        _ if nothing(a) || nothing(b) => false,
        _ => return Err(incompatible(a, b)),
    })
}

/// Containers are equal only to nil, structs and pointers to their like.
fn equal_references(a: &Value, b: &Value) -> Result<bool, Failure> {
    let same_kind = a.kind() == b.kind();
    if !same_kind && !nothing(a) && !nothing(b) {
        return Err(Failure::text(format!(
            "non-comparable types {}: {}, {}: {}",
            as_string(a),
            a.type_name(),
            b.type_name(),
            String::from_utf8_lossy(&printing::display(b))
        )));
    }
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() == b.is_nil());
    }
    if !comparable(b) {
        return Err(Failure::text(format!(
            "non-comparable type {}: {}",
            as_string(b),
            b.type_name()
        )));
    }
    match (a, b) {
        (Value::Native(a), Value::Native(b)) if a.is_compared_by_address() => Ok(Rc::ptr_eq(a, b)),
        _ => Ok(a.deep_equal(b)),
    }
}

fn comparable(value: &Value) -> bool {
    match value.kind() {
        Kind::Slice | Kind::Map => false,
        Kind::Struct => match value {
            Value::Struct(value) => value.fields().iter().all(|(_, field)| comparable(field)),
            _ => true,
        },
        _ => true,
    }
}

fn as_string(value: &Value) -> String {
    let text = printing::sprintf(b"%s", std::slice::from_ref(value), usize::MAX);
    String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
}

fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>, Failure> {
    let invalid = || Failure::text("invalid type for comparison");
    let (Some(first), Some(second)) = (basic(a), basic(b)) else {
        return Err(invalid());
    };
    Ok(match (first, second) {
        (Basic::Bool(_), Basic::Bool(_)) => return Err(invalid()),
        (Basic::Int(a), Basic::Int(b)) => Some(a.cmp(&b)),
        (Basic::Float(a), Basic::Float(b)) => a.partial_cmp(&b),
        (Basic::Str(a), Basic::Str(b)) => Some(a.cmp(b)),
        _ => return Err(incompatible(a, b)),
    })
}

fn eq(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    env.walk(arguments.all())?;
    let others = arguments.from(1);
    if others.is_empty() {
        return Err(Failure::text("missing argument for comparison"));
    }
    for other in others {
        if equal(arguments.any(0), other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn ne(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    env.walk(arguments.all())?;
    equal(arguments.any(0), arguments.any(1)).map(|equal| Value::Bool(!equal))
}

fn ordered(arguments: &Arguments<'_>, holds: impl Fn(Option<Ordering>) -> bool) -> Answer {
    compare(arguments.any(0), arguments.any(1)).map(|ordering| Value::Bool(holds(ordering)))
}

fn lt(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    ordered(arguments, |ordering| ordering == Some(Ordering::Less))
}

fn le(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    ordered(arguments, |ordering| {
        matches!(ordering, Some(Ordering::Less | Ordering::Equal))
    })
}

/// The inverse of `le`, as in Go: true for what cannot be ordered.
fn gt(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    ordered(arguments, |ordering| {
        !matches!(ordering, Some(Ordering::Less | Ordering::Equal))
    })
}

/// The inverse of `lt`, likewise.
fn ge(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    ordered(arguments, |ordering| ordering != Some(Ordering::Less))
}
