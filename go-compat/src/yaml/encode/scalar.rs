use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::analysis::{Analysis, is_break, is_printable};
use super::{Blocks, Dialect, Emitter, FOLD_COLUMN, Place, Scalar, Style, YamlError};

/// How long lines of base64 are.
const BASE64_LINE: usize = 70;

impl<E: From<YamlError>> Emitter<'_, E> {
    pub(super) fn scalar(&mut self, scalar: &Scalar, place: Place) {
        let mut style = choose(scalar, place, self.dialect);
        if style == Style::Literal
            && self.blocks == Blocks::Readable
            && !self.reads_back(scalar, place)
        {
            style = Style::Double;
        }
        if scalar.binary {
            self.write_indicator("!!binary", true, false, false);
        }
        let outer = self.indent;
        self.indent = if self.is_root {
            self.step
        } else {
            self.deeper(place)
        };
        let text = scalar.text.as_str();
        match style {
            Style::Plain => self.plain(text, place),
            Style::Single => self.single_quoted(text, place),
            Style::Double => self.double_quoted(text, place),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    /// Whether a literal block reads back as its text. Its first line may not be empty, because v3 writes no line break behind the header,
    /// nor begin with a tab, where the reader looks for the indentation. If it begins with a space, the header says how far the block is
    /// indented: by a step, which is wrong within lists unless the step is as wide as `- `.
    fn reads_back(&self, scalar: &Scalar, place: Place) -> bool {
        let Some(first) = scalar.text.chars().next() else {
            return true;
        };
        let is_indented_by_step =
            self.is_root || self.deeper(place) == self.indent.saturating_add(self.step);
        match first {
            '\t' => false,
            ' ' => is_indented_by_step,
            first => !is_break(first),
        }
    }

    fn put(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.out
            .extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        self.column += 1;
    }

    fn put_break(&mut self, character: char) {
        self.put(character);
        self.column = 0;
        self.indention = true;
    }

    pub(super) fn write_indent(&mut self) {
        let misplaced = self.column > self.indent
            || (self.column == self.indent && !self.whitespace)
            || !self.indention;
        if misplaced {
            self.put_break('\n');
        }
        while self.column < self.indent {
            self.put(' ');
        }
        self.whitespace = true;
    }

    pub(super) fn write_indicator(
        &mut self,
        indicator: &str,
        needs_space: bool,
        is_space: bool,
        is_indention: bool,
    ) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        indicator.chars().for_each(|character| self.put(character));
        self.whitespace = is_space;
        self.indention = self.indention && is_indention;
    }

    /// Whether v2 may break the line here instead of writing a space.
    fn folds_at(&self, character: char, previous: Option<char>, place: Place) -> bool {
        character == ' '
            && previous != Some(' ')
            && self.dialect == Dialect::V2
            && place != Place::SimpleKey
            && self.column > FOLD_COLUMN
    }

    fn plain(&mut self, text: &str, place: Place) {
        if !text.is_empty() {
            if !self.whitespace {
                self.put(' ');
            }
            self.whitespace = false;
        }
        // Breaks do not occur: they forbid the style.
        let mut previous = None;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if self.folds_at(character, previous, place) && characters.peek() != Some(&' ') {
                self.write_indent();
            } else {
                self.put(character);
                self.indention = false;
            }
            previous = Some(character);
        }
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, place: Place) {
        self.write_indicator("'", true, false, false);
        let mut recording = self.begin_actions(text);
        let mut after_break = false;
        let mut previous = None;
        let mut characters = text.char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            let breaks = is_break(character);
            let next = characters.peek().map(|(_, next)| *next);
            // The indentation is not part of an action that it comes before.
            if after_break && !breaks {
                self.write_indent();
                after_break = false;
            }
            self.note_actions(&mut recording, offset);
            if breaks {
                if !after_break && character == '\n' {
                    self.put_break('\n');
                }
                self.put_break(character);
                after_break = true;
                continue;
            }
            let is_inside = previous.is_some() && next.is_some_and(|next| next != ' ');
            let folds = is_inside && self.folds_at(character, previous, place);
            previous = Some(character);
            if folds {
                self.write_indent();
                continue;
            }
            if character == '\'' {
                self.put('\'');
            }
            self.put(character);
            self.indention = false;
        }
        self.note_actions(&mut recording, text.len());
        self.end_actions(recording, text, super::Quoting::Single);
        self.write_indicator("'", false, false, false);
    }

    fn double_quoted(&mut self, text: &str, place: Place) {
        self.write_indicator("\"", true, false, false);
        let mut recording = self.begin_actions(text);
        // Behind a byte order mark go-yaml escapes everything. Of a template that would leave no
        // action, and the template would stay in the document as it is.
        let everything = self.template.is_none() && text.starts_with('\u{feff}');
        let mut previous = None;
        let mut characters = text.char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            self.note_actions(&mut recording, offset);
            let next = characters.peek().map(|(_, next)| *next);
            let is_inside = previous.is_some() && next.is_some();
            let folds = is_inside && self.folds_at(character, previous, place);
            previous = Some(character);
            if folds {
                self.write_indent();
                if next == Some(' ') {
                    self.put('\\');
                }
            } else if everything
                || !is_printable(character)
                || is_break(character)
                || matches!(character, '"' | '\\')
            {
                self.escape(character);
            } else {
                self.put(character);
            }
        }
        self.note_actions(&mut recording, text.len());
        self.end_actions(recording, text, super::Quoting::Double);
        self.write_indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn escape(&mut self, character: char) {
        let short = match character {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = match u32::from(character) {
                    code @ 0..=0xff => format!("\\x{code:02X}"),
                    code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                    code => format!("\\U{code:08X}"),
                };
                code.chars().for_each(|digit| self.put(digit));
                return;
            }
        };
        self.put('\\');
        self.put(short);
    }

    fn literal(&mut self, text: &str) {
        self.write_indicator("|", true, false, false);
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            let hint = self.step.to_string();
            self.write_indicator(&hint, false, false, false);
        }
        let mut last = text.chars().rev();
        match (last.next().is_some_and(is_break), last.next()) {
            (false, _) => self.write_indicator("-", false, false, false),
            (true, None) => self.write_indicator("+", false, false, false),
            (true, Some(before)) if is_break(before) => {
                self.write_indicator("+", false, false, false);
            }
            (true, Some(_)) => {}
        }
        // In v3, the header's own line ends with the first indentation, or with an empty line.
        if self.dialect == Dialect::V2 {
            self.put_break('\n');
        }
        self.whitespace = true;
        let mut after_break = true;
        for character in text.chars() {
            if is_break(character) {
                self.put_break(character);
                after_break = true;
            } else {
                if after_break {
                    self.write_indent();
                }
                self.put(character);
                self.indention = false;
                after_break = false;
            }
        }
    }
}

