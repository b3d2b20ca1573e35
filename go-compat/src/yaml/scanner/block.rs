use super::{Dialect, Mark, Scanned, Scanner, Style, signed};

/// What to do with the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Scanned {
        let start = self.reader.mark;
        self.reader.skip();
        let (chomping, increment) = self.scan_block_header(start)?;
        let mut end = self.reader.mark;
        let mut indent = match increment {
            0 => 0,
            more => usize::try_from(self.indent).unwrap_or(0) + more,
        };

        let mut value = Vec::new();
        let mut leading_break = Vec::new();
        let mut trailing_breaks = Vec::new();
        self.scan_block_breaks(&mut indent, &mut trailing_breaks, start, &mut end)?;
        self.reader.need(1)?;
        let mut leading_blank = false;
        while self.reader.mark.column == indent && !self.reader.is_end() {
            let trailing_blank = self.reader.is_blank(0);
            let folds = !literal
                && !leading_blank
                && !trailing_blank
                && leading_break.first() == Some(&b'\n');
            if !folds {
                value.append(&mut leading_break);
            } else if trailing_breaks.is_empty() {
                value.push(b' ');
            }
            leading_break.clear();
            value.append(&mut trailing_breaks);
            leading_blank = self.reader.is_blank(0);
            while !self.reader.is_break_or_end(0) {
                self.reader.read(&mut value);
                self.reader.need(1)?;
            }
            self.reader.need(2)?;
            self.reader.read_line(&mut leading_break);
            self.scan_block_breaks(&mut indent, &mut trailing_breaks, start, &mut end)?;
        }
        if chomping != Chomping::Strip {
            value.append(&mut leading_break);
        }
        if chomping == Chomping::Keep {
            value.append(&mut trailing_breaks);
        }
        self.push_scalar(value, Style::Block, start, end);
        Ok(())
    }

    /// The indicators behind `|` or `>` and the rest of that line.
    fn scan_block_header(&mut self, start: Mark) -> Scanned<(Chomping, usize)> {
        self.reader.need(1)?;
        let mut chomping = self.scan_chomping()?;
        let increment = self.scan_increment(start)?;
        if chomping == Chomping::Clip && increment > 0 {
            chomping = self.scan_chomping()?;
        }
        self.reader.need(1)?;
        while self.reader.is_blank(0) {
            self.reader.skip();
            self.reader.need(1)?;
        }
        if self.reader.at(0) == b'#' {
            if self.dialect == Dialect::V3 {
                self.skip_line_comment()?;
            }
            self.skip_comment()?;
        }
        self.expect_line_end(start)?;
        Ok((chomping, increment))
    }

    fn scan_chomping(&mut self) -> Scanned<Chomping> {
        let chomping = match self.reader.at(0) {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return Ok(Chomping::Clip),
        };
        self.reader.skip();
        self.reader.need(1)?;
        Ok(chomping)
    }

    fn scan_increment(&mut self, start: Mark) -> Scanned<usize> {
        let digit = self.reader.at(0);
        if !digit.is_ascii_digit() {
            return Ok(0);
        }
        if digit == b'0' {
            let text = "found an indentation indicator equal to 0";
            return Err(self.problem(text, start));
        }
        self.reader.skip();
        self.reader.need(1)?;
        Ok(usize::from(digit - b'0'))
    }

    /// Passes over indentation and empty lines; finds out the indentation when it is still 0.
    fn scan_block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut Vec<u8>,
        start: Mark,
        end: &mut Mark,
    ) -> Scanned {
        *end = self.reader.mark;
        let mut widest = 0;
        loop {
            self.reader.need(1)?;
            let is_left = |column: usize| *indent == 0 || column < *indent;
            while is_left(self.reader.mark.column) && self.reader.at(0) == b' ' {
                self.reader.skip();
                self.reader.need(1)?;
            }
            widest = widest.max(self.reader.mark.column);
            if is_left(self.reader.mark.column) && self.reader.at(0) == b'\t' {
                let text = "found a tab character where an indentation space is expected";
                return Err(self.problem(text, start));
            }
            if !self.reader.is_break(0) {
                break;
            }
            self.reader.need(2)?;
            self.reader.read_line(breaks);
            *end = self.reader.mark;
        }
        if *indent == 0 {
            let least = usize::try_from(self.indent + 1).unwrap_or(0);
            *indent = widest.max(least).max(1);
        }
        Ok(())
    }

    pub(super) fn scan_plain(&mut self) -> Scanned {
        let start = self.reader.mark;
        let mut end = start;
        let indent = self.indent + 1;
        let mut value = Vec::new();
        let mut space = super::quoted::Space::default();
        loop {
            self.reader.need(4)?;
            if self.reader.is_document_marker(b'-')
                || self.reader.is_document_marker(b'.')
                || self.reader.at(0) == b'#'
            {
                break;
            }
            while !self.reader.is_blank_or_end(0) && !self.ends_plain() {
                space.join(&mut value);
                self.reader.read(&mut value);
                end = self.reader.mark;
                self.reader.need(2)?;
            }
            if !(self.reader.is_blank(0) || self.reader.is_break(0)) {
                break;
            }
            self.reader.need(1)?;
            while self.reader.is_blank(0) || self.reader.is_break(0) {
                let is_left = signed(self.reader.mark.column) < indent;
                if space.has_break && is_left && self.reader.at(0) == b'\t' {
                    let text = "found a tab character that violates indentation";
                    return Err(self.problem(text, start));
                }
                space.read(&mut self.reader)?;
            }
            if self.flow_level == 0 && signed(self.reader.mark.column) < indent {
                break;
            }
        }
        self.push_scalar(value, Style::Plain, start, end);
        if space.has_break {
            self.simple_key_allowed = true;
        }
        Ok(())
    }

    fn ends_plain(&self) -> bool {
        match self.reader.at(0) {
            b':' => self.reader.is_blank_or_end(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => false,
        }
    }
}
