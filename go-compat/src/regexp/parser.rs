//! From Go's syntax to that of the `regex` crate, with Go's errors. What is accepted and which
//! error is found first follow Go's package `regexp/syntax`.

mod bracket;
mod escape;
mod group;

use std::fmt;

use super::class;
use crate::runes;

/// Why a pattern was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    problem: &'static str,
    part: Vec<u8>,
}

impl SyntaxError {
    fn new(problem: &'static str, part: &[u8]) -> Self {
        Self {
            problem,
            part: part.to_vec(),
        }
    }

    /// The error for a pattern whose program would take too much memory.
    pub fn large(pattern: &[u8]) -> Self {
        Self::new("expression too large", pattern)
    }

    /// Go's text in bytes: the part of the pattern need not be UTF-8.
    pub fn text(&self) -> Vec<u8> {
        let start = format!("error parsing regexp: {}: `", self.problem);
        [start.as_bytes(), &self.part, b"`"].concat()
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.text()))
    }
}

impl std::error::Error for SyntaxError {}

type Parsed<T> = Result<T, SyntaxError>;

/// A translated pattern.
pub struct Translated {
    /// In the syntax of the `regex` crate.
    pub pattern: String,
    /// The names of the groups, beginning with that of the whole match.
    pub names: Vec<Option<String>>,
    /// How deep groups and repetitions are nested.
    pub depth: u32,
    /// About how many states it has.
    pub size: usize,
}

/// Go's limit on repetition counts, and on their product when nested.
const MOST_REPEATS: u32 = 1000;

/// Go's limit on nesting.
const DEEPEST: u32 = 1000;

#[allow(clippy::struct_excessive_bools)] // that is what flags are
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_all: bool,
    lazy: bool,
}

/// A translated piece of the pattern to which a repetition may apply.
#[derive(Debug, Default)]
struct Piece {
    text: String,
    /// The product of the nested repetition counts.
    repeats: u32,
    depth: u32,
}

/// What stands between an opening parenthesis, or the start, and where the parser is.
#[derive(Debug, Default)]
struct Frame {
    /// What to write before the contents; empty at the top level.
    opening: &'static str,
    flags_outside: Flags,
    alternatives: Vec<Vec<Piece>>,
    current: Vec<Piece>,
}

impl Frame {
    /// All of it as one piece.
    fn close(mut self) -> Piece {
        self.alternatives.push(self.current);
        let mut piece = Piece::default();
        for (position, alternative) in self.alternatives.into_iter().enumerate() {
            if position > 0 {
                piece.text.push('|');
            }
            for part in alternative {
                piece.text.push_str(&part.text);
                piece.repeats = piece.repeats.max(part.repeats);
                piece.depth = piece.depth.max(part.depth);
            }
        }
        if !self.opening.is_empty() {
            piece.text = format!("{}{})", self.opening, piece.text);
            piece.depth += 1;
        }
        piece
    }
}

/// Translates a pattern.
pub fn translate(pattern: &[u8]) -> Parsed<Translated> {
    let mut parser = Parser {
        whole: pattern,
        rest: pattern,
        flags: Flags::default(),
        outer: Vec::new(),
        frame: Frame::default(),
        names: vec![None],
    };
    parser.parse()?;
    if !parser.outer.is_empty() {
        return Err(SyntaxError::new("missing closing )", pattern));
    }
    let piece = parser.frame.close();
    let repeats = usize::try_from(piece.repeats.max(1)).unwrap_or(usize::MAX);
    Ok(Translated {
        size: pattern.len().saturating_mul(repeats),
        pattern: piece.text,
        names: parser.names,
        depth: piece.depth,
    })
}

struct Parser<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    flags: Flags,
    outer: Vec<Frame>,
    frame: Frame,
    names: Vec<Option<String>>,
}

/// The part of a text before its tail.
fn up_to<'a>(text: &'a [u8], tail: &[u8]) -> &'a [u8] {
    text.get(..text.len() - tail.len()).unwrap_or_default()
}

fn next_rune(text: &[u8]) -> Parsed<(char, &[u8])> {
    match runes::decode(text) {
        (Some(rune), width) => Ok((rune, text.get(width..).unwrap_or_default())),
        (None, _) => Err(SyntaxError::new("invalid UTF-8", text)),
    }
}

fn check_utf8(mut text: &[u8]) -> Parsed<()> {
    while !text.is_empty() {
        (_, text) = next_rune(text)?;
    }
    Ok(())
}

