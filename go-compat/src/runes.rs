//! Characters as Go's `unicode` classifies them, and strings as `strconv` quotes them.

use std::fmt::Write;

use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// `unicode.IsLetter`: the categories that start with L.
pub fn is_letter(rune: char) -> bool {
    if rune.is_ascii() {
        return rune.is_ascii_alphabetic();
    }
    matches!(
        get_general_category(rune),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
    )
}

/// `unicode.IsDigit`: decimal digits.
pub fn is_digit(rune: char) -> bool {
    if rune.is_ascii() {
        return rune.is_ascii_digit();
    }
    get_general_category(rune) == Category::DecimalNumber
}

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub fn is_print(rune: char) -> bool {
    if rune.is_ascii() {
        return (' '..='~').contains(&rune);
    }
    !matches!(
        get_general_category(rune),
        Category::Control
            | Category::Format
            | Category::Surrogate
            | Category::PrivateUse
            | Category::Unassigned
            | Category::SpaceSeparator
            | Category::LineSeparator
            | Category::ParagraphSeparator
    )
}

/// The first rune of bytes as Go decodes it: `None` with width 1 for a byte that is no UTF-8.
/// Empty input has width 0.
pub fn decode(bytes: &[u8]) -> (Option<char>, usize) {
    let Some(first) = bytes.first() else {
        return (None, 0);
    };
    let width = match first {
        0..=0x7f => return (Some(char::from(*first)), 1),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (None, 1),
    };
    let rune = bytes
        .get(..width)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|text| text.chars().next());
    match rune {
        Some(rune) => (Some(rune), width),
        None => (None, 1),
    }
}

/// How far a quoted string may use characters as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// Printable characters stay (`%q`).
    Printable,
    /// Only ASCII stays (`%+q`).
    Ascii,
}

/// `%q`, `strconv.Quote`: a Go string literal in double quotes.
pub fn quote(text: impl AsRef<[u8]>) -> String {
    quote_as(text.as_ref(), Quoting::Printable)
}

/// [`quote`], or the `%+q` of text.
pub fn quote_as(text: &[u8], quoting: Quoting) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    append_escaped(&mut quoted, text, '"', quoting);
    quoted.push('"');
    quoted
}

/// `strconv.QuoteRune`: a Go character literal in single quotes.
pub fn quote_rune(rune: char, quoting: Quoting) -> String {
    let mut quoted = String::from("'");
    append_rune(&mut quoted, rune, '\'', quoting);
    quoted.push('\'');
    quoted
}

fn append_escaped(out: &mut String, mut text: &[u8], delimiter: char, quoting: Quoting) {
    while !text.is_empty() {
        let (rune, width) = decode(text);
        match rune {
            Some(rune) => append_rune(out, rune, delimiter, quoting),
            None => {
                let _ = write!(out, "\\x{:02x}", text.first().copied().unwrap_or(0));
            }
        }
        text = text.get(width..).unwrap_or_default();
    }
}

fn append_rune(out: &mut String, rune: char, delimiter: char, quoting: Quoting) {
    if rune == delimiter || rune == '\\' {
        out.push('\\');
        out.push(rune);
        return;
    }
    if (quoting == Quoting::Printable || rune.is_ascii()) && is_print(rune) {
        out.push(rune);
        return;
    }
    match rune {
        '\u{07}' => out.push_str("\\a"),
        '\u{08}' => out.push_str("\\b"),
        '\u{0c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{0b}' => out.push_str("\\v"),
        rune if rune < ' ' || rune == '\u{7f}' => {
            let _ = write!(out, "\\x{:02x}", u32::from(rune));
        }
        rune if u32::from(rune) < 0x1_0000 => {
            let _ = write!(out, "\\u{:04x}", u32::from(rune));
        }
        rune => {
            let _ = write!(out, "\\U{:08x}", u32::from(rune));
        }
    }
}

