//! Checking of IP addresses with the words of Go's `net/netip`.

use reeve_go_compat::runes::quote;

/// A well-formed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Four numbers.
    V4,
    /// Eight groups, perhaps with a zone.
    V6,
}

/// What is wrong, and the rest of the text from where it is.
struct Fault<'a>(&'static str, &'a [u8]);

/// `netip.ParseAddr`: the kind of address, or Go's error.
pub fn check(text: &[u8]) -> Result<Address, String> {
    let first = text.iter().find(|byte| matches!(byte, b'.' | b':' | b'%'));
    let checked = match first {
        Some(b'.') => check_v4(text).map(|()| Address::V4),
        Some(b':') => check_v6(text).map(|()| Address::V6),
        Some(_) => Err(Fault("missing IPv6 address", b"")),
        None => Err(Fault("unable to parse IP", b"")),
    };
    checked.map_err(|Fault(problem, at)| {
        let mut shown = format!("ParseAddr({}): {problem}", quote(text));
        if !at.is_empty() {
            shown = format!("{shown} (at {})", quote(at));
        }
        shown
    })
}

fn rest(text: &[u8], from: usize) -> &[u8] {
    text.get(from..).unwrap_or_default()
}

fn check_v4(text: &[u8]) -> Result<(), Fault<'_>> {
    let (mut value, mut digits, mut dots) = (0_u32, 0, 0);
    for (position, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(Fault("IPv4 field has octet with leading zero", b""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(Fault("IPv4 field has value >255", b""));
                }
            }
            b'.' => {
                if digits == 0 || position + 1 == text.len() {
                    return Err(Fault(
                        "IPv4 field must have at least one digit",
                        rest(text, position),
                    ));
                }
                if dots == 3 {
                    return Err(Fault("IPv4 address too long", b""));
                }
                (value, digits) = (0, 0);
                dots += 1;
            }
            _ => return Err(Fault("unexpected character", rest(text, position))),
        }
    }
    if dots < 3 {
        return Err(Fault("IPv4 address too short", b""));
    }
    Ok(())
}

fn check_v6(text: &[u8]) -> Result<(), Fault<'_>> {
    let zone = text.iter().position(|byte| *byte == b'%');
    if zone.is_some_and(|zone| zone + 1 == text.len()) {
        return Err(Fault("zone must be a non-empty string", b""));
    }
    let mut left = text.get(..zone.unwrap_or(text.len())).unwrap_or_default();
    let mut shortened = false;
    if let Some(after) = left.strip_prefix(b"::") {
        if after.is_empty() {
            return Ok(());
        }
        shortened = true;
        left = after;
    }
    let mut bytes = 0;
    while bytes < 16 {
        let digits = group(left)?;
        if left.get(digits) == Some(&b'.') {
            embedded(left, bytes, shortened)?;
            bytes += 4;
            left = b"";
            break;
        }
        bytes += 2;
        left = rest(left, digits);
        let Some(first) = left.first() else {
            break;
        };
        if *first != b':' {
            return Err(Fault("unexpected character, want colon", left));
        }
        if left.len() == 1 {
            return Err(Fault("colon must be followed by more characters", left));
        }
        left = rest(left, 1);
        if let Some(after) = left.strip_prefix(b":") {
            if shortened {
                return Err(Fault("multiple :: in address", left));
            }
            shortened = true;
            left = after;
            if left.is_empty() {
                break;
            }
        }
    }
    if !left.is_empty() {
        return Err(Fault("trailing garbage after address", left));
    }
    match (bytes < 16, shortened) {
        (true, false) => Err(Fault("address string too short", b"")),
        (false, true) => Err(Fault(
            "the :: must expand to at least one field of zeros",
            b"",
        )),
        _ => Ok(()),
    }
}

/// How many digits the first group has.
fn group(text: &[u8]) -> Result<usize, Fault<'_>> {
    let digits = text
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    match digits {
        0 => Err(Fault(
            "each colon-separated field must have at least one digit",
            text,
        )),
        1..=4 => Ok(digits),
        _ => Err(Fault("each group must have 4 or less digits", text)),
    }
}

/// An IPv4 address in place of the last two groups.
fn embedded(text: &[u8], bytes: usize, shortened: bool) -> Result<(), Fault<'_>> {
    if !shortened && bytes != 12 {
        return Err(Fault(
            "embedded IPv4 address must replace the final 2 fields of the address",
            text,
        ));
    }
    if bytes > 12 {
        return Err(Fault(
            "too many hex fields to fit an embedded IPv4 at the end of the address",
            text,
        ));
    }
    check_v4(text)
}
