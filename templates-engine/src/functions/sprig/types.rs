//! Asking for types.

use crate::function::Parameter::{Any, Str};
use crate::function::{Arguments, Env, Function};
use crate::functions::define::{Answer, Group, takes};
use reeve_go_compat::value::Value;

const TYPES: Group = Group("Types");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    TYPES.function(
        "typeOf",
        takes(&[Any]),
        type_of,
        "value",
        "The name of the value's type, such as `map[string]interface {}`.",
    ),
    TYPES.function(
        "typeIs",
        takes(&[Str, Any]),
        type_is,
        "name value",
        "Whether the value's type has this name.",
    ),
    TYPES.function(
        "typeIsLike",
        takes(&[Str, Any]),
        type_is_like,
        "name value",
        "Whether the value's type has this name, or points to what has.",
    ),
    TYPES.function(
        "kindOf",
        takes(&[Any]),
        kind_of,
        "value",
        "The kind of the value, such as `map`, `slice` or `string`.",
    ),
    TYPES.function(
        "kindIs",
        takes(&[Str, Any]),
        kind_is,
        "name value",
        "Whether the value is of this kind.",
    ),
    TYPES.function(
        "deepEqual",
        takes(&[Any, Any]),
        deep_equal,
        "value other",
        "Whether both are of the same type and have the same contents.",
    ),
];

fn type_of(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::from(&*arguments.any(0).type_name()))
}

fn type_is(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let name = arguments.any(1).type_name();
    Ok(Value::Bool(*arguments.str(0)? == *name))
}

fn type_is_like(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (wanted, name) = (arguments.str(0)?, arguments.any(1).type_name());
    let pointed = name.strip_prefix('*').is_some_and(|name| *wanted == *name);
    Ok(Value::Bool(pointed || *wanted == *name))
}

fn kind_of(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::from(arguments.any(0).kind().to_string()))
}

fn kind_is(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let kind = arguments.any(1).kind().to_string();
    Ok(Value::Bool(*arguments.str(0)? == *kind))
}

fn deep_equal(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    env.walk(arguments.all())?;
    let equal = arguments.any(0).deep_equal(arguments.any(1));
    Ok(Value::Bool(equal))
}
