//! URLs as Go's `net/url` takes them apart and puts them together.

use super::addresses::{self, Address};
use super::strings::find;
use reeve_go_compat::runes::quote;

/// What part of a URL bytes belong to; each has its own characters that need no escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

/// The parts of a URL, without their escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// What stands before the first colon, in lower case.
    pub scheme: Vec<u8>,
    /// What follows the scheme when no slash does.
    pub opaque: Vec<u8>,
    /// Name and perhaps password.
    pub user: Option<User>,
    /// Host and perhaps port.
    pub host: Vec<u8>,
    /// The path.
    pub path: Vec<u8>,
    /// What follows the question mark, as it is.
    pub query: Vec<u8>,
    /// What follows the hash sign.
    pub fragment: Vec<u8>,
}

/// What stands before `@`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// An error, in Go's words without the URL.
type Parsed<T> = Result<T, String>;

fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == at) {
        Some(position) => (
            text.get(..position).unwrap_or_default(),
            text.get(position + 1..),
        ),
        None => (text, None),
    }
}

fn last_index(text: &[u8], of: u8) -> Option<usize> {
    text.iter().rposition(|byte| *byte == of)
}

fn needs_escape(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    match part {
        Part::Host | Part::Zone => !br#"!$&'()*+,;=:[]<>""#.contains(&byte),
        Part::Path => !b"$&+,/:;=@".contains(&byte),
        Part::User => !b"$&+,;=".contains(&byte),
        Part::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape(text: &[u8], part: Part) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    for byte in text {
        if needs_escape(*byte, part) {
            result.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            result.push(*byte);
        }
    }
    result
}

fn hexadecimal(text: &[u8]) -> Option<u8> {
    let [high, low, ..] = text else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn unescape(text: &[u8], part: Part) -> Parsed<Vec<u8>> {
    let bad_escape = |escape: &[u8]| {
        let shown = escape.get(..escape.len().min(3)).unwrap_or_default();
        format!("invalid URL escape {}", quote(shown))
    };
    let mut result = Vec::with_capacity(text.len());
    let mut position = 0;
    while let Some(byte) = text.get(position) {
        let rest = text.get(position..).unwrap_or_default();
        if *byte != b'%' {
            let is_host = matches!(part, Part::Host | Part::Zone);
            if is_host && byte.is_ascii() && needs_escape(*byte, part) {
                return Err(format!("invalid character {} in host name", quote([*byte])));
            }
            result.push(*byte);
            position += 1;
            continue;
        }
        let Some(value) = hexadecimal(rest.get(1..).unwrap_or_default()) else {
            return Err(bad_escape(rest));
        };
        let is_percent = rest.starts_with(b"%25");
        let allowed = match part {
            Part::Host => !value.is_ascii() || is_percent,
            Part::Zone => is_percent || value == b' ' || !needs_escape(value, Part::Host),
            _ => true,
        };
        if !allowed {
            return Err(bad_escape(rest));
        }
        result.push(value);
        position += 3;
    }
    Ok(result)
}

impl Url {
    /// `url.Parse`; the error is Go's text.
    pub fn parse(text: &[u8]) -> Parsed<Self> {
        let (base, fragment) = cut(text, b'#');
        let wrapped = |url: &[u8], problem| format!("parse {}: {problem}", quote(url));
        let mut url = Self::parse_base(base).map_err(|problem| wrapped(base, problem))?;
        if let Some(fragment) = fragment {
            url.fragment =
                unescape(fragment, Part::Fragment).map_err(|problem| wrapped(text, problem))?;
        }
        Ok(url)
    }

    fn parse_base(text: &[u8]) -> Parsed<Self> {
        if text.iter().any(u8::is_ascii_control) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Self::default();
        if text == b"*" {
            url.path = text.to_vec();
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) = cut(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let has_authority = !url.scheme.is_empty() || !rest.starts_with(b"///");
        if let Some(after) = rest.strip_prefix(b"//").filter(|_| has_authority) {
            let slash = after.iter().position(|byte| *byte == b'/');
            let (authority, path) = after.split_at(slash.unwrap_or(after.len()));
            (url.user, url.host) = parse_authority(&url.scheme, authority)?;
            rest = path;
        }
        url.path = unescape(rest, Part::Path)?;
        Ok(url)
    }

    /// The host without its port and brackets.
    pub fn host_name(&self) -> &[u8] {
        let mut host = &*self.host;
        if let Some(colon) = last_index(host, b':')
            && is_port(host.get(colon..).unwrap_or_default())
        {
            host = host.get(..colon).unwrap_or_default();
        }
        host.strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
            .unwrap_or(host)
    }

    /// `URL.String`
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut result = Vec::new();
        if !self.scheme.is_empty() {
            result.extend_from_slice(&self.scheme);
            result.push(b':');
        }
        if self.opaque.is_empty() {
            self.append_hierarchy(&mut result);
        } else {
            result.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            result.push(b'?');
            result.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            result.push(b'#');
            result.extend(escape(&self.fragment, Part::Fragment));
        }
        result
    }

    fn append_hierarchy(&self, result: &mut Vec<u8>) {
        let has_authority = !self.host.is_empty() || self.user.is_some();
        if has_authority || !self.scheme.is_empty() && !self.path.is_empty() {
            result.extend_from_slice(b"//");
            if let Some(user) = &self.user {
                result.extend(user.to_bytes());
                result.push(b'@');
            }
            result.extend(escape(&self.host, Part::Host));
        }
        let path = if self.path == b"*" {
            self.path.clone()
        } else {
            escape(&self.path, Part::Path)
        };
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            result.push(b'/');
        }
        if result.is_empty() && cut(&path, b'/').0.contains(&b':') {
            result.extend_from_slice(b"./");
        }
        result.extend(path);
    }
}

impl User {
    /// Name and password with escapes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut result = escape(&self.name, Part::User);
        if let Some(password) = &self.password {
            result.push(b':');
            result.extend(escape(password, Part::User));
        }
        result
    }
}

