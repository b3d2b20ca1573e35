//! Optional fields, `a.?b` and `a[?b]`: the evaluator reports absent ones as errors, so they are looked up here.

use std::sync::Arc;

use kube_cel::cel::objects::{Key, OptionalValue};
use kube_cel::cel::{ExecutionError, Value};

/// The function that replaces an operator of optional fields.
pub(super) fn replacement(operator: &str) -> Option<&'static str> {
    matches!(operator, "_?._" | "_[?_]").then_some(LOOKUP)
}

/// The function that looks up.
pub(super) const LOOKUP: &str = "@lookup";

/// The optional field of a value, or of an optional value.
pub(super) fn lookup(of: &Value, key: &Value) -> Result<Value, ExecutionError> {
    let found = match of {
        Value::Map(map) => {
            let key: Result<Key, _> = key.clone().try_into();
            let key = key.map_err(|_| no_key())?;
            map.map.get(&key).cloned()
        }
        Value::List(list) => {
            let place = match key {
                Value::Int(place) => usize::try_from(*place).ok(),
                Value::UInt(place) => usize::try_from(*place).ok(),
                _ => return Err(no_key()),
            };
            place.and_then(|place| list.get(place).cloned())
        }
        of => match <&OptionalValue>::try_from(of)?.value() {
            Some(of) => return lookup(of, key),
            None => None,
        },
    };
    let found = found.map_or_else(OptionalValue::none, OptionalValue::of);
    Ok(Value::Opaque(Arc::new(found)))
}

fn no_key() -> ExecutionError {
    ExecutionError::function_error("?", "no such key")
}
