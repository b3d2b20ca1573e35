//! Trimming, cutting, padding and comparing text.

use crate::function::Parameter::{Int, Str};
use crate::function::{Arguments, Env, Failure, Function};
use std::collections::HashSet;

use crate::functions::define::{Answer, Group, answer, charge_bytes, part, takes};
use reeve_go_compat::runes;
use reeve_go_compat::value::Value;

const STRINGS: Group = Group("Strings");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    STRINGS.function(
        "hello",
        takes(&[]),
        hello,
        "",
        "Answers `Hello!`; for trying out templates.",
    ),
    STRINGS.function(
        "trim",
        takes(&[Str]),
        trim,
        "text",
        "Removes white space from both ends.",
    ),
    STRINGS.function(
        "trimAll",
        takes(&[Str, Str]),
        trim_all,
        "characters text",
        "Removes any of the given characters from both ends.",
    ),
    STRINGS.function(
        "trimall",
        takes(&[Str, Str]),
        trim_all,
        "characters text",
        "The older name of `trimAll`.",
    ),
    STRINGS.function(
        "trimPrefix",
        takes(&[Str, Str]),
        trim_prefix,
        "prefix text",
        "Removes the prefix, if the text starts with it.",
    ),
    STRINGS.function(
        "trimSuffix",
        takes(&[Str, Str]),
        trim_suffix,
        "suffix text",
        "Removes the suffix, if the text ends with it.",
    ),
    STRINGS.function(
        "contains",
        takes(&[Str, Str]),
        contains,
        "part text",
        "Whether the text contains the part.",
    ),
    STRINGS.function(
        "hasPrefix",
        takes(&[Str, Str]),
        has_prefix,
        "prefix text",
        "Whether the text starts with the prefix.",
    ),
    STRINGS.function(
        "hasSuffix",
        takes(&[Str, Str]),
        has_suffix,
        "suffix text",
        "Whether the text ends with the suffix.",
    ),
    STRINGS.function(
        "repeat",
        takes(&[Int, Str]),
        repeat,
        "count text",
        "The text as many times as the count says. A negative count is an error.",
    ),
    STRINGS.function(
        "replace",
        takes(&[Str, Str, Str]),
        replace,
        "old new text",
        "Replaces every occurrence of the old part by the new one.",
    ),
    STRINGS.function(
        "trunc",
        takes(&[Int, Str]),
        trunc,
        "length text",
        "The first bytes of the text, or the last ones if the length is negative.",
    ),
    STRINGS.function(
        "substr",
        takes(&[Int, Int, Str]),
        substr,
        "start end text",
        "The bytes from start up to, not including, end. A negative start means the beginning; \
         a negative or too large end means the end.",
    ),
    STRINGS.function(
        "nindent",
        takes(&[Int, Str]),
        nindent,
        "spaces text",
        "Indents every line by this many spaces, after a line break.",
    ),
    STRINGS.function(
        "plural",
        takes(&[Str, Str, Int]),
        plural,
        "one many count",
        "The first text if the count is one, else the second.",
    ),
];

fn hello(_: &mut Env<'_>, _: &Arguments<'_>) -> Answer {
    answer("Hello!")
}

fn trim(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    part(env, trimmed(arguments.str(0)?))
}

/// `strings.TrimSpace`: the text without the white space around it.
pub fn trimmed(text: &[u8]) -> &[u8] {
    trim_matching(text, &|rune| rune.is_some_and(char::is_whitespace))
}

fn trim_all(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (cut, text) = (arguments.str(0)?, arguments.str(1)?);
    charge_bytes(env, cut.len())?;
    let characters: HashSet<char> = decode_all(cut).into_iter().collect();
    let text = trim_matching(text, &|rune| {
        characters.contains(&rune.unwrap_or(char::REPLACEMENT_CHARACTER))
    });
    part(env, text)
}

/// The characters as Go ranges over a string: U+FFFD for every byte that is not UTF-8.
pub fn decode_all(text: &[u8]) -> Vec<char> {
    let mut characters = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (rune, width) = runes::decode(rest);
        characters.push(rune.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = rest.get(width..).unwrap_or_default();
    }
    characters
}

fn decode_last(text: &[u8]) -> (Option<char>, usize) {
    for width in 1..=text.len().min(4) {
        let tail = text.get(text.len() - width..).unwrap_or_default();
        if let (Some(rune), decoded) = runes::decode(tail)
            && decoded == width
        {
            return (Some(rune), width);
        }
    }
    (None, text.len().min(1))
}