impl<'a> Parser<'a> {
    fn parse(&mut self) -> Parsed<()> {
        let mut last_repeat: Option<&'a [u8]> = None;
        while let Some(first) = self.rest.first() {
            let before = self.rest;
            let mut repeat = None;
            match first {
                b'(' => self.open()?,
                b')' => self.close()?,
                b'|' => {
                    let alternative = std::mem::take(&mut self.frame.current);
                    self.frame.alternatives.push(alternative);
                    self.advance(1);
                }
                b'^' => self.symbol(
                    if self.flags.multi_line {
                        "(?m:^)"
                    } else {
                        r"\A"
                    },
                    1,
                ),
                b'$' => self.symbol(
                    if self.flags.multi_line {
                        "(?m:$)"
                    } else {
                        r"\z"
                    },
                    1,
                ),
                b'.' => self.symbol(
                    if self.flags.dot_all {
                        "(?s:.)"
                    } else {
                        r"[^\n]"
                    },
                    1,
                ),
                b'[' => self.bracket()?,
                b'*' | b'+' | b'?' => {
                    self.advance(1);
                    self.repeat(up_to(before, self.rest), None, before, last_repeat)?;
                    repeat = Some(before);
                }
                b'{' => {
                    if self.braces(last_repeat)? {
                        repeat = Some(before);
                    }
                }
                b'\\' => self.backslash()?,
                _ => {
                    let (rune, rest) = next_rune(self.rest)?;
                    self.literal(rune);
                    self.rest = rest;
                }
            }
            last_repeat = repeat;
        }
        Ok(())
    }

    fn advance(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn push(&mut self, text: String) {
        self.frame.current.push(Piece {
            text,
            repeats: 1,
            depth: 0,
        });
    }

    fn symbol(&mut self, text: &str, length: usize) {
        self.push(text.to_owned());
        self.advance(length);
    }

    /// With the case flag where it is wanted.
    fn folding(&self, text: String) -> String {
        if self.flags.fold_case {
            format!("(?i:{text})")
        } else {
            text
        }
    }

    fn literal(&mut self, rune: char) {
        let text = self.folding(literal(rune));
        self.push(text);
    }

    /// `{2,3}` if it is of that form; otherwise the brace stands for itself.
    fn braces(&mut self, last_repeat: Option<&'a [u8]>) -> Parsed<bool> {
        let before = self.rest;
        let Some((least, most, after)) = counts(before) else {
            self.literal('{');
            self.advance(1);
            return Ok(false);
        };
        let in_range = |count: Option<u32>| count.is_none_or(|count| count <= MOST_REPEATS);
        if !in_range(Some(least)) || !in_range(most) || most.is_some_and(|most| least > most) {
            return Err(SyntaxError::new(
                "invalid repeat count",
                up_to(before, after),
            ));
        }
        self.rest = after;
        let operator = match most {
            None => format!("{{{least},}}"),
            Some(most) => format!("{{{least},{most}}}"),
        };
        let times = (least, most);
        self.repeat(operator.as_bytes(), Some(times), before, last_repeat)?;
        Ok(true)
    }

    /// Applies a repetition that has just been read to the piece before it.
    fn repeat(
        &mut self,
        operator: &[u8],
        times: Option<(u32, Option<u32>)>,
        before: &'a [u8],
        last_repeat: Option<&'a [u8]>,
    ) -> Parsed<()> {
        let mut lazy = self.flags.lazy;
        if self.rest.first() == Some(&b'?') {
            self.advance(1);
            lazy = !lazy;
        }
        if let Some(last) = last_repeat {
            return Err(SyntaxError::new(
                "invalid nested repetition operator",
                up_to(last, self.rest),
            ));
        }
        let Some(mut piece) = self.frame.current.pop() else {
            return Err(SyntaxError::new(
                "missing argument to repetition operator",
                up_to(before, self.rest),
            ));
        };
        piece.depth += 1;
        if let Some((least, most)) = times {
            let count = most.unwrap_or(least);
            // What is repeated zero times is not looked into.
            piece.repeats = if most == Some(0) {
                1
            } else {
                piece.repeats.max(1).saturating_mul(count.max(1))
            };
            let counts = least >= 2 || most.is_some_and(|most| most >= 2);
            if counts && piece.repeats > MOST_REPEATS {
                return Err(SyntaxError::new(
                    "invalid repeat count",
                    up_to(before, self.rest),
                ));
            }
        }
        if piece.depth > DEEPEST {
            return Err(SyntaxError::new("expression nests too deeply", self.whole));
        }
        let lazy = if lazy { "?" } else { "" };
        let operator = String::from_utf8_lossy(operator);
        piece.text = format!("(?:{}){operator}{lazy}", piece.text);
        self.frame.current.push(piece);
        Ok(())
    }
}

/// A character that stands for nothing else.
fn literal(rune: char) -> String {
    if rune.is_ascii_alphanumeric() {
        return rune.to_string();
    }
    format!(r"\x{{{:x}}}", u32::from(rune))
}

/// The numbers of `{2}`, `{2,}` or `{2,3}`, and what follows.
fn counts(text: &[u8]) -> Option<(u32, Option<u32>, &[u8])> {
    let (least, rest) = count(text.get(1..)?)?;
    let (most, rest) = match rest.strip_prefix(b",") {
        None => (Some(least), rest),
        Some(rest) if rest.first() == Some(&b'}') => (None, rest),
        Some(rest) => {
            let (most, rest) = count(rest)?;
            (Some(most), rest)
        }
    };
    Some((least, most, rest.strip_prefix(b"}")?))
}

fn count(text: &[u8]) -> Option<(u32, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    if digits.is_empty() || digits.len() > 1 && digits.starts_with(b"0") {
        return None;
    }
    let number = std::str::from_utf8(digits).ok()?.parse();
    Some((number.unwrap_or(u32::MAX), rest))
}
