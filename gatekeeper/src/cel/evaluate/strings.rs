//! Functions of strings. Positions count characters.

use reeve_go_compat::regexp::Regexp;

use crate::cel::error::{EvalError, Evaluated};
use crate::cel::value::Value;

/// The most that a function of strings may make, in bytes.
const LARGEST: usize = 8 * 1024 * 1024;

/// Calls the function if it is one of strings.
pub fn call<'a>(name: &str, all: &[&Value<'a>]) -> Option<Evaluated<'a>> {
    if matches!(name, "indexOf" | "lastIndexOf") && matches!(all.first(), Some(Value::List(_))) {
        return None;
    }
    let result = match name {
        "contains" | "endsWith" | "startsWith" | "matches" => test(name, all),
        "charAt" | "substring" => part(name, all),
        "indexOf" | "lastIndexOf" => position(name, all),
        "lowerAscii" | "upperAscii" | "trim" | "strings.quote" => change(name, all),
        "replace" => replace(all),
        "split" => split(all),
        "join" => join(all),
        "find" | "findAll" => find(name, all),
        _ => return None,
    };
    Some(result)
}

fn test<'a>(name: &str, all: &[&Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text), Value::String(other)] = all else {
        let is_text = matches!(all.first(), Some(Value::String(_)));
        return Err(if name == "matches" && !is_text {
            EvalError::no_overload_of(name)
        } else {
            EvalError::no_overload()
        });
    };
    let (text, other) = (text.as_str(), other.as_str());
    Ok(Value::Bool(match name {
        "contains" => text.contains(other),
        "endsWith" => text.ends_with(other),
        "startsWith" => text.starts_with(other),
        _ => {
            let pattern = Regexp::compile(other.as_bytes());
            let pattern = pattern.map_err(|error| EvalError::new(error.to_string()))?;
            pattern.is_match(text.as_bytes())
        }
    }))
}

/// The position as an index into `length` characters, the end included.
fn place(position: i64, length: usize) -> Result<usize, EvalError> {
    usize::try_from(position)
        .ok()
        .filter(|place| *place <= length)
        .ok_or_else(|| EvalError::out_of_range(position))
}

fn between(characters: &[char], from: usize, to: usize) -> String {
    characters
        .iter()
        .skip(from)
        .take(to.saturating_sub(from))
        .collect()
}

fn part<'a>(name: &str, all: &[&Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text), Value::Int(from), rest @ ..] = all else {
        return Err(EvalError::no_overload_for(name, all));
    };
    let characters: Vec<char> = text.as_str().chars().collect();
    let length = characters.len();
    let part = match (name, rest) {
        ("charAt", []) => {
            let from = place(*from, length)?;
            between(&characters, from, from + 1)
        }
        (_, []) => between(&characters, place(*from, length)?, length),
        (_, [Value::Int(to)]) => {
            if from > to {
                let text = format!("invalid substring range. start: {from}, end: {to}");
                return Err(EvalError::new(text));
            }
            between(&characters, place(*from, length)?, place(*to, length)?)
        }
        _ => return Err(EvalError::no_overload_for(name, all)),
    };
    Ok(Value::text(part))
}

fn position<'a>(name: &str, all: &[&Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text), Value::String(wanted), rest @ ..] = all else {
        return Err(EvalError::no_overload_for(name, all));
    };
    let characters: Vec<char> = text.as_str().chars().collect();
    let wanted: Vec<char> = wanted.as_str().chars().collect();
    let given = match rest {
        [] => None,
        [Value::Int(given)] => Some(place(*given, characters.len())?),
        _ => return Err(EvalError::no_overload_for(name, all)),
    };
    let last = characters.len().checked_sub(wanted.len());
    let is_at = |at: &usize| characters.get(*at..*at + wanted.len()) == Some(&wanted);
    let found = last.and_then(|last| {
        if name == "indexOf" {
            (given.unwrap_or_default()..=last).find(is_at)
        } else {
            (0..=given.unwrap_or(last).min(last)).rev().find(is_at)
        }
    });
    let found = found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1);
    Ok(Value::Int(found))
}

