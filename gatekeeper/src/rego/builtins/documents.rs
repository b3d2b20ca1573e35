//! JSON and YAML, with numbers as Go reads and writes them.

use std::collections::BTreeMap;
use std::fmt::Write;

use reeve_go_compat::{json, yaml};
use regorus::Value;
use serde_json::value::RawValue;

use super::{charge, deep_size};
use crate::Json;
use crate::rego::text;
use crate::rego::value::{LONG_NUMBER, is_shallow, to_document_value, to_json, to_written_value};

/// Whole numbers of fewer digits fit into 64 bits.
const LONG_DIGITS: usize = 19;
/// Longer ones than a source may have are floats.
const MAX_DIGITS: usize = 30_103;

/// JSON as Go writes it.
pub fn marshal(args: &[Value]) -> anyhow::Result<Value> {
    match args.first() {
        Some(value) => made(compact(value)?),
        None => Ok(Value::Undefined),
    }
}

/// JSON in lines, with a prefix and an indent, where the options ask for it.
pub fn marshal_with_options(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(value), Some(Value::Object(options))) = (args.first(), args.get(1)) else {
        return Ok(Value::Undefined);
    };
    let (mut prefix, mut indent) = ("", "\t");
    let (mut is_pretty, mut is_implied) = (None, false);
    for (name, option) in options.iter_sorted() {
        let Value::String(name) = name else {
            return Ok(Value::Undefined);
        };
        match (&**name, option) {
            ("prefix", Value::String(text)) => prefix = text,
            ("indent", Value::String(text)) => indent = text,
            ("pretty", Value::Bool(pretty)) => is_pretty = Some(*pretty),
            _ => return Ok(Value::Undefined),
        }
        is_implied |= &**name != "pretty";
    }
    let json = compact(value)?;
    if !is_pretty.unwrap_or(is_implied) {
        return made(json);
    }
    let lines = json::indent(json.as_bytes(), prefix, indent, &mut |bytes| {
        charge(usize::try_from(bytes)?)
    })?;
    let lines = String::from_utf8_lossy(&lines);
    // The library puts the prefix before the first line, too, which Go does not.
    Ok(Value::from(format!("{prefix}{lines}")))
}

fn made(text: String) -> anyhow::Result<Value> {
    charge(text.len())?;
    Ok(Value::from(text))
}

/// JSON in one line. Go escapes what HTML would take for its own.
fn compact(value: &Value) -> anyhow::Result<String> {
    charge(deep_size(value, &mut 1_000_000))?;
    let mut json = String::new();
    encode(value, &mut json)?;
    let mut out = String::with_capacity(json.len());
    for rune in json.chars() {
        match rune {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(rune))?;
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

/// JSON with the numbers as they are written. Keys that are no texts are their JSON.
fn encode(value: &Value, out: &mut String) -> anyhow::Result<()> {
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(value) => write!(out, "{value}")?,
        Value::Number(_) => out.push_str(&text::of_number(value)),
        Value::String(text) => out.push_str(&serde_json::to_string(&**text)?),
        Value::Array(list) => encode_list(list.iter(), out)?,
        Value::Set(set) => {
            let mut members: Vec<&Value> = set.iter_sorted().collect();
            members.sort_by(|one, other| text::compare(one, other));
            encode_list(members.into_iter(), out)?;
        }
        Value::Object(object) => {
            let mut members = BTreeMap::new();
            for (key, member) in object.iter_sorted() {
                let mut name = String::new();
                match key {
                    Value::String(text) => name.push_str(text),
                    other => encode(other, &mut name)?,
                }
                members.insert(name, member);
            }
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::to_string(&name)?);
                out.push(':');
                encode(member, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn encode_list<'a>(
    members: impl Iterator<Item = &'a Value>,
    out: &mut String,
) -> anyhow::Result<()> {
    out.push('[');
    for (index, member) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        encode(member, out)?;
    }
    out.push(']');
    Ok(())
}

/// Documents as kubectl writes them.
pub fn marshal_yaml(args: &[Value]) -> anyhow::Result<Value> {
    let Some(value) = args.first() else {
        return Ok(Value::Undefined);
    };
    charge(deep_size(value, &mut 1_000_000))?;
    let Ok(yaml) = yaml::encode_sigs(&to_json(value)) else {
        return Ok(Value::Undefined);
    };
    charge(yaml.len())?;
    Ok(Value::from(String::from_utf8_lossy(&yaml).into_owned()))
}

/// Documents as kubectl reads them: `yes` and `on` are true.
pub fn unmarshal_yaml(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::Undefined);
    };
    charge(text.len())?;
    let document = yaml::decode_sigs_json(text.as_bytes());
    let document = document.ok().filter(is_shallow);
    Ok(document.map_or(Value::Undefined, |document| to_document_value(&document)))
}

/// Whether a text is YAML.
pub fn is_valid_yaml(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::from(false));
    };
    charge(text.len())?;
    Ok(Value::from(yaml::decode_sigs(text.as_bytes()).is_ok()))
}

/// Whether a text is JSON, whatever the size of its numbers.
pub fn is_valid_json(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::from(false));
    };
    charge(text.len())?;
    Ok(Value::from(serde_json::from_str::<&RawValue>(text).is_ok()))
}

/// The engine reads one member as a number of any length, which takes any time; here it is a member as others.
pub fn unmarshal_json(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::Undefined);
    };
    charge(text.len())?;
    let rewritten = with_long_numbers_as_texts(text);
    let document = serde_json::from_str::<Json>(rewritten.as_deref().unwrap_or(text));
    Ok(document.map_or(Value::Undefined, |document| {
        to_written_value(&document, rewritten.is_some())
    }))
}

/// The document with every whole number that may have more than 64 bits as a text that no other text is; none when there is none.
fn with_long_numbers_as_texts(document: &str) -> Option<String> {
    let escape = format!("\\u{:04x}", u32::from(LONG_NUMBER));
    let has_long = document
        .as_bytes()
        .split(|byte| !byte.is_ascii_digit())
        .any(|digits| digits.len() >= LONG_DIGITS);
    // Another text could be taken for a number only if it is written with this escape.
    if !has_long || document.contains(&escape) {
        return None;
    }
    let mut out = String::with_capacity(document.len() + 64);
    let mut rest = document;
    while let Some(at) = rest.find(|rune: char| rune == '"' || rune == '-' || rune.is_ascii_digit())
    {
        let (before, token) = rest.split_at(at);
        out.push_str(before);
        let (token, after) = token.split_at(token_length(token));
        if is_long_whole(token) {
            let _ = write!(out, "\"{escape}{token}\"");
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// How long the text or number is that a document begins with.
fn token_length(document: &str) -> usize {
    let bytes = document.as_bytes();
    if bytes.first() != Some(&b'"') {
        let ends = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        return bytes.iter().position(ends).unwrap_or(bytes.len());
    }
    let mut at = 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') if at + 1 < bytes.len() && document.is_char_boundary(at + 2) => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

fn is_long_whole(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    (LONG_DIGITS..=MAX_DIGITS).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0')
}
