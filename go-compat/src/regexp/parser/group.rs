//! Parentheses and flags.

use super::{DEEPEST, Flags, Frame, Parsed, Parser, SyntaxError, check_utf8, next_rune, up_to};

impl Parser<'_> {
    pub(super) fn open(&mut self) -> Parsed<()> {
        if self.rest.get(1) == Some(&b'?') {
            return self.extension();
        }
        self.advance(1);
        self.enter("(")?;
        self.names.push(None);
        Ok(())
    }

    fn enter(&mut self, opening: &'static str) -> Parsed<()> {
        let outside = self.flags;
        self.enter_restoring(opening, outside)
    }

    fn enter_restoring(&mut self, opening: &'static str, outside: Flags) -> Parsed<()> {
        if self.outer.len() >= usize::try_from(DEEPEST).unwrap_or(usize::MAX) {
            return Err(SyntaxError::new("expression nests too deeply", self.whole));
        }
        let inner = Frame {
            opening,
            flags_outside: outside,
            ..Frame::default()
        };
        let outer = std::mem::replace(&mut self.frame, inner);
        self.outer.push(outer);
        Ok(())
    }

    pub(super) fn close(&mut self) -> Parsed<()> {
        let Some(outer) = self.outer.pop() else {
            return Err(SyntaxError::new("unexpected )", self.whole));
        };
        let inner = std::mem::replace(&mut self.frame, outer);
        self.flags = inner.flags_outside;
        self.frame.current.push(inner.close());
        self.advance(1);
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?flags)` and `(?flags:`.
    fn extension(&mut self) -> Parsed<()> {
        let text = self.rest;
        let name_start = if text.starts_with(b"(?P<") && text.len() > 4 {
            Some(4)
        } else if text.starts_with(b"(?<") && text.len() > 3 {
            Some(3)
        } else {
            None
        };
        match name_start {
            Some(start) => self.named(start),
            None => self.flags(),
        }
    }

    fn named(&mut self, start: usize) -> Parsed<()> {
        let text = self.rest;
        let Some(end) = text.iter().position(|byte| *byte == b'>') else {
            check_utf8(text)?;
            return Err(SyntaxError::new("invalid named capture", text));
        };
        let name = text.get(start..end).unwrap_or_default();
        check_utf8(name)?;
        let is_word = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
        let name_text = String::from_utf8_lossy(name).into_owned();
        if name.is_empty() || !name.iter().all(is_word) {
            return Err(SyntaxError::new(
                "invalid named capture",
                text.get(..=end).unwrap_or_default(),
            ));
        }
        self.advance(end + 1);
        self.enter("(")?;
        self.names.push(Some(name_text));
        Ok(())
    }

    fn flags(&mut self) -> Parsed<()> {
        let text = self.rest;
        let mut rest = text.get(2..).unwrap_or_default();
        let mut flags = self.flags;
        let mut value = true;
        let mut seen = false;
        while !rest.is_empty() {
            let (rune, after) = next_rune(rest)?;
            rest = after;
            match rune {
                'i' => flags.fold_case = value,
                'm' => flags.multi_line = value,
                's' => flags.dot_all = value,
                'U' => flags.lazy = value,
                '-' if value => {
                    value = false;
                    seen = false;
                    continue;
                }
                ':' | ')' if value || seen => {
                    self.rest = rest;
                    let outside = self.flags;
                    if rune == ':' {
                        self.enter_restoring("(?:", outside)?;
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
            seen = true;
        }
        Err(SyntaxError::new(
            "invalid or unsupported Perl syntax",
            up_to(text, rest),
        ))
    }
}
