//! The formats of texts in `OpenAPI` schemas that Kubernetes checks, as `k8s.io/kube-openapi/pkg/validation/strfmt` does.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::labels::{is_dns_label, is_dns_subdomain};
use crate::{base64, time};

/// The most bytes of a DNS label.
const MAX_LABEL_LENGTH: usize = 63;

/// Whether a text has a format. Every text has a format that Kubernetes does not know.
pub fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => is_date_time(text),
        "date" => is_date(text),
        "duration" => is_duration(text),
        "ipv4" => ipv4(text).is_some() || mapped_ipv4(text),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some(b'3')),
        "uuid4" => is_uuid(text, Some(b'4')),
        "uuid5" => is_uuid(text, Some(b'5')),
        "byte" => is_base64(text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && is_hex(digits)
        }
        "rgbcolor" => is_rgb_color(text),
        "bsonobjectid" => text.len() == 24 && is_hex(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => is_social_security_number(text),
        "k8s-short-name" => text.len() <= MAX_LABEL_LENGTH && is_dns_label(text),
        "k8s-long-name" => is_dns_subdomain(text),
        _ => true,
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_date(text: &str) -> bool {
    time::parse(b"2006-01-02", text.as_bytes(), &time::Zone::Utc).is_ok()
}

/// A date, and a time of day with two digits for each part. The letters T and Z may be small, and a zone may have any digits.
fn is_date_time(text: &str) -> bool {
    let Some((date, clock)) = text.split_once(['T', 't']) else {
        return false;
    };
    let Some((clock, rest)) = clock.split_at_checked(8) else {
        return false;
    };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => rest,
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let is_part = |(part, limit): (&&str, u8)| {
        part.len() == 2 && is_digits(part) && part.parse::<u8>().is_ok_and(|part| part < limit)
    };
    let is_offset = |offset: &str| {
        let parts: Vec<&str> = offset.split(':').collect();
        parts.len() == 2 && parts.iter().all(|part| part.len() == 2 && is_digits(part))
    };
    is_date(date)
        && parts.len() == 3
        && parts.iter().zip([24, 60, 60]).all(is_part)
        && (matches!(rest, "Z" | "z") || rest.strip_prefix(['+', '-']).is_some_and(is_offset))
}

/// A duration of Go, or any number with the name of a unit behind it.
fn is_duration(text: &str) -> bool {
    if matches!(text, "0" | "+0" | "-0") {
        return true;
    }
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let number = rest.get(start..).unwrap_or_default();
        let unit = number.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = number.strip_suffix(unit).unwrap_or_default();
        let unit = unit.trim_start();
        let is_letter = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, 'µ' | 'μ');
        rest = unit.trim_start_matches(is_letter);
        let name = unit.strip_suffix(rest).unwrap_or_default();
        if is_unit(name) {
            return digits.parse::<i64>().is_ok();
        }
    }
    false
}

/// Short names of units, and long ones, which may go on: `second`, `seconds`.
fn is_unit(name: &str) -> bool {
    const SHORT: [&str; 10] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h", "hr", "d"];
    const LONG: [&str; 8] = [
        "nano", "micro", "milli", "sec", "min", "hour", "day", "week",
    ];
    let name = name.to_lowercase();
    SHORT.contains(&name.as_str()) || name == "w" || LONG.iter().any(|long| name.starts_with(long))
}

/// Four numbers, which may have leading zeros.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut numbers = text
        .split('.')
        .map(|part| is_digits(part).then(|| part.parse::<u8>().ok()).flatten());
    let address = Ipv4Addr::new(
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
    );
    numbers.next().is_none().then_some(address)
}

