//! Bracketed classes.

use super::escape::{escape, nested};
use super::{Parsed, Parser, SyntaxError, class, next_rune, up_to};

impl Parser<'_> {
    pub(super) fn bracket(&mut self) -> Parsed<()> {
        let whole = self.rest;
        self.advance(1);
        let negated = self.rest.first() == Some(&b'^');
        if negated {
            self.advance(1);
        }
        let mut set = String::new();
        let mut first = true;
        while first || self.rest.first() != Some(&b']') {
            first = false;
            let member = match self.posix_class()? {
                Some(member) => member,
                None => match self.class_escape()? {
                    Some(member) => member,
                    None => self.range(whole)?,
                },
            };
            set.push_str(&member);
        }
        self.advance(1);
        let text = self.folding(nested(&set, negated));
        self.push(text);
        Ok(())
    }

    fn posix_class(&mut self) -> Parsed<Option<String>> {
        let text = self.rest;
        if text.len() <= 2 || !text.starts_with(b"[:") {
            return Ok(None);
        }
        let inner = text.get(2..).unwrap_or_default();
        let Some(end) = memchr::memmem::find(inner, b":]") else {
            return Ok(None);
        };
        let (name, rest) = text.split_at(end + 4);
        let found = std::str::from_utf8(name).ok().and_then(class::posix);
        let Some((set, negated)) = found else {
            return Err(SyntaxError::new("invalid character class range", name));
        };
        self.rest = rest;
        Ok(Some(nested(set, negated)))
    }

    fn range(&mut self, whole: &[u8]) -> Parsed<String> {
        let text = self.rest;
        let low = self.class_rune(whole)?;
        let mut high = low;
        if self.rest.len() >= 2
            && self.rest.first() == Some(&b'-')
            && self.rest.get(1) != Some(&b']')
        {
            self.advance(1);
            high = self.class_rune(whole)?;
            if high < low {
                return Err(SyntaxError::new(
                    "invalid character class range",
                    up_to(text, self.rest),
                ));
            }
        }
        Ok(written(low, high))
    }

    fn class_rune(&mut self, whole: &[u8]) -> Parsed<u32> {
        match self.rest.first() {
            None => Err(SyntaxError::new("missing closing ]", whole)),
            Some(b'\\') => {
                let (rune, rest) = escape(self.rest)?;
                self.rest = rest;
                Ok(rune)
            }
            Some(_) => {
                let (rune, rest) = next_rune(self.rest)?;
                self.rest = rest;
                Ok(rune.into())
            }
        }
    }
}

/// A range without the surrogates, which are no characters; nothing if there is nothing else.
fn written(low: u32, high: u32) -> String {
    let low = if (0xd800..=0xdfff).contains(&low) {
        0xe000
    } else {
        low
    };
    let high = if (0xd800..=0xdfff).contains(&high) {
        0xd7ff
    } else {
        high
    };
    if high < low {
        // The set of what is and is not a null character.
        return r"[\x00&&\x01]".to_owned();
    }
    format!(r"\x{{{low:x}}}-\x{{{high:x}}}")
}
