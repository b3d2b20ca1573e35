//! Short forms for writing the tables.

use crate::function::{Body, Env, Failure, Function, Parameter, Signature};
use reeve_go_compat::value::{List, Str, Value};

/// What every body answers.
pub type Answer = Result<Value, Failure>;

/// A heading of the reference page.
pub struct Group(pub &'static str);

impl Group {
    /// A function under this heading.
    pub const fn function(
        &self,
        name: &'static str,
        signature: Signature,
        body: Body,
        usage: &'static str,
        help: &'static str,
    ) -> Function {
        Function {
            name,
            signature,
            body,
            group: self.0,
            usage,
            help,
        }
    }
}

/// A signature with these parameters and a result of a fixed type.
pub const fn takes(fixed: &'static [Parameter]) -> Signature {
    Signature {
        fixed,
        variadic: None,
        returns_any: false,
    }
}

/// A signature with these parameters and any number of further ones.
pub const fn takes_more(fixed: &'static [Parameter], variadic: Parameter) -> Signature {
    Signature {
        fixed,
        variadic: Some(variadic),
        returns_any: false,
    }
}

/// The same signature with the result type `interface {}`.
pub const fn any(signature: Signature) -> Signature {
    Signature {
        returns_any: true,
        ..signature
    }
}

/// Go's text for a dereferenced nil pointer, which is what reflecting on nil ends in.
pub fn nil_pointer() -> Failure {
    Failure::text("runtime error: invalid memory address or nil pointer dereference")
}

/// Charges for bytes about to be built.
pub fn charge_bytes(env: &mut Env<'_>, count: usize) -> Result<(), Failure> {
    Ok(env.meter.bytes(u64::try_from(count).unwrap_or(u64::MAX))?)
}

/// Charges for items about to be visited or built.
pub fn charge_items(env: &mut Env<'_>, count: usize) -> Result<(), Failure> {
    Ok(env.meter.steps(u64::try_from(count).unwrap_or(u64::MAX))?)
}

/// Charges for printing or comparing a value, whose text may be longer than any memory.
pub fn charge_value(env: &mut Env<'_>, value: &Value) -> Result<(), Failure> {
    let bytes = env.meter.walk_text(value)?;
    Ok(env.meter.bytes(bytes)?)
}

/// A part of an argument as a result. It is charged: a copy takes memory as any new text does.
pub fn part(env: &mut Env<'_>, bytes: &[u8]) -> Answer {
    charge_bytes(env, bytes.len())?;
    answer(bytes)
}

/// A string result that needs no failing.
#[allow(clippy::unnecessary_wraps)] // bodies end with it
pub fn answer(bytes: impl Into<Str>) -> Answer {
    Ok(Value::Str(bytes.into()))
}

/// A slice argument of type `interface {}`; otherwise the failure that Go's reflection ends in.
pub fn slice_of<'a>(
    value: &'a Value,
    mismatch: &dyn Fn(&str) -> String,
) -> Result<&'a List, Failure> {
    match value {
        Value::List(list) => Ok(list),
        Value::Nil | Value::Missing => Err(nil_pointer()),
        other => Err(Failure::text(mismatch(&other.kind().to_string()))),
    }
}
