//! How a text may be written: bare, quoted, or as a block.

/// The notations of a text, from plain to safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// `|` and the lines below.
    Literal,
}

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// A key written as `key:`.
    SimpleKey,
    /// Anything else.
    Value,
}

/// The longest key that is written as `key:`; longer ones are written as `? key`.
const LONGEST_SIMPLE_KEY: usize = 128;

/// Whether a key can be written as `key:`.
pub(super) fn is_simple_key(key: &str) -> bool {
    !key.chars().any(is_break) && key.len() <= LONGEST_SIMPLE_KEY
}

/// Chooses the notation.
pub(super) fn style(text: &str, position: Position) -> Style {
    let allowed = Allowed::of(text);
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if reads_as_text(text) {
        Style::Plain
    } else {
        Style::DoubleQuoted
    };
    match wanted {
        Style::Literal if allowed.block && position == Position::Value => Style::Literal,
        Style::Literal | Style::DoubleQuoted => Style::DoubleQuoted,
        Style::Plain if allowed.plain => Style::Plain,
        _ if allowed.single_quoted => Style::SingleQuoted,
        _ => Style::DoubleQuoted,
    }
}

/// What the characters of a text permit.
struct Allowed {
    plain: bool,
    single_quoted: bool,
    block: bool,
}

impl Allowed {
    fn of(text: &str) -> Self {
        let unsafe_text = text.chars().any(|c| !is_printable(c))
            || has_pair(text, |a, b| a == ' ' && is_break(b));
        let blank_ends = text.starts_with(is_space_or_break) || text.ends_with(is_space_or_break);
        Self {
            plain: !(text.is_empty()
                || unsafe_text
                || blank_ends
                || text.chars().any(is_break)
                || has_indicator(text)),
            single_quoted: !(unsafe_text || has_pair(text, |a, b| is_break(a) && b == ' ')),
            block: !(text.is_empty() || unsafe_text || text.ends_with(' ')),
        }
    }
}

/// Whether some character and the next one match.
fn has_pair(text: &str, wanted: impl Fn(char, char) -> bool) -> bool {
    text.chars()
        .zip(text.chars().skip(1))
        .any(|(a, b)| wanted(a, b))
}

/// Whether a bare text would mean something else to a reader.
fn has_indicator(text: &str) -> bool {
    let first = text.chars().next();
    let only_first = [
        '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`',
    ];
    let sign_before_blank = |sign: char| {
        let mut rest = text.strip_prefix(sign).into_iter().flat_map(str::chars);
        first == Some(sign) && rest.next().is_none_or(is_blank)
    };
    text.starts_with("---")
        || text.starts_with("...")
        || text.starts_with(only_first)
        || sign_before_blank('-')
        || sign_before_blank('?')
        || text.ends_with(':')
        || has_pair(text, |a, b| {
            (a == ':' && is_blank(b)) || (is_blank(a) && b == '#')
        })
}

fn is_space_or_break(c: char) -> bool {
    c == ' ' || is_break(c)
}

/// A line break, as YAML 1.1 knows them.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t') || is_break(c)
}

/// Whether the character may be written as it is. Characters beyond 16 bits are escaped, as libyaml does.
pub(super) fn is_printable(c: char) -> bool {
    matches!(
        c,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}'
    )
}

/// Whether a YAML 1.1 reader takes the bare text for text, and not for a number, a word like `yes`, or a date.
pub(super) fn reads_as_text(text: &str) -> bool {
    if is_reserved_word(text) || is_base_sixty(text) {
        return false;
    }
    match text.bytes().next() {
        None => false,
        Some(b'.') => !is_float(text),
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let bare = text.replace('_', "");
            !(is_timestamp(text) || is_integer(&bare) || is_float(&bare))
        }
        Some(_) => true,
    }
}

fn is_reserved_word(text: &str) -> bool {
    let all_caps_or_not = |word: &str| {
        let mut capitalised = word.to_owned();
        if let Some(first) = capitalised.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        text == word || text == capitalised || text == word.to_ascii_uppercase()
    };
    let words = ["y", "yes", "on", "n", "no", "off", "true", "false", "null"];
    let infinity = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(text, "~" | ".nan" | ".NaN" | ".NAN")
        || matches!(infinity, ".inf" | ".Inf" | ".INF")
        || words.into_iter().any(all_caps_or_not)
}

/// Numbers like `12:30:45`, which YAML 1.1 reads in base sixty.
fn is_base_sixty(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let is_sixtieth = |part: &&str| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
        _ => false,
    };
    first.starts_with(|c: char| c.is_ascii_digit())
        && first.chars().all(|c| c.is_ascii_digit() || c == '_')
        && !rest.is_empty()
        && rest.iter().all(is_sixtieth)
        && fraction.chars().all(|c| c.is_ascii_digit() || c == '_')
}

/// An integer of 64 bits, in any base Go's literals have.
fn is_integer(text: &str) -> bool {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match (lower.get(..2), lower.get(2..)) {
        (Some("0x"), Some(rest)) => (16, rest),
        (Some("0o"), Some(rest)) => (8, rest),
        (Some("0b"), Some(rest)) => (2, rest),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.get(1..).unwrap_or_default()),
        _ => (10, lower.as_str()),
    };
    let limit = if negative {
        1u128 << 63
    } else {
        u128::from(u64::MAX)
    };
    digits.bytes().all(|b| b.is_ascii_alphanumeric())
        && u128::from_str_radix(digits, base).is_ok_and(|value| value <= limit)
}

fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        None => digits(mantissa),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
    };
    mantissa_ok
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A date, or a date with a time: `2001-12-14`, `2001-12-14T21:59:43Z`, `2001-12-14 21:59:43.1`.
fn is_timestamp(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return is_date(text);
    };
    let separator = text.as_bytes().get(date.len());
    is_date(date)
        && if separator == Some(&b' ') {
            is_time(time)
        } else {
            is_zoned_time(time)
        }
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(day)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Some(month), Some(day)) = (number_to(month, 12), number_to(day, 31)) else {
        return false;
    };
    let Ok(year) = year.parse::<i16>() else {
        return false;
    };
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else {
        return false;
    };
    text.find('-') == Some(4) && jiff::civil::Date::new(year, month, day).is_ok()
}

fn is_zoned_time(text: &str) -> bool {
    if let Some(time) = text.strip_suffix('Z') {
        return is_time(time);
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return false;
    };
    let (time, offset) = text.split_at(at);
    let zone = offset.get(1..).and_then(|zone| zone.split_once(':'));
    is_time(time)
        && zone.is_some_and(|(hours, minutes)| {
            hours.len() == 2
                && minutes.len() == 2
                && number_to(hours, 24).is_some()
                && number_to(minutes, 60).is_some()
        })
}

fn is_time(text: &str) -> bool {
    let (text, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes, seconds] = parts.as_slice() else {
        return false;
    };
    number_to(hours, 23).is_some()
        && number_to(minutes, 59).is_some()
        && number_to(seconds, 59).is_some()
        && !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit())
}

/// A number of one or two digits that is not above `most`.
fn number_to(text: &str, most: u8) -> Option<u8> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= most)
}
