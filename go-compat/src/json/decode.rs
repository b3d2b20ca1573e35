use std::collections::BTreeMap;

use super::syntax::{invalid, unexpected_end};
use super::{JsonError, replace_invalid};
use crate::value::{Key, Map, Str, Value};

/// How deep values may be nested.
const MAX_DEPTH: usize = 10_000;

pub(super) fn decode(text: &[u8]) -> (Value, Option<JsonError>) {
    let mut decoder = Decoder {
        text,
        position: 0,
        stack: Vec::new(),
        error: None,
    };
    match decoder.document() {
        Ok(value) => (value, decoder.error),
        Err(error) => (Value::Nil, Some(error)),
    }
}

enum Frame {
    List(Vec<Value>),
    Map {
        entries: BTreeMap<Key, Value>,
        key: Str,
    },
}

struct Decoder<'a> {
    text: &'a [u8],
    position: usize,
    stack: Vec<Frame>,
    /// The first number that does not fit. Other errors come before it.
    error: Option<JsonError>,
}

impl Decoder<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// The next byte that is not a space.
    fn peek_solid(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
        self.peek()
    }

    fn document(&mut self) -> Result<Value, JsonError> {
        let value = self.value()?;
        match self.peek_solid() {
            None => Ok(value),
            Some(byte) => Err(invalid(byte, "after top-level value")),
        }
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        loop {
            let mut done = self.begin()?;
            while let Some(value) = done.take() {
                let Some(frame) = self.stack.last_mut() else {
                    return Ok(value);
                };
                match frame {
                    Frame::List(items) => items.push(value),
                    Frame::Map { entries, key } => {
                        entries.insert(Key::Str(std::mem::take(key)), value);
                    }
                }
                done = self.after_element()?;
            }
        }
    }

    /// Reads a scalar or an empty container, or enters another.
    fn begin(&mut self) -> Result<Option<Value>, JsonError> {
        let place = "looking for beginning of value";
        let byte = self.peek_solid().ok_or_else(unexpected_end)?;
        match byte {
            b'{' | b'[' => self.open(byte),
            b'"' => Ok(Some(Value::Str(self.string()?))),
            b'-' | b'0'..=b'9' => self.number().map(Some),
            b't' => self.literal("true", Value::Bool(true)),
            b'f' => self.literal("false", Value::Bool(false)),
            b'n' => self.literal("null", Value::Nil),
            _ => Err(invalid(byte, place)),
        }
    }

    fn open(&mut self, bracket: u8) -> Result<Option<Value>, JsonError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(invalid(bracket, "exceeded max depth"));
        }
        self.position += 1;
        if bracket == b'[' {
            if self.peek_solid() == Some(b']') {
                self.position += 1;
                return Ok(Some(Value::list([])));
            }
            self.stack.push(Frame::List(Vec::new()));
            return Ok(None);
        }
        if self.peek_solid() == Some(b'}') {
            self.position += 1;
            return Ok(Some(Value::Map(Map::dict())));
        }
        let key = self.key()?;
        self.stack.push(Frame::Map {
            entries: BTreeMap::new(),
            key,
        });
        Ok(None)
    }

    fn key(&mut self) -> Result<Str, JsonError> {
        match self.peek_solid().ok_or_else(unexpected_end)? {
            b'"' => {}
            byte => {
                return Err(invalid(byte, "looking for beginning of object key string"));
            }
        }
        let key = self.string()?;
        match self.peek_solid().ok_or_else(unexpected_end)? {
            b':' => self.position += 1,
            byte => return Err(invalid(byte, "after object key")),
        }
        Ok(key)
    }

    /// Goes on behind an element: `None` before the next one, or the complete container.
    fn after_element(&mut self) -> Result<Option<Value>, JsonError> {
        let byte = self.peek_solid().ok_or_else(unexpected_end)?;
        let in_list = matches!(self.stack.last(), Some(Frame::List(_)));
        match byte {
            b',' => {
                self.position += 1;
                if !in_list {
                    let next = self.key()?;
                    if let Some(Frame::Map { key, .. }) = self.stack.last_mut() {
                        *key = next;
                    }
                }
                Ok(None)
            }
            b']' if in_list => Ok(self.close()),
            b'}' if !in_list => Ok(self.close()),
            _ if in_list => Err(invalid(byte, "after array element")),
            _ => Err(invalid(byte, "after object key:value pair")),
        }
    }

    fn close(&mut self) -> Option<Value> {
        self.position += 1;
        Some(match self.stack.pop()? {
            Frame::List(items) => Value::list(items),
            Frame::Map { entries, .. } => Value::Map(Map::from_entries(entries)),
        })
    }

    /// The next byte within a token, where the end counts as a space.
    fn within(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }

    fn literal(&mut self, name: &str, value: Value) -> Result<Option<Value>, JsonError> {
        for expected in name.bytes() {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                let place = format!("in literal {name} (expecting '{expected}')");
                return Err(invalid(self.within(), &place));
            }
            self.position += 1;
        }
        Ok(Some(value))
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.position;
        if self.peek() == Some(b'-') {
            self.position += 1;
        }
        match self.within() {
            b'0' => self.position += 1,
            b'1'..=b'9' => self.skip_digits(),
            byte => return Err(invalid(byte, "in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.position += 1;
            self.expect_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.position += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            self.expect_digits("in exponent of numeric literal")?;
        }
        let text = self.text.get(start..self.position).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => {
                self.error
                    .get_or_insert_with(|| JsonError::Number(text.into_owned()));
                Ok(Value::Nil)
            }
        }
    }

    fn skip_digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
    }

    fn expect_digits(&mut self, place: &str) -> Result<(), JsonError> {
        if !self.within().is_ascii_digit() {
            return Err(invalid(self.within(), place));
        }
        self.skip_digits();
        Ok(())
    }

    fn string(&mut self) -> Result<Str, JsonError> {
        self.position += 1;
        let start = self.position;
        let mut escaped = false;
        loop {
            match self.peek().ok_or_else(unexpected_end)? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.position += 1;
                    self.check_escape()?;
                }
                byte @ 0x00..0x20 => return Err(invalid(byte, "in string literal")),
                _ => self.position += 1,
            }
        }
        let raw = self.text.get(start..self.position).unwrap_or_default();
        self.position += 1;
        Ok(if escaped {
            unescape(raw).into()
        } else {
            replace_invalid(raw).into()
        })
    }

    /// Passes over what follows a backslash.
    fn check_escape(&mut self) -> Result<(), JsonError> {
        let byte = self.within();
        if !matches!(
            byte,
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' | b'u'
        ) {
            return Err(invalid(byte, "in string escape code"));
        }
        self.position += 1;
        if byte == b'u' {
            for _ in 0..4 {
                let digit = self.within();
                if !digit.is_ascii_hexdigit() {
                    let place = "in \\u hexadecimal character escape";
                    return Err(invalid(digit, place));
                }
                self.position += 1;
            }
        }
        Ok(())
    }
}

/// The text of a string whose escapes are known to be well-formed.
fn unescape(mut raw: &[u8]) -> String {
    let mut text = String::with_capacity(raw.len());
    while let Some(backslash) = raw.iter().position(|byte| *byte == b'\\') {
        let (before, rest) = raw.split_at(backslash);
        text.push_str(&replace_invalid(before));
        let mut length = 2;
        text.push(match rest.get(1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let (character, width) = unicode(rest);
                length = width;
                character
            }
            Some(other) => char::from(*other),
            None => char::REPLACEMENT_CHARACTER,
        });
        raw = rest.get(length..).unwrap_or_default();
    }
    text.push_str(&replace_invalid(raw));
    text
}

/// The character of one `\uXXXX`, or of two that form a surrogate pair, and how long they are.
fn unicode(escape: &[u8]) -> (char, usize) {
    let Some(first) = code_unit(escape) else {
        return (char::REPLACEMENT_CHARACTER, 6);
    };
    if let Some(character) = char::from_u32(first.into()) {
        return (character, 6);
    }
    let second = escape.get(6..).and_then(code_unit);
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    pair.map_or((char::REPLACEMENT_CHARACTER, 6), |character| {
        (character, 12)
    })
}

fn code_unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
