use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::number::json_float;
use super::{Escape, JsonError};
use crate::printing::shortest_float;
use crate::value::{Element, Key, List, Map, Str, Value};

/// From this depth on Go looks for maps that contain themselves.
const CYCLE_CHECK_DEPTH: usize = 1000;

/// Receives how many bytes were written since the last call; an error ends the encoding.
pub type Charge<'a, E> = &'a mut dyn FnMut(u64) -> Result<(), E>;

/// `json.Marshal`: compact, keys sorted.
pub fn encode(value: &Value, escape: Escape) -> Result<Vec<u8>, JsonError> {
    encode_charged(value, escape, &mut |_| Ok(()))
}

/// The same, with each piece of output charged before the next is made. A value that holds the
/// same map many times over may be far larger as text than in memory.
pub fn encode_charged<E: From<JsonError>>(
    value: &Value,
    escape: Escape,
    charge: Charge<'_, E>,
) -> Result<Vec<u8>, E> {
    let mut encoder = Encoder {
        out: Vec::new(),
        escape,
        stack: Vec::new(),
        charged: 0,
        charge,
    };
    encoder.run(value)?;
    Ok(encoder.out)
}

/// `json.MarshalIndent`.
pub fn encode_indented(
    value: &Value,
    escape: Escape,
    prefix: &str,
    step: &str,
) -> Result<Vec<u8>, JsonError> {
    let compact = encode(value, escape)?;
    indent(&compact, prefix, step, &mut |_| Ok(()))
}

/// Spreads compact JSON over lines, each charged before it is made.
pub fn indent<E>(
    compact: &[u8],
    prefix: &str,
    step: &str,
    charge: Charge<'_, E>,
) -> Result<Vec<u8>, E> {
    let mut lines = Lines {
        out: Vec::with_capacity(compact.len() * 2),
        depth: 0,
        prefix,
        step,
        charge,
    };
    let mut in_string = false;
    let mut escaped = false;
    let mut opened = false;
    for byte in compact {
        if in_string {
            lines.out.push(*byte);
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        let closes = matches!(byte, b'}' | b']');
        if opened != closes {
            if opened {
                lines.depth += 1;
            } else {
                lines.depth = lines.depth.saturating_sub(1);
            }
            lines.begin()?;
        }
        opened = matches!(byte, b'{' | b'[');
        lines.out.push(*byte);
        match byte {
            b'"' => in_string = true,
            b',' => lines.begin()?,
            b':' => lines.out.push(b' '),
            _ => {}
        }
    }
    Ok(lines.out)
}

struct Lines<'a, E> {
    out: Vec<u8>,
    depth: usize,
    prefix: &'a str,
    step: &'a str,
    charge: Charge<'a, E>,
}

impl<E> Lines<'_, E> {
    fn begin(&mut self) -> Result<(), E> {
        let length = 1 + self.prefix.len() + self.depth * self.step.len();
        (self.charge)(u64::try_from(length).unwrap_or(u64::MAX))?;
        self.out.push(b'\n');
        self.out.extend_from_slice(self.prefix.as_bytes());
        for _ in 0..self.depth {
            self.out.extend_from_slice(self.step.as_bytes());
        }
        Ok(())
    }
}

enum Frame {
    List(List, usize),
    Map {
        map: Map,
        entries: std::vec::IntoIter<(Str, Value)>,
        first: bool,
    },
}

struct Encoder<'a, E> {
    out: Vec<u8>,
    escape: Escape,
    stack: Vec<Frame>,
    charged: usize,
    charge: Charge<'a, E>,
}