/// An IPv4 address in the form of an IPv6 address.
fn mapped_ipv4(text: &str) -> bool {
    let address = text.parse::<Ipv6Addr>();
    address.is_ok_and(|address| address.to_ipv4_mapped().is_some())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let bits = if ipv4(address).is_some() {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    is_digits(length) && length.parse::<u16>().is_ok_and(|length| length <= bits)
}

/// Six, eight or twenty bytes, in pairs of digits, or in groups of two bytes with points between them.
fn is_mac(text: &str) -> bool {
    let has_parts = |mark: char, digits: usize| {
        let parts: Vec<&str> = text.split(mark).collect();
        let bytes = parts.len() * digits / 2;
        matches!(bytes, 6 | 8 | 20)
            && parts
                .iter()
                .all(|part| part.len() == digits && is_hex(part))
    };
    has_parts(':', 2) || has_parts('-', 2) || has_parts('.', 4)
}

/// An absolute address, or an absolute path.
fn is_uri(text: &str) -> bool {
    let is_odd = |letter: char| letter.is_ascii_control() || letter == ' ';
    if text.contains(is_odd) || !is_percent_encoded(text) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let Some(authority) = rest.strip_prefix("//") else {
        return is_scheme;
    };
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = match host.rsplit_once(']') {
        Some((address, port)) if address.starts_with('[') => port,
        Some(_) => return false,
        None => host.find(':').and_then(|at| host.get(at..)).unwrap_or(""),
    };
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    is_scheme && is_port
}

/// Whether two hexadecimal digits follow each percent sign.
fn is_percent_encoded(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|part| part.get(..2).is_some_and(is_hex))
}

/// An address of RFC 5322, with or without a name.
fn is_email(text: &str) -> bool {
    let address = match text.split_once('<') {
        Some((name, rest)) => {
            let Some(address) = rest.strip_suffix('>') else {
                return false;
            };
            let name = name.trim();
            if !is_quoted(name) && !name.split_whitespace().all(is_dot_atom) {
                return false;
            }
            address
        }
        None => text.trim(),
    };
    let Some((user, host)) = address.rsplit_once('@') else {
        return false;
    };
    let literal = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_host = match literal {
        Some(literal) => {
            let literal = literal.strip_prefix("IPv6:").unwrap_or(literal);
            literal.parse::<std::net::IpAddr>().is_ok()
        }
        None => is_dot_atom(host),
    };
    is_host && (is_quoted(user) || is_dot_atom(user))
}

/// Characters between quotation marks.
fn is_quoted(text: &str) -> bool {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.is_some_and(|inner| !inner.contains(['"', '\\', '\n', '\r']))
}

/// Atoms with points between them.
fn is_dot_atom(text: &str) -> bool {
    let is_atom_letter = |letter: char| {
        letter.is_ascii_alphanumeric()
            || !letter.is_ascii()
            || "!#$%&'*+-/=?^_`{|}~".contains(letter)
    };
    text.split('.')
        .all(|atom| !atom.is_empty() && atom.chars().all(is_atom_letter))
}

/// A name of one label, whose only hyphen may be its second character, or a name with a domain of letters at its end.
fn is_hostname(text: &str) -> bool {
    let is_plain = |text: &str| !text.is_empty() && text.chars().all(char::is_alphanumeric);
    let labels: Vec<&str> = text.split('.').collect();
    if text.len() > 255 || labels.iter().any(|label| label.len() > MAX_LABEL_LENGTH) {
        return false;
    }
    let Some((domain, rest)) = labels.split_last() else {
        return false;
    };
    if rest.is_empty() {
        let mut letters = domain.chars();
        let first = letters.next().is_some_and(char::is_alphanumeric);
        let after = letters.as_str();
        let after = after.strip_prefix('-').unwrap_or(after);
        return first && (after.is_empty() || is_plain(after));
    }
    let is_label = |label: &&str| {
        is_plain(&label.replace('-', "")) && !label.starts_with('-') && !label.ends_with('-')
    };
    rest.iter().all(is_label)
        && domain.chars().count() >= 2
        && domain.chars().all(char::is_alphabetic)
}

/// Five groups of hexadecimal digits, with or without hyphens between them. Versions 4 and 5 have a variant, too.
fn is_uuid(text: &str, version: Option<u8>) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut rest = text;
    let mut digits = Vec::new();
    for (index, length) in GROUPS.into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else {
            return false;
        };
        digits.extend(group.bytes());
        rest = after;
    }
    let has_variant = || {
        matches!(
            digits.get(16),
            Some(b'8' | b'9' | b'a' | b'A' | b'b' | b'B')
        )
    };
    rest.is_empty()
        && digits.iter().all(u8::is_ascii_hexdigit)
        && version.is_none_or(|version| {
            digits.get(12) == Some(&version) && (version == b'3' || has_variant())
        })
}

fn is_base64(text: &str) -> bool {
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && !text.contains(['\r', '\n'])
        && base64::decode(text.as_bytes()).is_ok()
}

