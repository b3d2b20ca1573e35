//! `html`, `js` and `urlquery`.

use super::define::{Answer, Group, answer, charge_bytes, takes_more};
use crate::function::Parameter::Any;
use crate::function::{Arguments, Env, Function};
use reeve_go_compat::printing;
use reeve_go_compat::runes::{decode, is_print};
use reeve_go_compat::value::Value;

const ESCAPING: Group = Group("Escaping");

/// The table of this topic.
pub(super) const FUNCTIONS: &[Function] = &[
    ESCAPING.function(
        "html",
        takes_more(&[], Any),
        html,
        "value…",
        "The values as text, escaped for HTML.",
    ),
    ESCAPING.function(
        "js",
        takes_more(&[], Any),
        js,
        "value…",
        "The values as text, escaped for a JavaScript string.",
    ),
    ESCAPING.function(
        "urlquery",
        takes_more(&[], Any),
        urlquery,
        "value…",
        "The values as text, escaped for the query of a URL.",
    ),
];

fn text(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Result<Vec<u8>, crate::function::Failure> {
    env.walk(arguments.all())?;
    let shown: Vec<Value> = arguments
        .all()
        .iter()
        .map(|value| match value {
            Value::Nil | Value::Missing => Value::from("<no value>"),
            other => other.clone(),
        })
        .collect();
    let text = printing::sprint(&shown);
    charge_bytes(env, text.len().saturating_mul(3))?;
    Ok(text)
}

fn html(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut out = Vec::new();
    for byte in text(env, arguments)? {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(other),
        }
    }
    answer(out)
}

fn js(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = text(env, arguments)?;
    let mut rest = text.as_slice();
    let mut out = Vec::new();
    while let Some(first) = rest.first().copied() {
        let (rune, width) = decode(rest);
        match first {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\'' => out.extend_from_slice(b"\\'"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'<' => out.extend_from_slice(b"\\u003C"),
            b'>' => out.extend_from_slice(b"\\u003E"),
            b'&' => out.extend_from_slice(b"\\u0026"),
            b'=' => out.extend_from_slice(b"\\u003D"),
            0..=0x1f => out.extend_from_slice(format!("\\u{first:04X}").as_bytes()),
            0x20..=0x7f => out.push(first),
            _ => match rune {
                Some(rune) if is_print(rune) => {
                    out.extend_from_slice(rest.get(..width).unwrap_or_default());
                }
                rune => {
                    // A byte that is no UTF-8 is the replacement character, which can be printed.
                    let code = rune.map_or(0xfffd, u32::from);
                    if rune.is_some() {
                        out.extend_from_slice(format!("\\u{code:04X}").as_bytes());
                    } else {
                        out.push(first);
                    }
                }
            },
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    answer(out)
}

fn urlquery(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut out = Vec::new();
    for byte in text(env, arguments)? {
        match byte {
            b' ' => out.push(b'+'),
            b'-' | b'_' | b'.' | b'~' => out.push(byte),
            byte if byte.is_ascii_alphanumeric() => out.push(byte),
            other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
    answer(out)
}
