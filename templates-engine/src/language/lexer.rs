//! From text to tokens. Ported from Go's `text/template/parse/lex.go`.

use reeve_go_compat::runes::{is_digit, is_letter, quote};

/// What starts and ends an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiters<'a> {
    /// `{{` or `{{hub`.
    pub left: &'a str,
    /// `}}` or `hub}}`.
    pub right: &'a str,
}

impl Default for Delimiters<'_> {
    fn default() -> Self {
        Self {
            left: "{{",
            right: "}}",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    pub(super) fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Block
                | Self::Break
                | Self::Continue
                | Self::Dot
                | Self::Define
                | Self::Else
                | Self::End
                | Self::If
                | Self::Nil
                | Self::Range
                | Self::Template
                | Self::With
        )
    }
}

/// One token: its kind and the bytes it spans.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What may be a keyword: `break` and `continue` are identifiers where functions have their names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keywords {
    pub(super) r#break: bool,
    pub(super) r#continue: bool,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    delimiters: Delimiters<'a>,
    keywords: Keywords,
    position: usize,
    start: usize,
    open_parens: usize,
    inside_action: bool,
    /// The text of the one error token; after it there are only more errors.
    error: Option<String>,
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

fn is_space(character: char) -> bool {
    SPACES.contains(&character)
}

fn is_alphanumeric(character: char) -> bool {
    character == '_' || is_letter(character) || is_digit(character)
}

fn has_left_trim_marker(text: &str) -> bool {
    matches!(text.as_bytes(), [b'-', b' ' | b'\t' | b'\r' | b'\n', ..])
}

fn has_right_trim_marker(text: &str) -> bool {
    matches!(text.as_bytes(), [b' ' | b'\t' | b'\r' | b'\n', b'-', ..])
}

