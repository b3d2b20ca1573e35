//! Finding words: wrapping, abbreviating, initials, and the words inside joined names.

use unicode_general_category::{GeneralCategory as Category, get_general_category};

use super::strings::decode_all;
use crate::function::Parameter::{Int, Str};
use crate::function::{Arguments, Env, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, takes};
use reeve_go_compat::runes;
use reeve_go_compat::runes::{is_upper, to_lower};
use reeve_go_compat::value::Value;

const WORDS: Group = Group("Words and lines");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    WORDS.function(
        "wrap",
        takes(&[Int, Str]),
        wrap,
        "width text",
        "Breaks lines at spaces so that they are no longer than the width in bytes, as far as \
         single words allow it.",
    ),
    WORDS.function(
        "wrapWith",
        takes(&[Int, Str, Str]),
        wrap_with,
        "width break text",
        "Like `wrap`, with the given text for line breaks, and breaking words that are too long.",
    ),
    WORDS.function(
        "abbrev",
        takes(&[Int, Str]),
        abbrev,
        "width text",
        "Cuts the text to the width and ends it with `...`. A width below 4 changes nothing.",
    ),
    WORDS.function(
        "abbrevboth",
        takes(&[Int, Int, Str]),
        abbrevboth,
        "offset width text",
        "Like `abbrev`, but also drops what stands before the offset.",
    ),
    WORDS.function(
        "initials",
        takes(&[Str]),
        initials,
        "text",
        "The first letters of all words.",
    ),
    WORDS.function(
        "nospace",
        takes(&[Str]),
        nospace,
        "text",
        "Removes all white space.",
    ),
];

fn wrap(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    wrapped(env, arguments.int(0)?, b"\n", arguments.str(1)?, false)
}

fn wrap_with(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let separator: &[u8] = match &**arguments.str(1)? {
        [] => b"\n",
        given => given,
    };
    wrapped(env, arguments.int(0)?, separator, arguments.str(2)?, true)
}

/// After `WrapCustom` of github.com/Masterminds/goutils, which counts bytes.
fn wrapped(
    env: &mut Env<'_>,
    width: i64,
    separator: &[u8],
    text: &[u8],
    break_words: bool,
) -> Answer {
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let mut result = Vec::new();
    let mut rest = text;
    while rest.len() > width {
        if let Some(after) = rest.strip_prefix(b" ") {
            rest = after;
            continue;
        }
        let space_within = rest
            .get(..=width)
            .and_then(|line| line.iter().rposition(|byte| *byte == b' '));
        let (line, next) = match space_within {
            Some(space) => (space, space + 1),
            None if break_words => (width, width),
            None => match rest.iter().skip(width).position(|byte| *byte == b' ') {
                Some(space) => (width + space, width + space + 1),
                None => break,
            },
        };
        charge_bytes(env, line + separator.len())?;
        result.extend_from_slice(rest.get(..line).unwrap_or_default());
        result.extend_from_slice(separator);
        rest = rest.get(next..).unwrap_or_default();
    }
    charge_bytes(env, rest.len())?;
    result.extend_from_slice(rest);
    answer(result)
}

fn abbrev(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (width, text) = (arguments.int(0)?, arguments.str(1)?);
    if width < 4 {
        return Ok(Value::Str(text.clone()));
    }
    charge_bytes(env, text.len())?;
    answer(abbreviated(text, 0, width))
}

fn abbrevboth(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (offset, width, text) = (arguments.int(0)?, arguments.int(1)?, arguments.str(2)?);
    if width < 4 || offset > 0 && width < 7 {
        return Ok(Value::Str(text.clone()));
    }
    charge_bytes(env, text.len())?;
    answer(abbreviated(text, offset, width))
}

