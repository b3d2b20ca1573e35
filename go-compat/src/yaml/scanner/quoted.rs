use super::{Mark, Reader, Scanned, Scanner, Style};

/// Blanks and line breaks within a scalar, whose meaning depends on what follows.
#[derive(Default)]
pub(super) struct Space {
    /// Whether a line break was among them.
    pub has_break: bool,
    blanks: Vec<u8>,
    first_break: Vec<u8>,
    more_breaks: Vec<u8>,
}

impl Space {
    /// Takes in the blank or line break that is next.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) -> Scanned {
        if reader.is_blank(0) {
            if self.has_break {
                reader.skip();
            } else {
                reader.read(&mut self.blanks);
            }
        } else {
            reader.need(2)?;
            if self.has_break {
                reader.read_line(&mut self.more_breaks);
            } else {
                self.blanks.clear();
                reader.read_line(&mut self.first_break);
                self.has_break = true;
            }
        }
        reader.need(1)
    }

    /// Appends what they stand for: one break is a space, each further one a line feed.
    pub(super) fn join(&mut self, value: &mut Vec<u8>) {
        if !self.has_break {
            value.append(&mut self.blanks);
            return;
        }
        if self.first_break.first() != Some(&b'\n') {
            value.append(&mut self.first_break);
        } else if self.more_breaks.is_empty() {
            value.push(b' ');
        }
        value.append(&mut self.more_breaks);
        self.first_break.clear();
        self.has_break = false;
    }
}

impl Scanner<'_> {
    pub(super) fn scan_quoted(&mut self, single: bool) -> Scanned {
        let start = self.reader.mark;
        let quote = if single { b'\'' } else { b'"' };
        self.reader.skip();
        let mut value = Vec::new();
        loop {
            self.reader.need(4)?;
            if self.reader.is_document_marker(b'-') || self.reader.is_document_marker(b'.') {
                return Err(self.problem("found unexpected document indicator", start));
            }
            if self.reader.is_end() {
                return Err(self.problem("found unexpected end of stream", start));
            }
            let escaped_break = self.scan_quoted_word(single, start, &mut value)?;
            self.reader.need(1)?;
            if self.reader.at(0) == quote {
                break;
            }
            self.scan_quoted_space(escaped_break, &mut value)?;
        }
        self.reader.skip();
        let end = self.reader.mark;
        let style = if single { Style::Single } else { Style::Double };
        self.push_scalar(value, style, start, end);
        Ok(())
    }

    /// Takes in what is not blank. Answers whether it ended at an escaped line break.
    fn scan_quoted_word(
        &mut self,
        single: bool,
        start: Mark,
        value: &mut Vec<u8>,
    ) -> Scanned<bool> {
        while !self.reader.is_blank_or_end(0) {
            match (single, self.reader.at(0)) {
                (true, b'\'') if self.reader.at(1) == b'\'' => {
                    value.push(b'\'');
                    self.reader.skip_many(2);
                }
                (true, b'\'') | (false, b'"') => break,
                (false, b'\\') if self.reader.is_break(1) => {
                    self.reader.need(3)?;
                    self.reader.skip();
                    self.reader.skip_line();
                    return Ok(true);
                }
                (false, b'\\') => self.scan_escape(start, value)?,
                _ => self.reader.read(value),
            }
            self.reader.need(2)?;
        }
        Ok(false)
    }

    fn scan_quoted_space(&mut self, escaped_break: bool, value: &mut Vec<u8>) -> Scanned {
        let mut space = Space {
            has_break: escaped_break,
            ..Space::default()
        };
        while self.reader.is_blank(0) || self.reader.is_break(0) {
            space.read(&mut self.reader)?;
        }
        if escaped_break {
            // The break itself is gone; those behind it stay.
            value.append(&mut space.more_breaks);
        } else {
            space.join(value);
        }
        Ok(())
    }

    fn scan_escape(&mut self, start: Mark, value: &mut Vec<u8>) -> Scanned {
        let plain: &[u8] = match self.reader.at(1) {
            b'0' => b"\0",
            b'a' => b"\x07",
            b'b' => b"\x08",
            b't' | b'\t' => b"\t",
            b'n' => b"\n",
            b'v' => b"\x0b",
            b'f' => b"\x0c",
            b'r' => b"\r",
            b'e' => b"\x1b",
            b' ' => b" ",
            b'"' => b"\"",
            b'\'' => b"'",
            b'\\' => b"\\",
            b'N' => "\u{85}".as_bytes(),
            b'_' => "\u{a0}".as_bytes(),
            b'L' => "\u{2028}".as_bytes(),
            b'P' => "\u{2029}".as_bytes(),
            b'x' => return self.scan_code(2, start, value),
            b'u' => return self.scan_code(4, start, value),
            b'U' => return self.scan_code(8, start, value),
            _ => return Err(self.problem("found unknown escape character", start)),
        };
        self.reader.skip_many(2);
        value.extend_from_slice(plain);
        Ok(())
    }

    /// A character by its number of so many hexadecimal digits.
    fn scan_code(&mut self, length: usize, start: Mark, value: &mut Vec<u8>) -> Scanned {
        self.reader.skip_many(2);
        self.reader.need(length)?;
        let mut code: u32 = 0;
        for ahead in 0..length {
            let Some(digit) = char::from(self.reader.at(ahead)).to_digit(16) else {
                let text = "did not find expected hexdecimal number";
                return Err(self.problem(text, start));
            };
            code = (code << 4) | digit;
        }
        let Some(character) = char::from_u32(code) else {
            let text = "found invalid Unicode character escape code";
            return Err(self.problem(text, start));
        };
        let mut buffer = [0; 4];
        value.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        self.reader.skip_many(length);
        Ok(())
    }
}
