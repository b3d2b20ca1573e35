//! Go's own functions that print, measure and call.

use super::define::{Answer, Group, answer, charge_bytes, takes, takes_more};
use crate::function::Parameter::{Any, Reflect, Str};
use crate::function::{Arguments, Env, Failure, Function};
use reeve_go_compat::printing;
use reeve_go_compat::value::Value;

const GO: Group = Group("Language");

/// The table of this topic.
pub(super) const FUNCTIONS: &[Function] = &[
    GO.function(
        "print",
        takes_more(&[], Any),
        print,
        "value…",
        "The values as text, with a space between two of which neither is a string.",
    ),
    GO.function(
        "printf",
        takes_more(&[Str], Any),
        printf,
        "format value…",
        "The values laid out by a format with Go's verbs, such as `%s`, `%d`, `%q` and `%v`.",
    ),
    GO.function(
        "println",
        takes_more(&[], Any),
        println,
        "value…",
        "The values as text with spaces between all of them, and a newline.",
    ),
    GO.function(
        "len",
        takes(&[Reflect]),
        len,
        "value",
        "The length of a list or map, or of a string in bytes.",
    ),
    GO.function(
        "not",
        takes(&[Reflect]),
        not,
        "value",
        "Whether the value is false, zero, empty or missing.",
    ),
    GO.function(
        "call",
        takes_more(&[Reflect], Reflect),
        call,
        "function value…",
        "Calls a function value. No value in a policy's templates is one, so it always fails.",
    ),
];

fn print(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    env.walk(arguments.all())?;
    let text = printing::sprint(arguments.all());
    charge_bytes(env, text.len())?;
    answer(text)
}

fn println(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    env.walk(arguments.all())?;
    let text = printing::sprintln(arguments.all());
    charge_bytes(env, text.len())?;
    answer(text)
}

fn printf(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    env.walk(arguments.all())?;
    let format = arguments.str(0)?;
    let left = env.meter.bytes_left();
    let Some(text) = printing::sprintf(format, arguments.from(1), left) else {
        return Err(env.meter.bytes_exceeded().into());
    };
    charge_bytes(env, text.len())?;
    answer(text)
}

fn len(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let length = match arguments.any(0) {
        Value::Str(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::Nil => return Err(Failure::text("len of nil pointer")),
        Value::Missing => {
            return Err(Failure::text(
                "reflect: call of reflect.Value.Type on zero Value",
            ));
        }
        other => {
            let of = other.pointed_to();
            return Err(Failure::text(format!("len of type {of}")));
        }
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

#[allow(clippy::unnecessary_wraps)] // a body like the others
fn not(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(!arguments.any(0).truth()))
}

/// The evaluator puts the callee's source before the arguments.
fn call(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let name = arguments.text(0)?;
    match arguments.any(1) {
        Value::Nil | Value::Missing => Err(Failure::text("call of nil")),
        other => Err(Failure::text(format!(
            "non-function {name} of type {}",
            other.type_name()
        ))),
    }
}
