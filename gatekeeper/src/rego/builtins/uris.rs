//! Parts of URIs.

use regorus::Value;

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn is_valid(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::Undefined);
    };
    Ok(Value::from(split(text).is_some()))
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn parse(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(text)) = args.first() else {
        return Ok(Value::Undefined);
    };
    let Some(parts) = split(text) else {
        return Ok(Value::Undefined);
    };
    let members = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let object: regorus::value::Object = members
        .map(|(name, value)| (Value::from(name), Value::from(value)))
        .collect();
    Ok(object.into())
}

/// The parts with their names; none when the text is no URI.
fn split(text: &str) -> Option<Vec<(&'static str, String)>> {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return None;
    }
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        Some((first, _)) if !first.contains('/') => return None,
        _ => ("", rest),
    };
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    if name.contains(' ') || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    Some(vec![
        ("scheme", scheme.to_lowercase()),
        ("hostname", name.to_owned()),
        ("port", port.to_owned()),
        ("path", decoded(path)?),
        ("raw_path", path.to_owned()),
        ("raw_query", query.to_owned()),
        ("fragment", decoded(fragment)?),
    ])
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|rune: char| rune.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