fn change<'a>(name: &str, all: &[&Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text)] = all else {
        return Err(EvalError::no_overload_for(name, all));
    };
    let text = text.as_str();
    Ok(match name {
        "lowerAscii" => Value::text(text.to_ascii_lowercase()),
        "upperAscii" => Value::text(text.to_ascii_uppercase()),
        "trim" => Value::text(text.trim()),
        _ => Value::text(quote(text)),
    })
}

/// A string literal.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// How often at most; always if it is not given or negative.
fn limit(value: Option<&&Value<'_>>) -> Result<Option<usize>, NotANumber> {
    match value {
        None => Ok(None),
        Some(Value::Int(limit)) => Ok(usize::try_from(*limit).ok()),
        Some(_) => Err(NotANumber),
    }
}

/// A limit of another type.
struct NotANumber;

fn replace<'a>(all: &[&Value<'a>]) -> Evaluated<'a> {
    let mismatch = || EvalError::no_overload_for("replace", all);
    let [
        Value::String(text),
        Value::String(from),
        Value::String(to),
        rest @ ..,
    ] = all
    else {
        return Err(mismatch());
    };
    let limit = limit(rest.first()).map_err(|_| mismatch())?;
    let (text, from, to) = (text.as_str(), from.as_str(), to.as_str());
    let times = if from.is_empty() {
        text.chars().count() + 1
    } else {
        text.len() / from.len()
    };
    let largest = times.saturating_mul(to.len()).saturating_add(text.len());
    if largest > LARGEST {
        return Err(EvalError::cost_exceeded());
    }
    let replaced = match limit {
        Some(limit) => text.replacen(from, to, limit),
        None => text.replace(from, to),
    };
    Ok(Value::text(replaced))
}

fn split<'a>(all: &[&Value<'a>]) -> Evaluated<'a> {
    let mismatch = || EvalError::no_overload_for("split", all);
    let [Value::String(text), Value::String(separator), rest @ ..] = all else {
        return Err(mismatch());
    };
    let limit = limit(rest.first()).map_err(|_| mismatch())?;
    let (text, separator) = (text.as_str(), separator.as_str());
    let parts: Vec<Value<'a>> = match (limit, separator) {
        (Some(0), _) => Vec::new(),
        (Some(limit), "") => {
            let whole: Vec<char> = text.chars().collect();
            let single = whole.len().min(limit.saturating_sub(1));
            let (single, rest) = whole.split_at(single);
            let rest: String = rest.iter().collect();
            let single = single.iter().map(|one| Value::text(one.to_string()));
            single
                .chain((!rest.is_empty()).then(|| Value::text(rest)))
                .collect()
        }
        (None, "") => text
            .chars()
            .map(|one| Value::text(one.to_string()))
            .collect(),
        (Some(limit), _) => text.splitn(limit, separator).map(Value::text).collect(),
        (None, _) => text.split(separator).map(Value::text).collect(),
    };
    Ok(Value::list(parts))
}

fn join<'a>(all: &[&Value<'a>]) -> Evaluated<'a> {
    let mismatch = || EvalError::no_overload_for("join", all);
    let (list, separator) = match all {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, separator.as_str()),
        _ => return Err(mismatch()),
    };
    let mut joined = String::new();
    for (index, value) in list.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(value.as_str().ok_or_else(mismatch)?);
        if joined.len() > LARGEST {
            return Err(EvalError::cost_exceeded());
        }
    }
    Ok(Value::text(joined))
}

fn find<'a>(name: &str, all: &[&Value<'a>]) -> Evaluated<'a> {
    let mismatch = || EvalError::no_overload_for(name, all);
    let [Value::String(text), Value::String(pattern), rest @ ..] = all else {
        return Err(EvalError::no_overload());
    };
    let limit = limit(rest.first()).map_err(|_| mismatch())?;
    let pattern = Regexp::compile(pattern.as_str().as_bytes());
    let pattern = pattern.map_err(|error| EvalError::new(format!("Illegal regex: {error}")))?;
    let text = text.as_str().as_bytes();
    let shown = |found: &[u8]| Value::text(String::from_utf8_lossy(found));
    if name == "find" {
        return Ok(pattern.find(text).map_or_else(|| Value::text(""), shown));
    }
    let most = limit
        .and_then(|limit| i64::try_from(limit).ok())
        .unwrap_or(-1);
    let found = pattern.find_all::<EvalError>(text, most, || Ok(()))?;
    Ok(Value::list(found.into_iter().map(shown).collect()))
}
