use std::borrow::Cow;

use super::Span;
use crate::runes;

/// A text to search: as it is if it is UTF-8, else with U+FFFD for every stray byte.
pub struct Subject<'t> {
    original: &'t [u8],
    text: Cow<'t, str>,
    /// Where the stray bytes stand in `text`. Each takes two bytes more there.
    stray: Vec<usize>,
}

/// How much longer U+FFFD is than a byte.
const EXCESS: usize = 2;

impl<'t> Subject<'t> {
    /// Prepares a text.
    pub fn new(original: &'t [u8]) -> Self {
        let mut stray = Vec::new();
        let text = std::str::from_utf8(original).map_or_else(
            |_| Cow::Owned(replaced(original, &mut stray)),
            Cow::Borrowed,
        );
        Self {
            original,
            text,
            stray,
        }
    }

    /// What is searched.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The original bytes at a span of the searched text.
    pub fn original(&self, (start, end): Span) -> &'t [u8] {
        let back = |position| {
            let before = self.stray.partition_point(|stray| *stray < position);
            position - EXCESS * before
        };
        self.original
            .get(back(start)..back(end))
            .unwrap_or_default()
    }
}

fn replaced(original: &[u8], stray: &mut Vec<usize>) -> String {
    let mut text = String::with_capacity(original.len());
    let mut rest = original;
    while !rest.is_empty() {
        let (rune, width) = runes::decode(rest);
        if rune.is_none() {
            stray.push(text.len());
        }
        text.push(rune.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = rest.get(width..).unwrap_or_default();
    }
    text
}
