//! Defaults, choices and failing on purpose.

use crate::function::Parameter::{Any, Bool, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, any, charge_items, takes, takes_more};
use reeve_go_compat::semver::VersionValue;
use reeve_go_compat::value::{List, Map, Value};

const DEFAULTS: Group = Group("Defaults and choices");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    DEFAULTS.function(
        "default",
        any(takes_more(&[Any], Any)),
        default,
        "default value",
        "The value, or the default if the value is empty.",
    ),
    DEFAULTS.function(
        "empty",
        takes(&[Any]),
        empty,
        "value",
        "Whether the value is nil, false, zero, or empty text, list or dictionary.",
    ),
    DEFAULTS.function(
        "coalesce",
        any(takes_more(&[], Any)),
        coalesce,
        "value...",
        "The first value that is not empty; nil if all are.",
    ),
    DEFAULTS.function(
        "all",
        takes_more(&[], Any),
        all,
        "value...",
        "Whether no value is empty.",
    ),
    DEFAULTS.function(
        "any",
        takes_more(&[], Any),
        any_of,
        "value...",
        "Whether some value is not empty.",
    ),
    DEFAULTS.function(
        "ternary",
        any(takes(&[Any, Any, Bool])),
        ternary,
        "yes no condition",
        "The first value if the condition is true, else the second.",
    ),
    DEFAULTS.function(
        "fail",
        takes(&[Str]),
        fail,
        "message",
        "Ends the template with this error.",
    ),
    DEFAULTS.function(
        "deepCopy",
        any(takes(&[Any])),
        deep_copy,
        "value",
        "A copy that shares nothing with the value.",
    ),
    DEFAULTS.function(
        "mustDeepCopy",
        any(takes(&[Any])),
        deep_copy,
        "value",
        "The same as `deepCopy`.",
    ),
];

/// What Sprig takes for empty: the zero value of a basic type and containers without items.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Struct(_) => false,
        Value::Native(native) => native.integer() == Some(0),
        other => !other.truth(),
    }
}

fn default(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let position = usize::from(!is_empty(arguments.any(1)));
    Ok(arguments.any(position).clone())
}

fn empty(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(is_empty(arguments.any(0))))
}

fn coalesce(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let found = arguments.all().iter().find(|value| !is_empty(value));
    Ok(found.cloned().unwrap_or(Value::Nil))
}

fn all(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(!arguments.all().iter().any(is_empty)))
}

fn any_of(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(!arguments.all().iter().all(is_empty)))
}

fn ternary(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let position = usize::from(!arguments.bool(2)?);
    Ok(arguments.any(position).clone())
}

fn fail(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Err(Failure::text(arguments.text(0)?))
}

fn deep_copy(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    match arguments.any(0) {
        Value::Nil | Value::Missing => Err(Failure::text(
            "reflect: call of reflect.Value.Type on zero Value",
        )),
        value => {
            env.meter.walk(value)?;
            copied(env, value)
        }
    }
}

/// A copy that shares nothing. Of a version nothing is copied upstream, for its fields are not
/// exported.
fn copied(env: &mut Env<'_>, value: &Value) -> Answer {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || copied_here(env, value))
}

fn copied_here(env: &mut Env<'_>, value: &Value) -> Answer {
    match value {
        Value::List(list) if !list.is_nil() => {
            charge_items(env, list.len())?;
            let items: Result<Vec<Value>, Failure> =
                list.iter().map(|item| copied(env, item)).collect();
            Ok(Value::List(List::new(list.element().clone(), items?)))
        }
        // What was read from a cluster holds no versions, and is copied without being looked at.
        Value::Map(map) if map.is_untouched() => Ok(value.deep_copy()),
        Value::Map(map) if !map.is_nil() => {
            charge_items(env, map.len())?;
            let copy = Map::typed(map.key_element(), map.element());
            for (key, item) in map.entries() {
                copy.insert(key, copied(env, &item)?);
            }
            if map.is_sensitive() {
                copy.mark_sensitive();
            }
            Ok(Value::Map(copy))
        }
        Value::Native(native) => {
            let version = native.as_any().downcast_ref::<VersionValue>();
            Ok(version.map_or_else(|| value.clone(), VersionValue::blank))
        }
        other => Ok(other.deep_copy()),
    }
}