fn split_scheme(text: &[u8]) -> Parsed<(&[u8], &[u8])> {
    for (position, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if position > 0 => {}
            b':' if position == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => {
                let (scheme, rest) = text.split_at(position);
                return Ok((scheme, rest.get(1..).unwrap_or_default()));
            }
            _ => break,
        }
    }
    Ok((b"", text))
}

fn parse_authority(scheme: &[u8], authority: &[u8]) -> Parsed<(Option<User>, Vec<u8>)> {
    let Some(at) = last_index(authority, b'@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, authority.get(at + 1..).unwrap_or_default())?;
    let user = authority.get(..at).unwrap_or_default();
    let is_allowed =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !user.iter().all(is_allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) = cut(user, b':');
    let user = User {
        name: unescape(name, Part::User)?,
        password: password
            .map(|password| unescape(password, Part::User))
            .transpose()?,
    };
    Ok((Some(user), host))
}

fn is_port(text: &[u8]) -> bool {
    match text.split_first() {
        None => true,
        Some((first, digits)) => *first == b':' && digits.iter().all(u8::is_ascii_digit),
    }
}

fn check_port(text: &[u8]) -> Parsed<()> {
    if is_port(text) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quote(text)))
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Parsed<Vec<u8>> {
    match last_index(host, b'[') {
        Some(0) => return parse_literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(colon) = host.iter().position(|byte| *byte == b':') {
        // Lists of hosts with ports are let through for databases.
        let is_web = scheme == b"http" || scheme == b"https";
        let colon = if is_web {
            colon
        } else {
            last_index(host, b':').unwrap_or(colon)
        };
        check_port(host.get(colon..).unwrap_or_default())?;
    }
    unescape(host, Part::Host)
}

/// An IPv6 address in brackets, perhaps with a zone, perhaps with a port.
fn parse_literal(host: &[u8]) -> Parsed<Vec<u8>> {
    let Some(close) = last_index(host, b']') else {
        return Err("missing ']' in host".to_owned());
    };
    let port = host.get(close + 1..).unwrap_or_default();
    check_port(port)?;
    let port = unescape(port, Part::Host)?;
    let name = host.get(1..close).unwrap_or_default();
    let name = match find(name, b"%25") {
        Some(zone) => {
            let (address, zone) = name.split_at(zone);
            let mut name = unescape(address, Part::Host)?;
            name.extend(unescape(zone, Part::Zone)?);
            name
        }
        None => unescape(name, Part::Host)?,
    };
    check_address(&name)?;
    Ok([b"[", &*name, b"]", &port].concat())
}

fn check_address(name: &[u8]) -> Parsed<()> {
    match addresses::check(name) {
        Ok(Address::V6) => Ok(()),
        Ok(Address::V4) => Err("invalid IP-literal".to_owned()),
        Err(problem) => Err(format!("invalid host: {problem}")),
    }
}
