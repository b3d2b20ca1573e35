//! Functions of texts whose results are otherwise in the engine.

use std::collections::BTreeMap;
use std::fmt::Write;

use reeve_go_compat::{json, runes};
use regorus::Value;

use super::{charge, charged, deep_size};
use crate::rego::text;
use crate::rego::value::{to_document_value, to_json};

fn mapped(args: &[Value], map: impl Fn(&str) -> String) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::Undefined);
    };
    let text = map(text);
    charge(text.len())?;
    Ok(Value::from(text))
}

/// Rune by rune, as Go does: the length stays.
pub fn upper(args: &[Value]) -> anyhow::Result<Value> {
    mapped(args, |text| text.chars().map(runes::to_upper).collect())
}

/// Rune by rune, as Go does: the length stays.
pub fn lower(args: &[Value]) -> anyhow::Result<Value> {
    mapped(args, |text| text.chars().map(runes::to_lower).collect())
}

pub fn quote_glob(args: &[Value]) -> anyhow::Result<Value> {
    mapped(args, |text| {
        let mut out = String::with_capacity(text.len());
        for rune in text.chars() {
            if matches!(rune, '*' | '?' | '\\' | '[' | ']' | '{' | '}') {
                out.push('\\');
            }
            out.push(rune);
        }
        out
    })
}

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
    let Ok(yaml) = reeve_go_compat::yaml::encode_sigs(&to_json(value)) else {
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
    let document = reeve_go_compat::yaml::decode_sigs_json(text.as_bytes());
    let document = document.ok().filter(super::super::is_shallow);
    Ok(document.map_or(Value::Undefined, |document| to_document_value(&document)))
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn count(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(Value::String(search)), Some(Value::String(part))) = (args.first(), args.get(1))
    else {
        return Ok(Value::Undefined);
    };
    let count = if part.is_empty() {
        search.chars().count() + 1
    } else {
        search.matches(&**part).count()
    };
    Ok(Value::from(count))
}

/// Whether a text matches a template: literal parts, and patterns between delimiters.
pub fn match_template(args: &[Value]) -> anyhow::Result<Value> {
    let text = |index: usize| match args.get(index) {
        Some(Value::String(text)) => Some(text.as_ref()),
        _ => None,
    };
    let (Some(template), Some(subject)) = (text(0), text(1)) else {
        return Ok(Value::Undefined);
    };
    let delimiter = |index: usize| {
        let mut runes = text(index)?.chars();
        runes.next().filter(|_| runes.next().is_none())
    };
    let (Some(open), Some(close)) = (delimiter(2), delimiter(3)) else {
        return Ok(Value::Undefined);
    };
    let Some(pattern) = template_pattern(template, open, close) else {
        return Ok(Value::Undefined);
    };
    charged("regex.match", &[Value::from(pattern), Value::from(subject)])
}

fn template_pattern(template: &str, open: char, close: char) -> Option<String> {
    let mut pattern = String::from("^");
    let mut depth = 0_usize;
    let mut literal = String::new();
    for rune in template.chars() {
        if rune == open {
            if depth == 0 {
                pattern.push_str(&regex::escape(&literal));
                literal.clear();
                pattern.push('(');
            } else {
                pattern.push(rune);
            }
            depth += 1;
        } else if rune == close {
            depth = depth.checked_sub(1)?;
            pattern.push(if depth == 0 { ')' } else { rune });
        } else if depth == 0 {
            literal.push(rune);
        } else {
            pattern.push(rune);
        }
    }
    pattern.push_str(&regex::escape(&literal));
    pattern.push('$');
    (depth == 0).then_some(pattern)
}
