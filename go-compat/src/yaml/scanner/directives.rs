use super::{Kind, Mark, Problem, Scanned, Scanner};

/// How many digits each part of a version may have.
const MAX_NUMBER_LENGTH: usize = 2;

impl Scanner<'_> {
    fn skip_blanks(&mut self) -> Scanned {
        self.reader.need(1)?;
        while self.reader.is_blank(0) {
            self.reader.skip();
            self.reader.need(1)?;
        }
        Ok(())
    }

    fn read_word(&mut self, into: &mut Vec<u8>) -> Scanned {
        self.reader.need(1)?;
        while self.reader.is_word() {
            self.reader.read(into);
            self.reader.need(1)?;
        }
        Ok(())
    }

    pub(super) fn scan_directive(&mut self) -> Scanned {
        let start = self.reader.mark;
        self.reader.skip();
        let mut name = Vec::new();
        self.read_word(&mut name)?;
        if name.is_empty() {
            return Err(self.problem("could not find expected directive name", start));
        }
        if !self.reader.is_blank_or_end(0) {
            return Err(self.problem("found unexpected non-alphabetical character", start));
        }
        let kind = match name.as_slice() {
            b"YAML" => self.scan_version(start)?,
            b"TAG" => self.scan_tag_directive(start)?,
            _ => return Err(self.problem("found unknown directive name", start)),
        };
        let end = self.reader.mark;
        self.end_line(start)?;
        self.push(kind, start);
        if let Some(token) = self.queue.back_mut() {
            token.end = end;
        }
        Ok(())
    }

    /// Passes over blanks, a comment and the line break behind a directive.
    fn end_line(&mut self, start: Mark) -> Scanned {
        self.skip_blanks()?;
        if self.reader.at(0) == b'#' {
            self.skip_comment()?;
        }
        self.expect_line_end(start)
    }

    /// Passes over a line break, or fails when something else is here.
    pub(super) fn expect_line_end(&mut self, start: Mark) -> Scanned {
        if !self.reader.is_break_or_end(0) {
            let text = "did not find expected comment or line break";
            return Err(self.problem(text, start));
        }
        if self.reader.is_break(0) {
            self.reader.need(2)?;
            self.reader.skip_line();
        }
        Ok(())
    }

    fn scan_version(&mut self, start: Mark) -> Scanned<Kind> {
        self.skip_blanks()?;
        let major = self.scan_version_number(start)?;
        if self.reader.at(0) != b'.' {
            let text = "did not find expected digit or '.' character";
            return Err(self.problem(text, start));
        }
        self.reader.skip();
        let minor = self.scan_version_number(start)?;
        Ok(Kind::Version(major, minor))
    }

    fn scan_version_number(&mut self, start: Mark) -> Scanned<u8> {
        let mut number = 0;
        let mut length = 0;
        self.reader.need(1)?;
        while self.reader.at(0).is_ascii_digit() {
            length += 1;
            if length > MAX_NUMBER_LENGTH {
                return Err(self.problem("found extremely long version number", start));
            }
            number = number * 10 + (self.reader.at(0) - b'0');
            self.reader.skip();
            self.reader.need(1)?;
        }
        if length == 0 {
            return Err(self.problem("did not find expected version number", start));
        }
        Ok(number)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Scanned<Kind> {
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true, start)?;
        self.reader.need(1)?;
        if !self.reader.is_blank(0) {
            return Err(self.problem("did not find expected whitespace", start));
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri(&[], start)?;
        self.reader.need(1)?;
        if !self.reader.is_blank_or_end(0) {
            let text = "did not find expected whitespace or line break";
            return Err(self.problem(text, start));
        }
        Ok(Kind::TagDirective(handle, prefix))
    }

    pub(super) fn scan_anchor(&mut self) -> Scanned<String> {
        let start = self.reader.mark;
        self.reader.skip();
        let mut name = Vec::new();
        self.read_word(&mut name)?;
        let ends = self.reader.is_blank_or_end(0)
            || matches!(
                self.reader.at(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !ends {
            let text = "did not find expected alphabetic or numeric character";
            return Err(self.problem(text, start));
        }
        Ok(String::from_utf8_lossy(&name).into_owned())
    }

    /// The handle and the suffix of a tag.
    pub(super) fn scan_tag(&mut self) -> Scanned<(Vec<u8>, Vec<u8>)> {
        let start = self.reader.mark;
        self.reader.need(2)?;
        let tag = if self.reader.at(1) == b'<' {
            self.reader.skip_many(2);
            let suffix = self.scan_tag_uri(&[], start)?;
            if self.reader.at(0) != b'>' {
                return Err(self.problem("did not find the expected '>'", start));
            }
            self.reader.skip();
            (Vec::new(), suffix)
        } else {
            let handle = self.scan_tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with(b"!") {
                let suffix = self.scan_tag_uri(&[], start)?;
                (handle, suffix)
            } else {
                let suffix = self.scan_tag_uri(&handle, start)?;
                if suffix.is_empty() {
                    (Vec::new(), b"!".to_vec())
                } else {
                    (b"!".to_vec(), suffix)
                }
            }
        };
        self.reader.need(1)?;
        if !self.reader.is_blank_or_end(0) {
            let text = "did not find expected whitespace or line break";
            return Err(self.problem(text, start));
        }
        Ok(tag)
    }

    fn scan_tag_handle(&mut self, directive: bool, start: Mark) -> Scanned<Vec<u8>> {
        self.reader.need(1)?;
        if self.reader.at(0) != b'!' {
            return Err(self.problem("did not find expected '!'", start));
        }
        let mut handle = Vec::new();
        self.reader.read(&mut handle);
        self.read_word(&mut handle)?;
        if self.reader.at(0) == b'!' {
            self.reader.read(&mut handle);
        } else if directive && handle != b"!" {
            return Err(self.problem("did not find expected '!'", start));
        }
        Ok(handle)
    }

    fn scan_tag_uri(&mut self, head: &[u8], start: Mark) -> Scanned<Vec<u8>> {
        let mut uri = head.get(1..).unwrap_or(&[]).to_vec();
        let mut found = !head.is_empty();
        self.reader.need(1)?;
        while self.reader.is_word() || b";/?:@&=+$,.!~*'()[]%".contains(&self.reader.at(0)) {
            if self.reader.at(0) == b'%' {
                self.scan_uri_escapes(start, &mut uri)?;
            } else {
                self.reader.read(&mut uri);
            }
            self.reader.need(1)?;
            found = true;
        }
        if !found {
            return Err(self.problem("did not find expected tag URI", start));
        }
        Ok(uri)
    }

    /// One character as `%XX` octets.
    fn scan_uri_escapes(&mut self, start: Mark, into: &mut Vec<u8>) -> Scanned {
        let mut remaining = None;
        while remaining != Some(0) {
            self.reader.need(3)?;
            let octet = self.escaped_octet(start)?;
            remaining = Some(match remaining {
                None => match octet {
                    0..=0x7f => 0,
                    0xc0..=0xdf => 1,
                    0xe0..=0xef => 2,
                    0xf0..=0xf7 => 3,
                    _ => {
                        let text = "found an incorrect leading UTF-8 octet";
                        return Err(self.problem(text, start));
                    }
                },
                Some(_) if octet & 0xc0 != 0x80 => {
                    let text = "found an incorrect trailing UTF-8 octet";
                    return Err(self.problem(text, start));
                }
                Some(count) => count - 1,
            });
            into.push(octet);
            self.reader.skip_many(3);
        }
        Ok(())
    }

    fn escaped_octet(&self, start: Mark) -> Result<u8, Problem> {
        let digit = |ahead| char::from(self.reader.at(ahead)).to_digit(16);
        match (self.reader.at(0), digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => Ok(u8::try_from(high * 16 + low).unwrap_or(0)),
            _ => Err(self.problem("did not find URI escaped octet", start)),
        }
    }
}