/// `rgb(1, 2, 3)`: three numbers up to 255 without leading zeros.
fn is_rgb_color(text: &str) -> bool {
    let inner = text
        .strip_prefix("rgb(")
        .and_then(|text| text.strip_suffix(')'));
    let is_part = |part: &str| {
        let part = part.trim();
        is_digits(part) && part.parse::<u8>().is_ok() && (part.len() == 1 || !part.starts_with('0'))
    };
    inner.is_some_and(|inner| inner.split(',').count() == 3 && inner.split(',').all(is_part))
}

/// The text without spaces and hyphens.
fn without_separators(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_whitespace() && *letter != '-')
        .collect()
}

/// Nine digits and a checksum, in which X is ten.
fn is_isbn10(text: &str) -> bool {
    let text = without_separators(text);
    let Some((digits, check)) = text.split_at_checked(9) else {
        return false;
    };
    let check = match check {
        "X" => 10,
        other if other.len() == 1 && is_digits(other) => other.parse().unwrap_or_default(),
        _ => return false,
    };
    let weighted = digits.bytes().zip(1_u32..).map(|(digit, weight)| {
        let digit = u32::from(digit.wrapping_sub(b'0'));
        digit * weight
    });
    is_digits(digits) && (weighted.sum::<u32>() + 10 * check).is_multiple_of(11)
}

/// Thirteen digits with a known prefix, the last of which is a checksum.
fn is_isbn13(text: &str) -> bool {
    let text = without_separators(text);
    let weighted = text.bytes().enumerate().map(|(index, digit)| {
        let digit = u32::from(digit.wrapping_sub(b'0'));
        digit * if index.is_multiple_of(2) { 1 } else { 3 }
    });
    text.len() == 13
        && is_digits(&text)
        && (text.starts_with("978") || text.starts_with("979"))
        && weighted.sum::<u32>().is_multiple_of(10)
}

/// Digits of a known issuer with the checksum of Luhn.
fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let starts = |first: u32, last: u32| {
        let length = last.to_string().len();
        let prefix = digits.get(..length).and_then(|prefix| prefix.parse().ok());
        prefix.is_some_and(|prefix| (first..=last).contains(&prefix))
    };
    let is_issued = match digits.len() {
        13 => starts(4, 4),
        14 => starts(300, 305) || starts(36, 36) || starts(38, 38),
        15 => starts(34, 34) || starts(37, 37) || starts(2131, 2131) || starts(1800, 1800),
        16 => {
            starts(4, 4)
                || starts(51, 55)
                || starts(2221, 2720)
                || starts(6011, 6011)
                || starts(65, 65)
                || starts(62, 62)
                || starts(67, 67)
                || starts(35, 35)
        }
        _ => false,
    };
    let doubled = digits.bytes().rev().enumerate().map(|(index, digit)| {
        let digit = u32::from(digit.wrapping_sub(b'0'));
        match index.is_multiple_of(2) {
            true => digit,
            false if digit > 4 => digit * 2 - 9,
            false => digit * 2,
        }
    });
    is_issued && doubled.sum::<u32>().is_multiple_of(10)
}

/// `123-45-6789`, or with spaces.
fn is_social_security_number(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', ' ']).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [3, 2, 4] && parts.iter().all(|part| is_digits(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [&str; 23] = [
        "date-time",
        "date",
        "duration",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uri",
        "email",
        "hostname",
        "uuid",
        "uuid4",
        "byte",
        "hexcolor",
        "rgbcolor",
        "bsonobjectid",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "k8s-short-name",
        "k8s-long-name",
    ];

    // What Kubernetes says about hundreds of texts is in the corpus of the crate `gatekeeper`.
    #[test]
    fn empty_text_has_unknown_formats_only() {
        for format in FORMATS {
            assert!(!is_valid(format, ""), "{format}");
        }
        assert!(is_valid("password", "") && is_valid("", ""));
    }

    #[test]
    fn no_text_is_a_panic() {
        for text in ["ä", "1ä", "-", "@", "<", "[", "%ä", "rgb(", "9", ".", " "] {
            for length in [1, 2, 9, 24, 1_000] {
                for format in FORMATS {
                    is_valid(format, &text.repeat(length));
                }
            }
        }
    }
}
