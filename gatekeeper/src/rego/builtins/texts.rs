//! Functions of texts whose results are otherwise in the engine.

use reeve_go_compat::runes;
use regorus::Value;

use super::{call, charge, charged};

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

/// Go escapes what HTML would take for its own.
pub fn marshal(args: &[Value]) -> anyhow::Result<Value> {
    let result = charged("json.marshal", args)?;
    mapped(&[result], |text| {
        let mut out = String::with_capacity(text.len());
        for rune in text.chars() {
            match rune {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    out.push_str(&format!("\\u{:04x}", u32::from(rune)));
                }
                other => out.push(other),
            }
        }
        out
    })
}

/// Documents as kubectl reads them: `yes` and `on` are true.
pub fn unmarshal_yaml(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::Undefined);
    };
    charge(text.len())?;
    let document = reeve_go_compat::yaml::decode_sigs_json(text.as_bytes());
    let document = document.ok().filter(super::super::is_shallow);
    Ok(document.map_or(Value::Undefined, |document| {
        super::super::to_value(&document)
    }))
}

/// A number is not surrounded by white space.
pub fn to_number(args: &[Value]) -> anyhow::Result<Value> {
    if let Some(Value::String(text)) = args.first()
        && (text.is_empty() || text.contains(char::is_whitespace))
    {
        return Ok(Value::Undefined);
    }
    call("to_number", args)
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
