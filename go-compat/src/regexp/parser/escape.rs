//! What follows a backslash.

use super::{Parsed, Parser, SyntaxError, check_utf8, class, next_rune, up_to};

impl Parser<'_> {
    pub(super) fn backslash(&mut self) -> Parsed<()> {
        match self.rest.get(1) {
            Some(b'A') => self.symbol(r"\A", 2),
            Some(b'b') => self.symbol(r"(?-u:\b)", 2),
            Some(b'B') => self.symbol(r"(?-u:\B)", 2),
            Some(b'z') => self.symbol(r"\z", 2),
            Some(b'C') => {
                let part = self.rest.get(..2).unwrap_or_default();
                return Err(SyntaxError::new("invalid escape sequence", part));
            }
            Some(b'Q') => return self.quoted(),
            _ => {
                if let Some(set) = self.class_escape()? {
                    let text = self.folding(format!("[{set}]"));
                    self.push(text);
                } else {
                    let (rune, rest) = escape(self.rest)?;
                    self.rest = rest;
                    self.escaped_literal(rune);
                }
            }
        }
        Ok(())
    }

    /// A number for a rune that is none (a surrogate) matches nothing.
    fn escaped_literal(&mut self, rune: u32) {
        match char::from_u32(rune) {
            Some(rune) => self.literal(rune),
            None => self.push(r"[^\x{0}-\x{10ffff}]".to_owned()),
        }
    }

    /// `\Q…\E`
    fn quoted(&mut self) -> Parsed<()> {
        let inner = self.rest.get(2..).unwrap_or_default();
        let end = memchr::memmem::find(inner, br"\E");
        let mut literal = inner.get(..end.unwrap_or(inner.len())).unwrap_or_default();
        self.rest = end.and_then(|end| inner.get(end + 2..)).unwrap_or_default();
        while !literal.is_empty() {
            let (rune, rest) = next_rune(literal)?;
            self.literal(rune);
            literal = rest;
        }
        Ok(())
    }

    /// `\d`, `\pL` and the like at the parser's place, as a set to put between brackets.
    pub(super) fn class_escape(&mut self) -> Parsed<Option<String>> {
        let [b'\\', letter, ..] = self.rest else {
            return Ok(None);
        };
        if matches!(letter, b'p' | b'P') {
            return self.unicode_class().map(Some);
        }
        let Some((set, negated)) = class::perl(*letter) else {
            return Ok(None);
        };
        self.advance(2);
        Ok(Some(nested(set, negated)))
    }

    fn unicode_class(&mut self) -> Parsed<String> {
        let text = self.rest;
        let mut negated = text.get(1) == Some(&b'P');
        let (rune, rest) = match text.get(2..) {
            Some(rest) if !rest.is_empty() => next_rune(rest)?,
            // Go decodes the end of the text as a rune of no width.
            _ => ('\0', &[][..]),
        };
        let (sequence, name, rest) = if rune == '{' {
            let Some(end) = text.iter().position(|byte| *byte == b'}') else {
                check_utf8(text)?;
                return Err(SyntaxError::new("invalid character class range", text));
            };
            let name = text.get(3..end).unwrap_or_default();
            check_utf8(name)?;
            let (sequence, rest) = text.split_at(end + 1);
            (sequence, name, rest)
        } else {
            let sequence = up_to(text, rest);
            (sequence, sequence.get(2..).unwrap_or_default(), rest)
        };
        let mut name = String::from_utf8_lossy(name).into_owned();
        if let Some(inner) = name.strip_prefix('^') {
            negated = !negated;
            name = inner.to_owned();
        }
        let Some(set) = class::unicode(&name) else {
            return Err(SyntaxError::new("invalid character class range", sequence));
        };
        self.rest = rest;
        Ok(nested(&set, negated))
    }
}

/// A set as a member of another one.
pub(super) fn nested(set: &str, negated: bool) -> String {
    if negated {
        format!("[^{set}]")
    } else {
        format!("[{set}]")
    }
}

/// The rune that an escape stands for, and what follows it.
pub(super) fn escape(text: &[u8]) -> Parsed<(u32, &[u8])> {
    let rest = text.get(1..).unwrap_or_default();
    if rest.is_empty() {
        return Err(SyntaxError::new(
            "trailing backslash at end of expression",
            b"",
        ));
    }
    let (rune, rest) = next_rune(rest)?;
    let simple = |rune: u8| Ok((u32::from(rune), rest));
    match rune {
        '0'..='7' if rune == '0' || rest.first().is_some_and(|byte| is_octal(*byte)) => {
            Ok(octal(rune, rest))
        }
        'x' => hexadecimal(text, rest),
        'a' => simple(0x07),
        'f' => simple(0x0c),
        'n' => simple(b'\n'),
        'r' => simple(b'\r'),
        't' => simple(b'\t'),
        'v' => simple(0x0b),
        _ if rune.is_ascii() && !rune.is_ascii_alphanumeric() => Ok((rune.into(), rest)),
        _ => Err(invalid(text, rest)),
    }
}

fn invalid(text: &[u8], rest: &[u8]) -> SyntaxError {
    SyntaxError::new("invalid escape sequence", up_to(text, rest))
}

fn is_octal(byte: u8) -> bool {
    (b'0'..=b'7').contains(&byte)
}

fn octal(first: char, mut rest: &[u8]) -> (u32, &[u8]) {
    let mut number = first.to_digit(8).unwrap_or(0);
    for _ in 0..2 {
        let Some((digit, after)) = rest.split_first().filter(|(byte, _)| is_octal(**byte)) else {
            break;
        };
        number = number * 8 + u32::from(digit - b'0');
        rest = after;
    }
    (number, rest)
}

/// `\x41` or `\x{1f600}`.
fn hexadecimal<'a>(text: &'a [u8], rest: &'a [u8]) -> Parsed<(u32, &'a [u8])> {
    if rest.is_empty() {
        return Err(invalid(text, rest));
    }
    let (first, mut rest) = next_rune(rest)?;
    if first != '{' {
        let second;
        (second, rest) = if rest.is_empty() {
            return Err(invalid(text, rest));
        } else {
            next_rune(rest)?
        };
        return match (first.to_digit(16), second.to_digit(16)) {
            (Some(high), Some(low)) => Ok((high * 16 + low, rest)),
            _ => Err(invalid(text, rest)),
        };
    }
    let mut number = 0;
    let mut digits = 0;
    loop {
        if rest.is_empty() {
            return Err(invalid(text, rest));
        }
        let rune;
        (rune, rest) = next_rune(rest)?;
        if rune == '}' {
            break;
        }
        let Some(digit) = rune.to_digit(16) else {
            return Err(invalid(text, rest));
        };
        number = number * 16 + digit;
        if number > u32::from(char::MAX) {
            return Err(invalid(text, rest));
        }
        digits += 1;
    }
    if digits == 0 {
        return Err(invalid(text, rest));
    }
    Ok((number, rest))
}
