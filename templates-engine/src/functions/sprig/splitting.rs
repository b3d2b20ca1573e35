//! Text to lists and back, and quoting.

use super::strings::find;
use crate::function::Parameter::{Any, Int, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{
    Answer, Group, answer, charge_bytes, charge_items, charge_value, takes, takes_more,
};
use reeve_go_compat::value::{Element, Key, List, Map, Value};
use reeve_go_compat::{printing, runes, value};

const SPLITTING: Group = Group("Text and lists");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    SPLITTING.function(
        "quote",
        takes_more(&[], Any),
        quote,
        "value...",
        "Each value in double quotes, with escapes, separated by spaces. Nil is left out.",
    ),
    SPLITTING.function(
        "squote",
        takes_more(&[], Any),
        squote,
        "value...",
        "Each value in single quotes, without escapes, separated by spaces. Nil is left out.",
    ),
    SPLITTING.function(
        "cat",
        takes_more(&[], Any),
        cat,
        "value...",
        "All values as text, separated by spaces. Nil is left out.",
    ),
    SPLITTING.function(
        "toString",
        takes(&[Any]),
        to_string,
        "value",
        "The value as text.",
    ),
    SPLITTING.function(
        "toStrings",
        takes(&[Any]),
        to_strings,
        "list",
        "Every item as text. Nil items are left out; what is not a list becomes a list of one.",
    ),
    SPLITTING.function(
        "join",
        takes(&[Str, Any]),
        join,
        "separator list",
        "All items as text with the separator between them. Nil items are left out.",
    ),
    SPLITTING.function(
        "sortAlpha",
        takes(&[Any]),
        sort_alpha,
        "list",
        "Every item as text, sorted bytewise.",
    ),
    SPLITTING.function(
        "splitList",
        takes(&[Str, Str]),
        split_list,
        "separator text",
        "The parts of the text as a list.",
    ),
    SPLITTING.function(
        "split",
        takes(&[Str, Str]),
        split,
        "separator text",
        "The parts of the text as a dictionary with the keys `_0`, `_1` and so on.",
    ),
    SPLITTING.function(
        "splitn",
        takes(&[Str, Int, Str]),
        splitn,
        "separator count text",
        "Like `split`, with at most this many parts; the last one keeps the rest.",
    ),
];

fn is_nil(value: &Value) -> bool {
    matches!(value, Value::Nil | Value::Missing)
}

fn with_spaces(
    env: &mut Env<'_>,
    arguments: &Arguments<'_>,
    render: impl Fn(&Value) -> Vec<u8>,
) -> Result<Vec<u8>, Failure> {
    let mut result = Vec::new();
    for (position, value) in arguments
        .all()
        .iter()
        .filter(|value| !is_nil(value))
        .enumerate()
    {
        if position > 0 {
            result.push(b' ');
        }
        charge_value(env, value)?;
        result.extend(render(value));
    }
    Ok(result)
}

fn quote(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = with_spaces(env, arguments, |value| {
        runes::quote(printing::display(value)).into_bytes()
    })?;
    answer(text)
}

fn squote(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = with_spaces(env, arguments, |value| {
        let mut quoted = b"'".to_vec();
        quoted.extend(printing::display(value));
        quoted.push(b'\'');
        quoted
    })?;
    answer(text)
}

fn cat(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    answer(with_spaces(env, arguments, printing::display)?)
}

/// The value as text: a string is itself, everything else is printed.
pub fn text_of(env: &mut Env<'_>, value: &Value) -> Result<value::Str, Failure> {
    if let Value::Str(text) = value {
        return Ok(text.clone());
    }
    charge_value(env, value)?;
    Ok(printing::display(value).into())
}

fn to_string(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Str(text_of(env, arguments.any(0))?))
}

/// Sprig's `toStrings`.
pub fn texts_of(env: &mut Env<'_>, value: &Value) -> Result<Vec<value::Str>, Failure> {
    match value {
        Value::Nil | Value::Missing => Ok(Vec::new()),
        Value::List(list) => {
            charge_items(env, list.len())?;
            list.iter()
                .filter(|item| !is_nil(item))
                .map(|item| text_of(env, item))
                .collect()
        }
        single => Ok(vec![text_of(env, single)?]),
    }
}

fn to_strings(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    // A list of strings is answered as it is, even when it is nil.
    if let Value::List(list) = arguments.any(0)
        && *list.element() == Element::Str
    {
        return Ok(Value::List(list.clone()));
    }
    Ok(Value::strings(texts_of(env, arguments.any(0))?))
}

fn join(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let separator = arguments.str(0)?;
    let texts = texts_of(env, arguments.any(1))?;
    let mut result = Vec::new();
    for (position, text) in texts.iter().enumerate() {
        charge_bytes(env, separator.len() + text.len())?;
        if position > 0 {
            result.extend_from_slice(separator);
        }
        result.extend_from_slice(text);
    }
    answer(result)
}

fn sort_alpha(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    match arguments.any(0) {
        Value::List(list) if list.is_nil() && *list.element() == Element::Str => {
            Ok(Value::List(list.clone()))
        }
        Value::List(_) => {
            let mut texts = texts_of(env, arguments.any(0))?;
            texts.sort();
            Ok(Value::strings(texts))
        }
        other => Ok(Value::strings([text_of(env, other)?])),
    }
}

/// Go's `strings.SplitN`: an empty separator splits after every rune; a negative count means all.
fn parts<'a>(
    env: &mut Env<'_>,
    separator: &[u8],
    count: i64,
    text: &'a [u8],
) -> Result<Vec<&'a [u8]>, Failure> {
    let mut found = Vec::new();
    if count == 0 {
        return Ok(found);
    }
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut rest = text;
    if separator.is_empty() {
        while !rest.is_empty() && found.len().saturating_add(1) < most {
            charge_items(env, 1)?;
            let (part, tail) = rest.split_at(runes::decode(rest).1);
            found.push(part);
            rest = tail;
        }
        if !rest.is_empty() {
            found.push(rest);
        }
        return Ok(found);
    }
    while found.len().saturating_add(1) < most {
        let Some(position) = find(rest, separator) else {
            break;
        };
        charge_items(env, 1)?;
        found.push(rest.get(..position).unwrap_or_default());
        rest = rest.get(position + separator.len()..).unwrap_or_default();
    }
    found.push(rest);
    Ok(found)
}

fn split_list(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (separator, text) = (arguments.str(0)?, arguments.str(1)?);
    charge_bytes(env, text.len())?;
    let parts = parts(env, separator, -1, text)?;
    Ok(Value::List(List::new(
        Element::Str,
        parts.into_iter().map(|part| Value::Str(part.into())),
    )))
}

fn numbered(env: &mut Env<'_>, separator: &[u8], count: i64, text: &[u8]) -> Answer {
    charge_bytes(env, text.len())?;
    let map = Map::typed(Element::Str, Element::Str);
    for (position, part) in parts(env, separator, count, text)?.into_iter().enumerate() {
        map.insert(
            Key::Str(format!("_{position}").into()),
            Value::Str(part.into()),
        );
    }
    Ok(Value::Map(map))
}

fn split(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    numbered(env, arguments.str(0)?, -1, arguments.str(1)?)
}

fn splitn(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    numbered(env, arguments.str(0)?, arguments.int(1)?, arguments.str(2)?)
}