/// A trim marker is a minus and the space beside it.
const MARKER: usize = 2;

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, delimiters: Delimiters<'a>, keywords: Keywords) -> Self {
        Self {
            text,
            delimiters,
            keywords,
            position: 0,
            start: 0,
            open_parens: 0,
            inside_action: false,
            error: None,
        }
    }

    /// The text of the error token.
    pub(super) fn error(&self) -> &str {
        self.error.as_deref().unwrap_or_default()
    }

    pub(super) fn next_token(&mut self) -> Token {
        if self.error.is_some() {
            return Token {
                kind: if self.inside_action {
                    Kind::Error
                } else {
                    Kind::Eof
                },
                start: self.start,
                end: self.start,
            };
        }
        if self.inside_action {
            self.inside()
        } else {
            self.outside()
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        // Templates are mostly ASCII; decoding is the exception.
        match self.text.as_bytes().get(self.position) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.rest().chars().next(),
            None => None,
        }
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += character.len_utf8();
        Some(character)
    }

    fn accept(&mut self, valid: impl Fn(char) -> bool) -> bool {
        match self.peek() {
            Some(character) if valid(character) => {
                self.position += character.len_utf8();
                true
            }
            _ => false,
        }
    }

    fn accept_run(&mut self, valid: impl Fn(char) -> bool) {
        while self.accept(&valid) {}
    }

    fn emit(&mut self, kind: Kind) -> Token {
        let token = Token {
            kind,
            start: self.start,
            end: self.position,
        };
        self.start = self.position;
        token
    }

    fn ignore(&mut self) {
        self.start = self.position;
    }

    fn fail(&mut self, message: impl Into<String>) -> Token {
        self.error = Some(message.into());
        Token {
            kind: Kind::Error,
            start: self.start,
            end: self.position,
        }
    }

    fn outside(&mut self) -> Token {
        loop {
            let Some(distance) = self.rest().find(self.delimiters.left) else {
                self.position = self.text.len();
                let kind = if self.position > self.start {
                    Kind::Text
                } else {
                    Kind::Eof
                };
                return self.emit(kind);
            };
            let delimiter = self.position + distance;
            let after = delimiter + self.delimiters.left.len();
            let text = self.text.get(self.start..delimiter).unwrap_or_default();
            let kept = if has_left_trim_marker(self.text.get(after..).unwrap_or_default()) {
                text.trim_end_matches(SPACES).len()
            } else {
                text.len()
            };
            if kept > 0 {
                self.position = self.start + kept;
                let token = self.emit(Kind::Text);
                self.position = delimiter;
                self.ignore();
                return token;
            }
            self.position = delimiter;
            self.ignore();
            if let Some(token) = self.left_delimiter() {
                return token;
            }
        }
    }

    /// The token at a left delimiter; none when it opened a comment.
    fn left_delimiter(&mut self) -> Option<Token> {
        self.position += self.delimiters.left.len();
        let marker = if has_left_trim_marker(self.rest()) {
            MARKER
        } else {
            0
        };
        let after = self.rest().get(marker..).unwrap_or_default();
        if after.starts_with("/*") {
            self.position += marker;
            self.ignore();
            return self.comment();
        }
        let token = self.emit(Kind::LeftDelimiter);
        self.inside_action = true;
        self.position += marker;
        self.ignore();
        self.open_parens = 0;
        Some(token)
    }

    /// Passes over a comment; a token only for an error in it.
    fn comment(&mut self) -> Option<Token> {
        let Some(distance) = self.rest().get(2..).and_then(|rest| rest.find("*/")) else {
            return Some(self.fail("unclosed comment"));
        };
        self.position += 2 + distance + 2;
        let Some(trims) = self.at_right_delimiter() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        self.pass_right_delimiter(trims);
        self.ignore();
        None
    }

    /// Whether a right delimiter comes next, and if so whether with a trim marker.
    fn at_right_delimiter(&self) -> Option<bool> {
        let rest = self.rest();
        if rest.starts_with(self.delimiters.right) {
            return Some(false);
        }
        let trims = has_right_trim_marker(rest)
            && rest
                .get(MARKER..)
                .is_some_and(|rest| rest.starts_with(self.delimiters.right));
        trims.then_some(true)
    }

    fn pass_right_delimiter(&mut self, trims: bool) {
        if trims {
            self.position += MARKER;
        }
        self.position += self.delimiters.right.len();
        if trims {
            let rest = self.rest();
            self.position += rest.len() - rest.trim_start_matches(SPACES).len();
        }
    }

    fn right_delimiter(&mut self, trims: bool) -> Token {
        if trims {
            self.position += MARKER;
            self.ignore();
        }
        self.position += self.delimiters.right.len();
        let token = self.emit(Kind::RightDelimiter);
        if trims {
            let rest = self.rest();
            self.position += rest.len() - rest.trim_start_matches(SPACES).len();
            self.ignore();
        }
        self.inside_action = false;
        token
    }

    fn inside(&mut self) -> Token {
        if let Some(trims) = self.at_right_delimiter() {
            if self.open_parens == 0 {
                return self.right_delimiter(trims);
            }
            return self.fail("unclosed left paren");
        }
        let Some(character) = self.next() else {
            return self.fail("unclosed action");
        };
        match character {
            character if is_space(character) => self.space(),
            '=' => self.emit(Kind::Assign),
            ':' => {
                if self.accept(|next| next == '=') {
                    self.emit(Kind::Declare)
                } else {
                    self.fail("expected :=")
                }
            }
            '|' => self.emit(Kind::Pipe),
            '"' => self.quoted(),
            '`' => self.raw_quoted(),
            '$' => self.field_or_variable(Kind::Variable),
            '\'' => self.character_constant(),
            '.' if !self.peek().is_some_and(|next| next.is_ascii_digit())
                && self.position < self.text.len() =>
            {
                self.field_or_variable(Kind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.position = self.start;
                self.number()
            }
            character if is_alphanumeric(character) => self.identifier(),
            '(' => {
                self.open_parens += 1;
                self.emit(Kind::LeftParen)
            }
            ')' => match self.open_parens.checked_sub(1) {
                Some(open) => {
                    self.open_parens = open;
                    self.emit(Kind::RightParen)
                }
                None => self.fail("unexpected right paren"),
            },
            ' '..='~' => self.emit(Kind::Char),
            other => self.fail(format!(
                "unrecognized character in action: {}",
                sharp_u(other)
            )),
        }
    }

    fn space(&mut self) -> Token {
        self.accept_run(is_space);
        // The last space may belong to a trim marker.
        let before_last = self.position - 1;
        let rest = self.text.get(before_last..).unwrap_or_default();
        if has_right_trim_marker(rest)
            && rest
                .get(MARKER..)
                .is_some_and(|rest| rest.starts_with(self.delimiters.right))
        {
            self.position = before_last;
            if self.position == self.start {
                return self.right_delimiter(true);
            }
        }
        self.emit(Kind::Space)
    }

    fn identifier(&mut self) -> Token {
        self.accept_run(is_alphanumeric);
        if !self.at_terminator() {
            return self.bad_character();
        }
        let word = self.text.get(self.start..self.position).unwrap_or_default();
        let kind = match word {
            "block" => Kind::Block,
            "break" if self.keywords.r#break => Kind::Break,
            "continue" if self.keywords.r#continue => Kind::Continue,
            "define" => Kind::Define,
            "else" => Kind::Else,
            "end" => Kind::End,
            "if" => Kind::If,
            "range" => Kind::Range,
            "nil" => Kind::Nil,
            "template" => Kind::Template,
            "with" => Kind::With,
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        };
        self.emit(kind)
    }

    fn field_or_variable(&mut self, kind: Kind) -> Token {
        if self.at_terminator() {
            return self.emit(if kind == Kind::Variable {
                Kind::Variable
            } else {
                Kind::Dot
            });
        }
        self.accept_run(is_alphanumeric);
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    fn bad_character(&mut self) -> Token {
        let text = self.peek().map_or_else(String::new, sharp_u);
        self.fail(format!("bad character {text}"))
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(character) if is_space(character) => true,
            Some(_) => self.rest().starts_with(self.delimiters.right),
        }
    }

    fn character_constant(&mut self) -> Token {
        if self.run_to('\'') {
            self.emit(Kind::CharConstant)
        } else {
            self.fail("unterminated character constant")
        }
    }

    fn quoted(&mut self) -> Token {
        if self.run_to('"') {
            self.emit(Kind::String)
        } else {
            self.fail("unterminated quoted string")
        }
    }

    /// Passes the closing quote; false where a line or the text ends before it.
    fn run_to(&mut self, quote: char) -> bool {
        loop {
            match self.next() {
                None | Some('\n') => return false,
                Some('\\') => match self.next() {
                    None | Some('\n') => return false,
                    Some(_) => {}
                },
                Some(character) if character == quote => return true,
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> Token {
        if let Some(distance) = self.rest().find('`') {
            self.position += distance + 1;
            self.emit(Kind::RawString)
        } else {
            self.position = self.text.len();
            self.fail("unterminated raw quoted string")
        }
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            let complete =
                self.scan_number() && self.text.as_bytes().get(self.position - 1) == Some(&b'i');
            if !complete {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> Token {
        let text = self.text.get(self.start..self.position).unwrap_or_default();
        let quoted = quote(text);
        self.fail(format!("bad number syntax: {quoted}"))
    }

    fn scan_number(&mut self) -> bool {
        self.accept(|sign| sign == '+' || sign == '-');
        let mut radix = 10;
        if self.accept(|digit| digit == '0') {
            if self.accept(|mark| mark == 'x' || mark == 'X') {
                radix = 16;
            } else if self.accept(|mark| mark == 'o' || mark == 'O') {
                radix = 8;
            } else if self.accept(|mark| mark == 'b' || mark == 'B') {
                radix = 2;
            }
        }
        let digit = move |character: char| character == '_' || character.is_digit(radix);
        let decimal = |character: char| character == '_' || character.is_ascii_digit();
        self.accept_run(digit);
        if self.accept(|point| point == '.') {
            self.accept_run(digit);
        }
        if radix == 10 && self.accept(|mark| mark == 'e' || mark == 'E') {
            self.accept(|sign| sign == '+' || sign == '-');
            self.accept_run(decimal);
        }
        if radix == 16 && self.accept(|mark| mark == 'p' || mark == 'P') {
            self.accept(|sign| sign == '+' || sign == '-');
            self.accept_run(decimal);
        }
        self.accept(|imaginary| imaginary == 'i');
        !self.accept(is_alphanumeric)
    }
}

/// Go's `%#U`: the code point, and the character where it can be printed.
fn sharp_u(character: char) -> String {
    let code = format!("U+{:04X}", u32::from(character));
    if reeve_go_compat::runes::is_print(character) {
        format!("{code} '{character}'")
    } else {
        code
    }
}
