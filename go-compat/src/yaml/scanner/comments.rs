use super::{Dialect, Scanned, Scanner};

/// How far go-yaml v3 looks for a comment that continues one.
const LOOKAHEAD: usize = 512;

impl Scanner<'_> {
    /// Passes over blanks, comments and line breaks.
    pub(super) fn skip_to_next_token(&mut self) -> Scanned {
        loop {
            self.reader.need(1)?;
            if self.reader.mark.column == 0 && self.reader.is_byte_order_mark() {
                self.reader.skip();
            }
            self.reader.need(1)?;
            while self.reader.at(0) == b' '
                || ((self.flow_level > 0 || !self.simple_key_allowed) && self.reader.at(0) == b'\t')
            {
                self.reader.skip();
                self.reader.need(1)?;
            }
            if self.reader.at(0) == b'#' {
                match self.dialect {
                    Dialect::V3 => self.skip_comments()?,
                    Dialect::V2 => self.skip_comment()?,
                }
            }
            if !self.reader.is_break(0) {
                return Ok(());
            }
            self.reader.need(2)?;
            self.reader.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Passes over the rest of the line.
    pub(super) fn skip_comment(&mut self) -> Scanned {
        while !self.reader.is_break_or_end(0) {
            self.reader.skip();
            self.reader.need(1)?;
        }
        Ok(())
    }

    /// Passes over a comment behind a token, as go-yaml v3 does at once. Unlike elsewhere, any
    /// blanks may stand before it.
    pub(super) fn skip_line_comment(&mut self) -> Scanned {
        if self.reader.newlines > 0 {
            return Ok(());
        }
        for ahead in 0..LOOKAHEAD {
            self.reader.need(ahead + 1)?;
            if self.reader.is_blank(ahead) {
                continue;
            }
            if self.reader.at(ahead) == b'#' {
                return self.skip_through_line(ahead);
            }
            break;
        }
        Ok(())
    }

    /// Passes over successive comments, whatever blanks and empty lines are between them: not
    /// even tabs, which are errors elsewhere, end such a block in go-yaml v3.
    fn skip_comments(&mut self) -> Scanned {
        let mut ahead = 0;
        while ahead < LOOKAHEAD {
            self.reader.need(ahead + 1)?;
            let is_close = self.flow_level > 0 && matches!(self.reader.at(ahead), b']' | b'}');
            if self.reader.is_blank(ahead) || (!is_close && self.reader.is_break(ahead)) {
                ahead += 1;
                continue;
            }
            if self.reader.at(ahead) != b'#' {
                return Ok(());
            }
            self.skip_through_line(ahead)?;
            // The character that ended the comment is not looked at.
            ahead = 1;
        }
        Ok(())
    }

    /// Passes over everything up to a `#` this far ahead, and the rest of its line.
    fn skip_through_line(&mut self, ahead: usize) -> Scanned {
        let comment = self.reader.mark.index + ahead;
        loop {
            self.reader.need(1)?;
            if !self.reader.is_break_or_end(0) {
                self.reader.skip();
            } else if self.reader.mark.index >= comment || self.reader.is_end() {
                return Ok(());
            } else {
                self.reader.need(2)?;
                self.reader.skip_line();
            }
        }
    }
}