fn trim_matching<'a>(text: &'a [u8], matches: &dyn Fn(Option<char>) -> bool) -> &'a [u8] {
    let mut rest = text;
    while !rest.is_empty() {
        let (rune, width) = runes::decode(rest);
        if !matches(rune) {
            break;
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    while !rest.is_empty() {
        let (rune, width) = decode_last(rest);
        if !matches(rune) {
            break;
        }
        rest = rest.get(..rest.len() - width).unwrap_or_default();
    }
    rest
}

fn trim_prefix(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (prefix, text) = (arguments.str(0)?, arguments.str(1)?);
    part(env, text.strip_prefix(&**prefix).unwrap_or(text))
}

fn trim_suffix(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (suffix, text) = (arguments.str(0)?, arguments.str(1)?);
    part(env, text.strip_suffix(&**suffix).unwrap_or(text))
}

fn contains(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let found = find(arguments.str(1)?, arguments.str(0)?).is_some();
    Ok(Value::Bool(found))
}

/// Where the part first occurs.
pub fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

fn has_prefix(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(
        arguments.str(1)?.starts_with(arguments.str(0)?),
    ))
}

fn has_suffix(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(arguments.str(1)?.ends_with(arguments.str(0)?)))
}

fn repeat(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    answer(repeated(env, arguments.int(0)?, arguments.str(1)?)?)
}

/// Go's `strings.Repeat` under the budget.
pub fn repeated(env: &mut Env<'_>, count: i64, text: &[u8]) -> Result<Vec<u8>, Failure> {
    let Ok(count) = usize::try_from(count) else {
        return Err(Failure::text("strings: negative Repeat count"));
    };
    let length = text.len().checked_mul(count);
    let Some(length) = length.filter(|length| i64::try_from(*length).is_ok()) else {
        return Err(Failure::text("strings: Repeat output length overflow"));
    };
    if length == 0 {
        return Ok(Vec::new());
    }
    charge_bytes(env, length)?;
    Ok(text.repeat(count))
}

fn replace(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (old, new, text) = (arguments.str(0)?, arguments.str(1)?, arguments.str(2)?);
    answer(replaced(env, text, old, new)?)
}

/// Go's `strings.ReplaceAll` under the budget: an empty part occurs around every rune.
pub fn replaced(
    env: &mut Env<'_>,
    text: &[u8],
    old: &[u8],
    new: &[u8],
) -> Result<Vec<u8>, Failure> {
    let mut result = Vec::new();
    let mut rest = text;
    if old.is_empty() {
        charge_bytes(env, new.len())?;
        result.extend_from_slice(new);
        while !rest.is_empty() {
            let (_, width) = runes::decode(rest);
            let (rune, tail) = rest.split_at(width);
            charge_bytes(env, width + new.len())?;
            result.extend_from_slice(rune);
            result.extend_from_slice(new);
            rest = tail;
        }
        return Ok(result);
    }
    while let Some(position) = find(rest, old) {
        let (kept, tail) = rest.split_at(position);
        charge_bytes(env, kept.len() + new.len())?;
        result.extend_from_slice(kept);
        result.extend_from_slice(new);
        rest = tail.get(old.len()..).unwrap_or_default();
    }
    charge_bytes(env, rest.len())?;
    result.extend_from_slice(rest);
    Ok(result)
}

fn trunc(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (length, text) = (arguments.int(0)?, arguments.str(1)?);
    let wanted = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    if wanted >= text.len() {
        return Ok(Value::Str(text.clone()));
    }
    if length < 0 {
        return part(env, text.get(text.len() - wanted..).unwrap_or_default());
    }
    part(env, text.get(..wanted).unwrap_or_default())
}

fn substr(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (start, end, text) = (arguments.int(0)?, arguments.int(1)?, arguments.str(2)?);
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let position = |number: i64| usize::try_from(number).unwrap_or(0);
    let out_of_range = |range: String| {
        Err(Failure::text(format!(
            "runtime error: slice bounds out of range {range}"
        )))
    };
    if start < 0 {
        if end < 0 {
            return out_of_range(format!("[:{end}]"));
        }
        if end > length {
            return out_of_range(format!("[:{end}] with length {length}"));
        }
        return part(env, text.get(..position(end)).unwrap_or_default());
    }
    let end = if end < 0 || end > length { length } else { end };
    if start > end {
        return out_of_range(format!("[{start}:{end}]"));
    }
    part(
        env,
        text.get(position(start)..position(end)).unwrap_or_default(),
    )
}

fn nindent(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut result = b"\n".to_vec();
    result.extend(indented(env, arguments.int(0)?, arguments.str(1)?)?);
    answer(result)
}

/// Sprig's `indent`: every line after this many spaces.
pub fn indented(env: &mut Env<'_>, spaces: i64, text: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut pad = repeated(env, spaces, b" ")?;
    let mut line_break = b"\n".to_vec();
    line_break.extend_from_slice(&pad);
    pad.extend(replaced(env, text, b"\n", &line_break)?);
    Ok(pad)
}

fn plural(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let position = usize::from(arguments.int(2)? != 1);
    Ok(Value::Str(arguments.str(position)?.clone()))
}
