//! What the text of a scalar means: go-yaml's `resolve.go`, in its two dialects.

use std::borrow::Cow;

use super::error::{Dialect, YamlError};
use crate::strconv::{parse_float, parse_int, parse_uint};
use crate::time::Time;
use crate::time::{self, Zone};

/// A string.
pub const STR: &str = "!!str";
/// The key that merges another mapping.
pub const MERGE: &str = "!!merge";
/// The tag of null.
pub const NULL: &str = "!!null";
/// Bytes in base64.
pub const BINARY: &str = "!!binary";
const BOOL: &str = "!!bool";
const INT: &str = "!!int";
const FLOAT: &str = "!!float";
const TIMESTAMP: &str = "!!timestamp";

const LONG_PREFIX: &str = "tag:yaml.org,2002:";

/// A tag with `!!` for YAML's own prefix.
pub fn short_tag(tag: &str) -> Cow<'_, str> {
    match tag.strip_prefix(LONG_PREFIX) {
        Some(rest) => Cow::Owned(format!("!!{rest}")),
        None => Cow::Borrowed(tag),
    }
}

/// What a text means.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// The null value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above those.
    Uint(u64),
    /// Any other number.
    Float(f64),
    /// A moment.
    Time(Time),
    /// The text itself.
    Text,
}

/// The tag that a text has without one.
pub fn resolve_untagged(text: &str, dialect: Dialect) -> &'static str {
    by_text(text, dialect, true).0
}

/// The meaning of a text under a tag (empty, `!!…` or another), and the tag it ends up with.
pub fn resolve(
    tag: &str,
    text: &str,
    dialect: Dialect,
) -> Result<(Cow<'static, str>, Meaning), YamlError> {
    let tag = short_tag(tag);
    match tag.as_ref() {
        "" | BOOL | INT | FLOAT | NULL | TIMESTAMP => {}
        STR => return Ok((Cow::Borrowed(STR), Meaning::Text)),
        other => return Ok((Cow::Owned(other.to_owned()), Meaning::Text)),
    }
    let may_be_time = tag.is_empty() || tag == TIMESTAMP;
    let (found, meaning) = by_text(text, dialect, may_be_time);
    if tag.is_empty() || tag == found {
        return Ok((Cow::Borrowed(found), meaning));
    }
    if let (FLOAT, Meaning::Int(value)) = (tag.as_ref(), &meaning) {
        #[allow(clippy::cast_precision_loss)] // as Go converts
        return Ok((Cow::Borrowed(FLOAT), Meaning::Float(*value as f64)));
    }
    Err(YamlError::Text(format!(
        "cannot decode {found} `{text}` as a {tag}"
    )))
}

fn by_text(text: &str, dialect: Dialect, may_be_time: bool) -> (&'static str, Meaning) {
    let meaning = match text.as_bytes().first() {
        None => Some((NULL, Meaning::Null)),
        Some(b'+' | b'-' | b'0'..=b'9') => fixed(text, dialect)
            .or_else(|| time(text, may_be_time))
            .or_else(|| number(text, dialect)),
        Some(b'.') => {
            fixed(text, dialect).or_else(|| parse_float(text).map(|f| (FLOAT, Meaning::Float(f))))
        }
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            fixed(text, dialect)
        }
        Some(_) => None,
    };
    meaning.unwrap_or((STR, Meaning::Text))
}

fn time(text: &str, may_be_time: bool) -> Option<(&'static str, Meaning)> {
    let is_year = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
    match text.as_bytes().split_at_checked(4) {
        Some((year, [b'-', ..])) if may_be_time && is_year(year) => {}
        _ => return None,
    }
    let moment = TIME_LAYOUTS
        .iter()
        .find_map(|layout| time::parse(layout.as_bytes(), text.as_bytes(), &Zone::Utc).ok())?;
    Some((TIMESTAMP, Meaning::Time(moment)))
}

/// The forms of dates and times that are recognised, as Go layouts.
const TIME_LAYOUTS: [&str; 4] = [
    "2006-1-2T15:4:5.999999999Z07:00",
    "2006-1-2t15:4:5.999999999Z07:00",
    "2006-1-2 15:4:5.999999999",
    "2006-1-2",
];

/// The texts that stand for a value as they are.
fn fixed(text: &str, dialect: Dialect) -> Option<(&'static str, Meaning)> {
    Some(match text {
        "true" | "True" | "TRUE" => (BOOL, Meaning::Bool(true)),
        "false" | "False" | "FALSE" => (BOOL, Meaning::Bool(false)),
        "~" | "null" | "Null" | "NULL" => (NULL, Meaning::Null),
        ".nan" | ".NaN" | ".NAN" => (FLOAT, Meaning::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            (FLOAT, Meaning::Float(f64::INFINITY))
        }
        "-.inf" | "-.Inf" | "-.INF" => (FLOAT, Meaning::Float(f64::NEG_INFINITY)),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if dialect == Dialect::V2 => {
            (BOOL, Meaning::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if dialect == Dialect::V2 => {
            (BOOL, Meaning::Bool(false))
        }
        _ => return None,
    })
}

fn number(text: &str, dialect: Dialect) -> Option<(&'static str, Meaning)> {
    let plain: Cow<'_, str> = if text.contains('_') {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    };
    if let Some(meaning) = integer(&plain, 0) {
        return Some((INT, meaning));
    }
    if is_plain_float(&plain)
        && let Some(value) = plain.parse::<f64>().ok().filter(|value| value.is_finite())
    {
        return Some((FLOAT, Meaning::Float(value)));
    }
    let bases: &[(&str, &str, u32)] = match dialect {
        Dialect::V3 => &[("0b", "-0b", 2), ("0o", "-0o", 8)],
        Dialect::V2 => &[("0b", "-0b", 2)],
    };
    bases.iter().find_map(|(prefix, negative_prefix, base)| {
        let meaning = if let Some(digits) = plain.strip_prefix(prefix) {
            integer(digits, *base)
        } else {
            let digits = plain.strip_prefix(negative_prefix)?;
            parse_int(&format!("-{digits}"), *base).map(Meaning::Int)
        };
        meaning.map(|meaning| (INT, meaning))
    })
}

fn integer(text: &str, base: u32) -> Option<Meaning> {
    parse_int(text, base)
        .map(Meaning::Int)
        .or_else(|| parse_uint(text, base).map(Meaning::Uint))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_plain_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && is_digits(digits)
    });
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => !mantissa.is_empty() && is_digits(mantissa),
    };
    exponent_fits && mantissa_fits
}