impl<E: From<JsonError>> Encoder<'_, E> {
    fn run(&mut self, value: &Value) -> Result<(), E> {
        self.value(value)?;
        while let Some(frame) = self.stack.last_mut() {
            match frame {
                Frame::List(list, next) => {
                    let item = list.get(*next).cloned();
                    *next += 1;
                    let first = *next == 1;
                    match item {
                        Some(item) => {
                            if !first {
                                self.out.push(b',');
                            }
                            self.value(&item)?;
                        }
                        None => self.close(b']'),
                    }
                }
                Frame::Map { entries, first, .. } => {
                    let is_first = std::mem::replace(first, false);
                    match entries.next() {
                        Some((key, value)) => {
                            if !is_first {
                                self.out.push(b',');
                            }
                            self.string(&key);
                            self.out.push(b':');
                            self.value(&value)?;
                        }
                        None => self.close(b'}'),
                    }
                }
            }
            self.settle()?;
        }
        self.settle()
    }

    fn settle(&mut self) -> Result<(), E> {
        let written = self.out.len() - self.charged;
        self.charged = self.out.len();
        (self.charge)(u64::try_from(written).unwrap_or(u64::MAX))
    }

    fn close(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.stack.pop();
    }

    fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes a scalar, or begins a container.
    fn value(&mut self, value: &Value) -> Result<(), JsonError> {
        match value {
            Value::Missing | Value::Nil => self.write("null"),
            Value::Bool(value) => self.write(if *value { "true" } else { "false" }),
            Value::Int(value) | Value::Int64(value) => self.write(&value.to_string()),
            Value::Uint8(value) => self.write(&value.to_string()),
            Value::Uint64(value) => self.write(&value.to_string()),
            Value::Float(value) if value.is_finite() => self.write(&json_float(*value)),
            Value::Float(value) => {
                return Err(JsonError::UnsupportedValue(shortest_float(*value)));
            }
            Value::Str(text) => self.string(text),
            Value::List(list) => self.list(list),
            Value::Map(map) => self.map(map)?,
            Value::Struct(value) => {
                let fields = value.fields().iter();
                let fields = fields.map(|(name, value)| (Str::from(name), value.clone()));
                self.begin(Map::nil(), fields.collect());
            }
            Value::Native(value) => self.write(&value.json()),
        }
        Ok(())
    }

    fn list(&mut self, list: &List) {
        if list.is_nil() {
            self.write("null");
        } else if list.element().name() == "uint8" {
            let bytes: Vec<u8> = list.iter().filter_map(as_byte).collect();
            self.out.push(b'"');
            self.write(&STANDARD.encode(bytes));
            self.out.push(b'"');
        } else {
            self.out.push(b'[');
            self.stack.push(Frame::List(list.clone(), 0));
        }
    }

    fn map(&mut self, map: &Map) -> Result<(), JsonError> {
        let element = map.key_element();
        if matches!(element, Element::Any | Element::Bool | Element::Float) {
            return Err(JsonError::UnsupportedType(map.type_name().into_owned()));
        }
        if map.is_nil() {
            self.write("null");
            return Ok(());
        }
        if self.stack.len() > CYCLE_CHECK_DEPTH && self.is_within(map) {
            let text = format!("encountered a cycle via {}", map.type_name());
            return Err(JsonError::UnsupportedValue(text));
        }
        let mut entries: Vec<(Str, Value)> = map.with(|entries| {
            entries
                .iter()
                .map(|(key, value)| (key_text(key), value.clone()))
                .collect()
        });
        if element != Element::Str {
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        self.begin(map.clone(), entries);
        Ok(())
    }

    fn is_within(&self, map: &Map) -> bool {
        self.stack.iter().any(|frame| match frame {
            Frame::Map { map: outer, .. } => !outer.is_nil() && outer.same(map),
            Frame::List(..) => false,
        })
    }

    fn begin(&mut self, map: Map, entries: Vec<(Str, Value)>) {
        self.out.push(b'{');
        self.stack.push(Frame::Map {
            map,
            entries: entries.into_iter(),
            first: true,
        });
    }

    fn string(&mut self, text: &Str) {
        self.out.push(b'"');
        match text.as_utf8() {
            Some(text) => self.characters(text),
            None => self.invalid_characters(text),
        }
        self.out.push(b'"');
    }

    /// Text with bytes that belong to no character.
    fn invalid_characters(&mut self, mut bytes: &[u8]) {
        while let Err(error) = std::str::from_utf8(bytes) {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            self.characters(&String::from_utf8_lossy(valid));
            self.write("\\ufffd");
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.characters(&String::from_utf8_lossy(bytes));
    }

    fn characters(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '"' => self.write("\\\""),
                '\\' => self.write("\\\\"),
                '\u{8}' => self.write("\\b"),
                '\u{c}' => self.write("\\f"),
                '\n' => self.write("\\n"),
                '\r' => self.write("\\r"),
                '\t' => self.write("\\t"),
                '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => self.code(character),
                '<' | '>' | '&' if self.escape == Escape::Html => self.code(character),
                _ => {
                    let mut buffer = [0; 4];
                    self.write(character.encode_utf8(&mut buffer));
                }
            }
        }
    }

    fn code(&mut self, character: char) {
        self.write(&format!("\\u{:04x}", u32::from(character)));
    }
}

fn as_byte(value: &Value) -> Option<u8> {
    match value {
        Value::Uint8(byte) => Some(*byte),
        Value::Int(number) | Value::Int64(number) => u8::try_from(*number).ok(),
        Value::Uint64(number) => u8::try_from(*number).ok(),
        _ => None,
    }
}

fn key_text(key: &Key) -> Str {
    match key {
        Key::Str(text) => text.clone(),
        Key::Int(number) => number.to_string().into(),
        Key::Uint(number) => number.to_string().into(),
        Key::Nil | Key::Bool(_) | Key::Float(_) => Str::default(),
    }
}
