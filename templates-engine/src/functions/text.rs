//! Text and type functions of the engine's own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::define::{Answer, Group, answer, charge_bytes, takes};
use super::sprig::cast;
use super::sprig::strings::{indented, trimmed};
use crate::function::Parameter::{Any, Int, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::messages;
use reeve_go_compat::strconv;
use reeve_go_compat::value::Value;

const TEXT: Group = Group("Text and types");

const ENCODE: &str = "The text in base64.";
const DECODE: &str =
    "The text that this base64 stands for. What cannot be decoded yields the error's text.";

/// The table of this topic.
pub(super) const FUNCTIONS: &[Function] = &[
    TEXT.function("base64enc", takes(&[Str]), encode, "text", ENCODE),
    TEXT.function("b64enc", takes(&[Str]), encode, "text", ENCODE),
    TEXT.function("base64dec", takes(&[Str]), decode, "text", DECODE),
    TEXT.function("b64dec", takes(&[Str]), decode, "text", DECODE),
    TEXT.function("indent", takes(&[Int, Str]), indent, "spaces text", "The text with every line but the first indented, and no space around it. In a hub template eight spaces are added, because the text lands that much deeper in the replicated policy."),
    TEXT.function("autoindent", takes(&[Str]), autoindent, "text", "Like `indent`, with as many spaces as stand before the action. It must be the last function of its action, and the first `autoindent` of its line."),
    TEXT.function("atoi", takes(&[Str]), atoi, "text", "The decimal number in the text; zero where there is none."),
    TEXT.function("toInt", takes(&[Any]), to_int, "value", "The value as a number. As the last function of a quoted action, `'{{ … | toInt }}'`, it also makes the field a number instead of a string."),
    TEXT.function("toBool", takes(&[Str]), to_bool, "text", "Whether the text says true (`1`, `t`, `T`, `TRUE`, `true`, `True`). As the last function of a quoted action it also makes the field a boolean instead of a string."),
    TEXT.function("toLiteral", takes(&[Str]), to_literal, "text", "The text as it is, which must be one line. As the last function of a quoted action it makes the field whatever the text is in YAML: a list, a map, a number."),
];

/// What Sprig means by names that the engine has other functions for.
pub(super) const SPRIG_FUNCTIONS: &[Function] = &[TEXT.function(
    "indent",
    takes(&[Int, Str]),
    indent_every_line,
    "spaces text",
    "The text with every line indented.",
)];

fn encode(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len().saturating_mul(4) / 3)?;
    answer(STANDARD.encode(&**text))
}

fn decode(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len())?;
    match reeve_go_compat::base64::decode(text) {
        Ok(bytes) => answer(bytes),
        Err(error) => answer(error),
    }
}

fn indent(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let spaces = arguments
        .int(0)?
        .saturating_add(env.cluster.additional_indentation());
    let indented = indented(env, spaces, arguments.str(1)?)?;
    answer(trimmed(&indented))
}

fn indent_every_line(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    answer(indented(env, arguments.int(0)?, arguments.str(1)?)?)
}

fn autoindent(_: &mut Env<'_>, _: &Arguments<'_>) -> Answer {
    Err(Failure::text(messages::AUTOINDENT_NOT_PROCESSED))
}

fn atoi(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.text(0)?;
    Ok(Value::Int(strconv::nearest_int(&text)))
}

#[allow(clippy::unnecessary_wraps)] // a body like the others
fn to_int(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Int(cast::to_int(arguments.any(0))))
}

fn to_bool(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.text(0)?;
    Ok(Value::Bool(
        strconv::parse_bool(text.as_ref()) == Some(true),
    ))
}

fn to_literal(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    if text.contains(&b'\n') {
        return Err(Failure::text(messages::LITERAL_WITH_NEW_LINES));
    }
    answer(text.clone())
}
