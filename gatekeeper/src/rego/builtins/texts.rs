//! Functions of texts whose results are otherwise in the engine.

use reeve_go_compat::runes;
use regorus::Value;

use super::{charge, charged};

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
