//! The formats of strings that the API server checks; it lets others pass.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether a text has the format.
pub(super) fn matches(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => {
            let upper = text.to_ascii_uppercase();
            super::scalars::time(&upper, false).is_ok()
        }
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => mac(text),
        "uri" => uri(text),
        "email" => email(text),
        "hostname" => hostname(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => uuid(format, text),
        "byte" => byte(text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        _ => true,
    }
}

/// Go's durations, or a number with the name of a unit.
fn duration(text: &str) -> bool {
    const UNITS: [&str; 31] = [
        "ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "w", "nano", "nanos", "micro", "micros",
        "milli", "millis", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes",
        "hr", "hour", "hours", "day", "days", "week", "weeks",
    ];
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    let mut some = false;
    while !rest.is_empty() {
        let number =
            rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        if number.len() == rest.len() {
            return false;
        }
        let unit = number.trim_start();
        let end = unit
            .find(|letter: char| !letter.is_alphabetic())
            .unwrap_or(unit.len());
        let (name, after) = unit.split_at(end);
        if !UNITS.contains(&name.to_lowercase().as_str()) {
            return false;
        }
        some = true;
        rest = after.trim_start();
    }
    some
}

fn cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let bits = if address.parse::<Ipv4Addr>().is_ok() {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    digits && length.parse::<u16>().is_ok_and(|length| length <= bits)
}

fn mac(text: &str) -> bool {
    ['-', ':'].iter().any(|mark| {
        let parts: Vec<&str> = text.split(*mark).collect();
        matches!(parts.len(), 6 | 8 | 20)
            && parts
                .iter()
                .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}

/// An absolute address, or an absolute path.
fn uri(text: &str) -> bool {
    if text.is_empty()
        || text
            .chars()
            .any(|letter| letter.is_control() || letter == ' ')
    {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    text.split_once(':').is_some_and(|(scheme, _)| {
        let mut letters = scheme.bytes();
        letters
            .next()
            .is_some_and(|byte| byte.is_ascii_alphabetic())
            && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

fn email(text: &str) -> bool {
    let address = match text.split_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or(""),
        None => text,
    };
    address.rsplit_once('@').is_some_and(|(user, host)| {
        !user.is_empty()
            && !host.is_empty()
            && !address.contains([' ', '<', '>', ',', ';'])
            && !user.contains('@')
    })
}

fn hostname(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_empty() || text.len() > 253 {
        return false;
    }
    let labels: Vec<&str> = text.split('.').collect();
    let good = labels.iter().all(|label| {
        label.len() <= 63
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '-')
    });
    // A domain at the top has two letters at least.
    good && (labels.len() == 1 || labels.last().is_some_and(|last| last.chars().count() >= 2))
}

fn uuid(format: &str, text: &str) -> bool {
    let plain: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    if plain.len() != 32 || !plain.iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    format
        .as_bytes()
        .get(4)
        .is_none_or(|version| plain.get(12) == Some(version))
}

fn byte(text: &str) -> bool {
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && !text.contains(['\r', '\n'])
        && super::scalars::bytes(text).is_ok()
}