/// `strconv.Unquote` of a string literal, quotes included: the bytes it stands for.
pub fn unquote(literal: &str) -> Option<Vec<u8>> {
    let delimiter = literal.chars().next()?;
    let inner = literal.strip_prefix(delimiter)?.strip_suffix(delimiter)?;
    if literal.len() < 2 {
        return None;
    }
    if delimiter == '`' {
        if inner.contains('`') {
            return None;
        }
        return Some(inner.bytes().filter(|byte| *byte != b'\r').collect());
    }
    if inner.contains('\n') {
        return None;
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        let (unit, tail) = unquote_unit(rest, delimiter)?;
        unit.append_to(&mut bytes);
        rest = tail;
    }
    Some(bytes)
}

/// One character of a literal: a rune, or a byte written as `\x..` or in octal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A character.
    Rune(char),
    /// A byte.
    Byte(u8),
}

impl Unit {
    fn append_to(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Rune(rune) => {
                let mut buffer = [0; 4];
                bytes.extend_from_slice(rune.encode_utf8(&mut buffer).as_bytes());
            }
            Self::Byte(byte) => bytes.push(byte),
        }
    }

    /// The number that a character constant of this unit has.
    pub fn number(self) -> u32 {
        match self {
            Self::Rune(rune) => rune.into(),
            Self::Byte(byte) => byte.into(),
        }
    }
}

/// `strconv.UnquoteChar`: the first character of a literal's inside, and what follows.
pub fn unquote_unit(text: &str, delimiter: char) -> Option<(Unit, &str)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if first == delimiter && (delimiter == '\'' || delimiter == '"') {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Rune(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let simple = |rune| Some((Unit::Rune(rune), rest));
    match escape {
        'a' => simple('\u{07}'),
        'b' => simple('\u{08}'),
        'f' => simple('\u{0c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{0b}'),
        '\\' => simple('\\'),
        '\'' | '"' if escape == delimiter => simple(escape),
        'x' => number(rest, 2, 16).and_then(byte_unit),
        'u' => number(rest, 4, 16).and_then(rune_unit),
        'U' => number(rest, 8, 16).and_then(rune_unit),
        '0'..='7' => {
            let start = text.get(1..)?;
            number(start, 3, 8).and_then(byte_unit)
        }
        _ => None,
    }
}

fn number(text: &str, digits: usize, radix: u32) -> Option<(u32, &str)> {
    let run = text.get(..digits)?;
    if !run.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    Some((u32::from_str_radix(run, radix).ok()?, text.get(digits..)?))
}

fn byte_unit((number, rest): (u32, &str)) -> Option<(Unit, &str)> {
    let byte = u8::try_from(number).ok()?;
    Some((Unit::Byte(byte), rest))
}

fn rune_unit((number, rest): (u32, &str)) -> Option<(Unit, &str)> {
    Some((Unit::Rune(char::from_u32(number)?), rest))
}

fn single(mut mapping: impl Iterator<Item = char>) -> Option<char> {
    let first = mapping.next()?;
    mapping.next().is_none().then_some(first)
}

fn offset(rune: char, by: u32) -> char {
    char::from_u32(u32::from(rune) + by).unwrap_or(rune)
}

/// `unicode.ToUpper`.
pub fn to_upper(rune: char) -> char {
    // Greek letters with a iota subscript: the full mapping spells the iota out, the simple one
    // has a letter of its own.
    match rune {
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            offset(rune, 8)
        }
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => offset(rune, 9),
        _ => single(rune.to_uppercase()).unwrap_or(rune),
    }
}

/// `unicode.ToLower`.
pub fn to_lower(rune: char) -> char {
    if rune == '\u{130}' {
        return 'i';
    }
    single(rune.to_lowercase()).unwrap_or(rune)
}

/// `unicode.ToTitle`.
pub fn to_title(rune: char) -> char {
    match rune {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => rune,
        _ => to_upper(rune),
    }
}

/// `unicode.IsUpper`.
pub fn is_upper(rune: char) -> bool {
    get_general_category(rune) == Category::UppercaseLetter
}