/// After `AbbreviateFull` of github.com/Masterminds/goutils; the width is at least 4.
fn abbreviated(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    if length <= width {
        return text.to_vec();
    }
    let room = width - 3;
    let mut offset = offset.min(length);
    if length.wrapping_sub(offset) < room {
        offset = length - room;
    }
    let part = |from: i64, to: i64| {
        let bound = |position| usize::try_from(position).unwrap_or(0);
        text.get(bound(from)..bound(to)).unwrap_or_default()
    };
    if offset <= 4 {
        return [part(0, room), b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    if offset + room < length {
        let shorter = if room < 4 {
            Vec::new()
        } else {
            abbreviated(part(offset, length), 0, room)
        };
        return [b"...", &*shorter].concat();
    }
    [b"...", part(length - room, length)].concat()
}

/// Upstream reads bytes as Latin-1, and writes them so.
fn latin1(byte: u8) -> char {
    char::from(byte)
}

fn initials(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len())?;
    let mut after_gap = true;
    let mut result = String::new();
    for rune in text.iter().map(|byte| latin1(*byte)) {
        if rune.is_whitespace() {
            after_gap = true;
        } else if after_gap {
            result.push(rune);
            after_gap = false;
        }
    }
    answer(result)
}

fn nospace(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    if !text.iter().any(|byte| latin1(*byte).is_whitespace()) {
        return Ok(Value::Str(text.clone()));
    }
    // Latin-1 characters may take two bytes.
    charge_bytes(env, text.len().saturating_mul(2))?;
    let kept: String = text
        .iter()
        .map(|byte| latin1(*byte))
        .filter(|rune| !rune.is_whitespace())
        .collect();
    answer(kept)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

fn connects(rune: char) -> bool {
    rune == '-' || rune == '_' || rune.is_whitespace()
}

/// Letters of alphabets, that is, not the most frequent ideographs.
fn is_alphabet(rune: char) -> bool {
    runes::is_letter(rune)
        && !matches!(rune, '\u{4e00}'..='\u{9fcc}' | '\u{3400}'..='\u{4d85}' | '\u{20000}'..='\u{2b81d}')
}

fn is_number(rune: char) -> bool {
    matches!(
        get_general_category(rune),
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber
    )
}

fn is_punctuation(rune: char) -> bool {
    matches!(
        get_general_category(rune),
        Category::ConnectorPunctuation
            | Category::DashPunctuation
            | Category::OpenPunctuation
            | Category::ClosePunctuation
            | Category::InitialPunctuation
            | Category::FinalPunctuation
            | Category::OtherPunctuation
    )
}

/// The next rune that is valid, and the width with the invalid bytes before it; at the end, the
/// previous rune again.
fn next_valid(text: &[u8], previous: Option<char>) -> (Option<char>, usize) {
    let mut size = 0;
    while let Some(rest) = text.get(size..).filter(|rest| !rest.is_empty()) {
        let (rune, width) = runes::decode(rest);
        size += width;
        if rune.is_some_and(|rune| rune != char::REPLACEMENT_CHARACTER) {
            return (rune, size);
        }
    }
    (previous, size)
}

/// Consumes runes as long as they fit, starting behind the first one.
fn run(text: &[u8], first: char, size: usize, fits: &dyn Fn(char) -> bool) -> usize {
    let mut offset = size;
    let mut last = first;
    while offset < text.len() {
        let (rune, width) = next_valid(text.get(offset..).unwrap_or_default(), Some(last));
        let Some(rune) = rune.filter(|rune| width > 0 && fits(*rune)) else {
            break;
        };
        last = rune;
        offset += width;
    }
    offset
}

/// A word of upper-case letters, or of one and the lower-case ones after it. Of the former the
/// last letter is left to the word that follows, so that `HTTPServer` is `HTTP` and `Server`.
fn upper_word(text: &[u8], first: char, size: usize) -> usize {
    let (second, width) = next_valid(text.get(size..).unwrap_or_default(), Some(first));
    if size >= text.len() {
        return size;
    }
    match second {
        Some(second) if is_upper(second) => {
            let mut offset = size + width;
            let mut last = second;
            let mut last_width = width;
            while offset < text.len() {
                let (rune, width) = next_valid(text.get(offset..).unwrap_or_default(), Some(last));
                let rune = rune.unwrap_or(last);
                if !is_upper(rune) {
                    if is_alphabet(rune) {
                        offset -= last_width;
                    }
                    break;
                }
                (last, last_width) = (rune, width);
                offset += width;
            }
            offset
        }
        Some(second) if is_alphabet(second) => run(text, second, size + width, &|rune| {
            is_alphabet(rune) && !is_upper(rune)
        }),
        _ => size,
    }
}

fn next_word(text: &[u8]) -> (Word, &[u8], &[u8]) {
    let (rune, size) = next_valid(text, None);
    let (word, length) = match rune {
        None => (Word::Invalid, size),
        Some(rune) if connects(rune) => (Word::Connector, run(text, rune, size, &connects)),
        Some(rune) if is_punctuation(rune) => {
            (Word::Punctuation, run(text, rune, size, &is_punctuation))
        }
        Some(rune) if is_upper(rune) => (Word::Upper, upper_word(text, rune, size)),
        Some(rune) if is_alphabet(rune) => {
            let lower = |rune| is_alphabet(rune) && !is_upper(rune);
            (Word::Alphabet, run(text, rune, size, &lower))
        }
        Some(rune) if is_number(rune) => (Word::Number, run(text, rune, size, &is_number)),
        Some(rune) => {
            let other = |rune| {
                !connects(rune) && !is_alphabet(rune) && !is_number(rune) && !is_punctuation(rune)
            };
            (Word::Other, run(text, rune, size, &other))
        }
    };
    let (found, rest) = text.split_at(length.min(text.len()));
    (word, found, rest)
}

fn append_lower(out: &mut Vec<u8>, word: Word, text: &[u8], connector: char) {
    if word != Word::Upper && word != Word::Connector {
        out.extend_from_slice(text);
        return;
    }
    let lower: String = decode_all(text)
        .into_iter()
        .map(|rune| match rune {
            rune if connects(rune) => connector,
            rune if is_upper(rune) => to_lower(rune),
            // A title-case letter is none of either.
            rune => rune,
        })
        .collect();
    out.extend_from_slice(lower.as_bytes());
}

/// Words in lower case with connectors between them, after `ToSnakeCase` of
/// github.com/huandu/xstrings.
pub fn joined_lower(text: &[u8], connector: char) -> Vec<u8> {
    Joiner {
        out: Vec::with_capacity(text.len() + 8),
        connector,
    }
    .join(text)
}

struct Joiner {
    out: Vec<u8>,
    connector: char,
}

impl Joiner {
    fn connect(&mut self) {
        let mut buffer = [0; 4];
        self.out
            .extend_from_slice(self.connector.encode_utf8(&mut buffer).as_bytes());
    }

    fn append(&mut self, word: Word, text: &[u8]) {
        append_lower(&mut self.out, word, text, self.connector);
    }

    /// Appends letters and numbers up to another kind of word and answers that one.
    fn append_mixed<'a>(
        &mut self,
        mut current: (Word, &'a [u8], &'a [u8]),
    ) -> (Word, &'a [u8], &'a [u8]) {
        while matches!(current.0, Word::Alphabet | Word::Number) {
            self.append(current.0, current.1);
            current = next_word_or_end(current.2);
        }
        if !matches!(
            current.0,
            Word::Invalid | Word::Punctuation | Word::Connector
        ) {
            self.connect();
        }
        current
    }

    fn join(mut self, text: &[u8]) -> Vec<u8> {
        let mut current = next_word_or_end(text);
        while !current.2.is_empty() {
            let (previous, last, rest) = current;
            if previous != Word::Connector {
                self.append(previous, last);
            }
            current = next_word_or_end(rest);
            current = match previous {
                Word::Number => self.append_mixed(current),
                Word::Connector => {
                    self.append(previous, last);
                    current
                }
                Word::Punctuation => current,
                _ => self.after_letters(current),
            };
        }
        self.append(current.0, current.1);
        self.out
    }

    /// What follows letters: a number belongs to them (`bld4_floor`) unless lower-case letters
    /// follow it (`http_2xx`).
    fn after_letters<'a>(
        &mut self,
        current: (Word, &'a [u8], &'a [u8]),
    ) -> (Word, &'a [u8], &'a [u8]) {
        let (word, number, rest) = current;
        if word != Word::Number {
            if word != Word::Connector && word != Word::Punctuation {
                self.connect();
            }
            return current;
        }
        if rest.is_empty() {
            return current;
        }
        let next = next_word_or_end(rest);
        if next.0 != Word::Alphabet {
            self.append(Word::Number, number);
            if next.0 != Word::Connector && next.0 != Word::Punctuation {
                self.connect();
            }
            return next;
        }
        self.connect();
        self.append(Word::Number, number);
        self.append_mixed(next)
    }
}

fn next_word_or_end(text: &[u8]) -> (Word, &[u8], &[u8]) {
    if text.is_empty() {
        return (Word::Invalid, &[], &[]);
    }
    next_word(text)
}
