//! Go's regular expressions: its syntax and error texts, and how it finds, replaces and splits.
//!
//! Matching itself is done by the `regex` crate, whose engine descends from the same RE2. Go
//! matches text that is not UTF-8 as if every stray byte were U+FFFD; [`Subject`] does the same by
//! replacing such bytes and mapping what was found back to them.

mod class;
mod expand;
mod parser;
mod subject;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::runes;
use subject::Subject;

pub use parser::SyntaxError;

/// A compiled pattern.
#[derive(Debug)]
pub struct Regexp {
    program: regex::Regex,
    is_empty: bool,
    /// About how many states it has.
    size: usize,
    names: Vec<Option<String>>,
    is_large: bool,
}

/// Compiled patterns are kept, for templates use the same ones in loops.
const MOST_CACHED: usize = 64;

/// A pattern is small that takes no more bytes when it is compiled.
const SMALL: usize = 512 * 1024;

/// Of patterns that are not small, fewer are kept.
const MOST_LARGE_CACHED: usize = 4;

/// No compiled pattern may take more, in bytes.
const LARGEST: usize = 16 * 1024 * 1024;

/// No pattern may be longer, in bytes.
const LONGEST: usize = 128 * 1024;

/// How much a pattern's searches may keep for speed, in bytes; more when it is large itself.
const DFA: usize = 1024 * 1024;

/// States looked at for a byte each that count as one step.
const SIZE_A_STEP: usize = 512;

/// Compiling recurses into nested groups, of which there may be a thousand.
const STACK: usize = 64 * 1024 * 1024;

thread_local! {
    static CACHE: RefCell<VecDeque<(Vec<u8>, Rc<Regexp>)>> = const { RefCell::new(VecDeque::new()) };
}

/// A part of a text, by the positions of its first byte and the one after its last.
type Span = (usize, usize);

impl Regexp {
    /// Compiles a pattern, or takes it from those compiled lately.
    pub fn compile(pattern: &[u8]) -> Result<Rc<Self>, SyntaxError> {
        let cached = CACHE.with_borrow(|cache| {
            cache
                .iter()
                .find(|(known, _)| known == pattern)
                .map(|(_, compiled)| Rc::clone(compiled))
        });
        if let Some(compiled) = cached {
            return Ok(compiled);
        }
        let compiled = Rc::new(Self::compile_anew(pattern)?);
        CACHE.with_borrow_mut(|cache| {
            let alike = cache
                .iter()
                .filter(|(_, of)| of.is_large == compiled.is_large);
            let most = if compiled.is_large {
                MOST_LARGE_CACHED
            } else {
                MOST_CACHED
            };
            if alike.count() >= most
                && let Some(oldest) = cache
                    .iter()
                    .position(|(_, of)| of.is_large == compiled.is_large)
            {
                cache.remove(oldest);
            }
            cache.push_back((pattern.to_vec(), Rc::clone(&compiled)));
        });
        Ok(compiled)
    }

    /// Compiles a pattern for a caller that keeps the result, as threads may share it.
    ///
    /// # Errors
    /// When the pattern is no regular expression of Go, or too large.
    pub fn compile_anew(pattern: &[u8]) -> Result<Self, SyntaxError> {
        if pattern.len() > LONGEST {
            return Err(SyntaxError::large(pattern));
        }
        let translated = parser::translate(pattern)?;
        let build = |size| {
            let build = || {
                regex::RegexBuilder::new(&translated.pattern)
                    .nest_limit(8_000)
                    .size_limit(size)
                    .dfa_size_limit(size.max(DFA))
                    .build()
            };
            if translated.depth > 50 {
                stacker::grow(STACK, build)
            } else {
                build()
            }
        };
        let (program, is_large) = match build(SMALL) {
            Ok(program) => (program, false),
            Err(_) => (
                build(LARGEST).map_err(|_| SyntaxError::large(pattern))?,
                true,
            ),
        };
        Ok(Self {
            program,
            is_empty: pattern.is_empty(),
            size: translated.size,
            names: translated.names,
            is_large,
        })
    }