fn choose(scalar: &Scalar, place: Place, dialect: Dialect) -> Style {
    let analysis = Analysis::of(&scalar.text, dialect);
    let mut style = scalar.wanted;
    let is_simple_key = place == Place::SimpleKey;
    if is_simple_key && analysis.multiline {
        style = Style::Double;
    }
    if style == Style::Plain
        && (!analysis.plain_allowed || (scalar.text.is_empty() && is_simple_key))
    {
        style = Style::Single;
    }
    if style == Style::Single && !analysis.single_quoted_allowed {
        style = Style::Double;
    }
    if style == Style::Literal && (!analysis.block_allowed || is_simple_key) {
        style = Style::Double;
    }
    style
}

/// Base64 in lines, each with its break, unless it is a single short one.
pub(super) fn base64_lines(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    if encoded.len() < BASE64_LINE {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / BASE64_LINE + 1);
    for (position, character) in encoded.chars().enumerate() {
        if position > 0 && position % BASE64_LINE == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    lines.push('\n');
    lines
}

/// Whether YAML 1.1 took a text for a boolean or for a number to the base 60. go-yaml quotes
/// these for the sake of older readers.
pub(super) fn was_special(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    ) || is_base_60(text)
}

/// `^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let first = parts.next().unwrap_or_default();
    let is_number = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'_'));
    if !first.starts_with(|digit: char| digit.is_ascii_digit()) || !is_number(first) {
        return false;
    }
    let mut parts = parts.peekable();
    let mut found = false;
    while let Some(part) = parts.next() {
        let (whole, fraction) = match part.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (part, None),
        };
        let is_sixtieth = matches!(whole.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
        let fraction_fits =
            fraction.is_none_or(|fraction| parts.peek().is_none() && is_number(fraction));
        if !is_sixtieth || !fraction_fits {
            return false;
        }
        found = true;
    }
    found
}