    /// Whether the pattern matches somewhere in the text.
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.program.is_match(Subject::new(text).text())
    }

    /// The first match.
    pub fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let subject = Subject::new(text);
        let found = self.program.find(subject.text())?;
        Some(subject.original((found.start(), found.end())))
    }

    /// How much work a search of so many bytes may be, in the budget's steps.
    pub fn steps(&self, length: usize) -> usize {
        self.size.saturating_mul(length) / SIZE_A_STEP + 1
    }

    /// At most so many matches, all if negative. Each match is announced to `tick`, which may end
    /// the search: looking for the next one may mean looking through all of the text again.
    pub fn find_all<'t, E>(
        &self,
        text: &'t [u8],
        count: i64,
        tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<&'t [u8]>, E> {
        let subject = Subject::new(text);
        let spans = self.spans(&subject, most(count), tick)?;
        Ok(spans
            .into_iter()
            .map(|span| subject.original(span))
            .collect())
    }

    /// The positions of matches that do not overlap. An empty match right behind another match
    /// does not count.
    fn spans<E>(
        &self,
        subject: &Subject<'_>,
        most: usize,
        mut tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<Span>, E> {
        let text = subject.text();
        let mut found = Vec::new();
        let mut position = 0;
        let mut last_end = None;
        while found.len() < most && position <= text.len() {
            let Some(matched) = self.program.find_at(text, position) else {
                break;
            };
            tick()?;
            let (start, end) = (matched.start(), matched.end());
            let mut counts = true;
            if end == position {
                counts = last_end != Some(start);
                position = next_position(text, position);
            } else {
                position = end;
            }
            last_end = Some(end);
            if counts {
                found.push((start, end));
            }
        }
        Ok(found)
    }

    /// Replaces every match. What is written is announced to `charge`, which may end it all.
    pub fn replace_all<E>(
        &self,
        text: &[u8],
        replacement: &Replacement<'_>,
        mut charge: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let subject = Subject::new(text);
        let searched = subject.text();
        let mut result = Vec::new();
        let (mut last_end, mut position) = (0, 0);
        let mut groups = self.program.capture_locations();
        while position <= searched.len() {
            let found = self
                .program
                .captures_read_at(&mut groups, searched, position);
            let Some(found) = found else {
                break;
            };
            let (start, end) = (found.start(), found.end());
            let kept = subject.original((last_end, start));
            charge(kept.len())?;
            result.extend_from_slice(kept);
            if end > last_end || start == 0 {
                let group = |number| Some(subject.original(groups.get(number)?));
                replacement.append(&mut result, &self.names, &group, &mut charge)?;
            }
            last_end = end;
            let next = next_position(searched, position);
            position = if next > end { next } else { end };
        }
        result.extend_from_slice(subject.original((last_end, searched.len())));
        Ok(result)
    }

    /// The parts of the text between matches, at most so many, all if negative.
    pub fn split<'t, E>(
        &self,
        text: &'t [u8],
        count: i64,
        tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<&'t [u8]>, E> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if !self.is_empty && text.is_empty() {
            return Ok(vec![text]);
        }
        let subject = Subject::new(text);
        let mut parts = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for (start, stop) in self.spans(&subject, most(count), tick)? {
            if count > 0 && parts.len() + 1 >= most(count) {
                break;
            }
            end = start;
            if stop != 0 {
                parts.push(subject.original((begin, end)));
            }
            begin = stop;
        }
        if end != subject.text().len() {
            parts.push(subject.original((begin, subject.text().len())));
        }
        Ok(parts)
    }
}

fn most(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn next_position(text: &str, position: usize) -> usize {
    let width = text
        .get(position..)
        .and_then(|rest| rest.chars().next())
        .map_or(1, char::len_utf8);
    position + width
}

/// What stands for a match.
#[derive(Clone, Copy, Debug)]
pub enum Replacement<'a> {
    /// This text.
    Literal(&'a [u8]),
    /// This text with `$1` and `${name}` standing for groups.
    Template(&'a [u8]),
}

impl Replacement<'_> {
    fn append<'t, E>(
        &self,
        result: &mut Vec<u8>,
        names: &[Option<String>],
        group: &dyn Fn(usize) -> Option<&'t [u8]>,
        charge: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Literal(text) => {
                charge(text.len())?;
                result.extend_from_slice(text);
                Ok(())
            }
            Self::Template(template) => expand::expand(result, template, names, group, charge),
        }
    }
}

/// `regexp.QuoteMeta`: a pattern that matches just this text.
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len());
    for byte in text {
        if br"\.+*?()|[]{}^$".contains(byte) {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted
}

/// What `regexp.MustCompile` panics with.
pub fn panic_text(pattern: &[u8], error: &SyntaxError) -> String {
    let plain = std::str::from_utf8(pattern).ok().filter(|text| {
        !text
            .chars()
            .any(|rune| rune < ' ' && rune != '\t' || matches!(rune, '`' | '\u{7f}' | '\u{feff}'))
    });
    let shown = plain.map_or_else(|| runes::quote(pattern), |text| format!("`{text}`"));
    format!("regexp: Compile({shown}): {error}")
}
