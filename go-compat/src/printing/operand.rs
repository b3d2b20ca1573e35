//! One operand: the walk through a value, and the verbs for everything but integers.

use std::fmt::Write;

use super::float;
use super::integer::Integer;
use super::printer::Printer;
use crate::runes::{self, Quoting, quote_as};
use crate::value::{List, Map, Value};

impl Printer {
    /// Prints one operand.
    pub(super) fn argument(&mut self, value: &Value, verb: char) {
        if matches!(value, Value::Nil | Value::Missing) {
            match verb {
                'T' | 'v' => self.pad(b"<nil>"),
                _ => self.bad_verb(None, verb),
            }
            return;
        }
        match verb {
            'T' => {
                let name = value.type_name();
                self.string(name.as_bytes(), 's', value);
            }
            // Addresses differ from run to run in Go, too; what has none is a bad verb.
            'p' => match value {
                Value::List(_) | Value::Map(_) => self.pad(b"0xc000000000"),
                _ => self.bad_verb(Some(value), verb),
            },
            // It is for errors, and no value is one. A number or text refuses it anyway.
            'w' => self.bad_verb(Some(value), verb),
            _ => self.value(value, verb, 0),
        }
    }

    fn value(&mut self, value: &Value, verb: char, depth: usize) {
        match value {
            Value::Missing | Value::Nil => self.nil(),
            Value::Bool(flag) => match verb {
                't' | 'v' => self.pad(if *flag { b"true" } else { b"false" }),
                _ => self.bad_verb(Some(value), verb),
            },
            Value::Int(number) | Value::Int64(number) => {
                self.number(Integer::signed(*number), value, verb);
            }
            Value::Uint8(number) => {
                self.number(Integer::unsigned((*number).into()), value, verb);
            }
            Value::Uint64(number) => self.number(Integer::unsigned(*number), value, verb),
            Value::Float(number) => self.float(*number, value, verb),
            Value::Str(text) => self.string(text, verb, value),
            Value::List(list) => {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.list(list, verb, depth));
            }
            Value::Map(map) => {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.map(map, verb, depth));
            }
            Value::Struct(of) => {
                if self.flags.sharp_v {
                    self.push(of.type_name().as_bytes());
                }
                self.push(b"{");
                for (place, (name, field)) in of.fields().iter().enumerate() {
                    if place > 0 {
                        self.separate();
                    }
                    if self.flags.plus_v || self.flags.sharp_v {
                        self.push(name.as_bytes());
                        self.push(b":");
                    }
                    self.value(field, verb, depth + 1);
                }
                self.push(b"}");
            }
            Value::Native(native) => {
                let text = (!self.erring).then(|| native.format(&self.directive(verb)));
                if let Some(text) = text.flatten() {
                    self.push(text.as_bytes());
                    return;
                }
                if self.flags.sharp_v
                    && !self.erring
                    && let Some(text) = native.go_string()
                {
                    self.pad(text.as_bytes());
                    return;
                }
                let text = native.text().filter(|_| {
                    !self.erring
                        && !self.flags.sharp_v
                        && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
                });
                match (text, native.integer()) {
                    (Some(text), _) => self.string(text.as_bytes(), verb, value),
                    (None, Some(number)) => self.number(Integer::signed(number), value, verb),
                    (None, None) => {
                        let text = native.text().unwrap_or_default();
                        self.string(text.as_bytes(), 's', value);
                    }
                }
            }
        }
    }

    /// A nil inside a container, which is the same for every verb.
    fn nil(&mut self) {
        self.push(if self.flags.sharp_v {
            b"interface {}(nil)"
        } else {
            b"<nil>"
        });
    }

    fn separate(&mut self) {
        self.push(if self.flags.sharp_v { b", " } else { b" " });
    }

    fn list(&mut self, list: &List, verb: char, depth: usize) {
        let sharp = self.flags.sharp_v;
        if sharp {
            self.push(list.type_name().as_bytes());
            if list.is_nil() {
                self.push(b"(nil)");
                return;
            }
        }
        self.push(if sharp { b"{" } else { b"[" });
        for (place, item) in list.iter().enumerate() {
            if self.is_over_limit() {
                return;
            }
            if place > 0 {
                self.separate();
            }
            self.value(item, verb, depth + 1);
        }
        self.push(if sharp { b"}" } else { b"]" });
    }

    fn map(&mut self, map: &Map, verb: char, depth: usize) {
        let sharp = self.flags.sharp_v;
        if sharp {
            self.push(map.type_name().as_bytes());
            if map.is_nil() {
                self.push(b"(nil)");
                return;
            }
            self.push(b"{");
        } else {
            self.push(b"map[");
        }
        for (place, (key, item)) in map.entries().into_iter().enumerate() {
            if self.is_over_limit() {
                return;
            }
            if place > 0 {
                self.separate();
            }
            self.value(&key.to_value(), verb, depth + 1);
            self.push(b":");
            self.value(&item, verb, depth + 1);
        }
        self.push(if sharp { b"}" } else { b"]" });
    }

    fn number(&mut self, number: Integer, value: &Value, verb: char) {
        if !self.integer(number, verb) {
            self.bad_verb(Some(value), verb);
        }
    }

    pub(super) fn string(&mut self, text: &[u8], verb: char, value: &Value) {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => {
                let text = self.truncated(text);
                self.pad(text);
            }
            'x' | 'X' => self.hexadecimal(text, verb == 'X'),
            'q' => self.quoted(text),
            _ => self.bad_verb(Some(value), verb),
        }
    }

    fn truncated<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let Some(precision) = self.precision else {
            return text;
        };
        let mut end = 0;
        for _ in 0..precision {
            let (_, width) = runes::decode(text.get(end..).unwrap_or_default());
            end += width;
        }
        text.get(..end).unwrap_or(text)
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        if self.flags.sharp && can_backquote(text) {
            let mut quoted = vec![b'`'];
            quoted.extend_from_slice(text);
            quoted.push(b'`');
            self.pad(&quoted);
            return;
        }
        let quoting = if self.flags.plus {
            Quoting::Ascii
        } else {
            Quoting::Printable
        };
        self.pad(quote_as(text, quoting).as_bytes());
    }

    fn hexadecimal(&mut self, text: &[u8], upper: bool) {
        let length = self
            .precision
            .map_or(text.len(), |most| most.min(text.len()));
        let text = text.get(..length).unwrap_or(text);
        if text.is_empty() {
            self.padding(self.width.unwrap_or(0));
            return;
        }
        let prefix = if upper { "0X" } else { "0x" };
        let mut digits = String::new();
        for (place, byte) in text.iter().enumerate() {
            if self.flags.space && place > 0 {
                digits.push(' ');
            }
            if self.flags.sharp && (place == 0 || self.flags.space) {
                digits.push_str(prefix);
            }
            let _ = if upper {
                write!(digits, "{byte:02X}")
            } else {
                write!(digits, "{byte:02x}")
            };
        }
        self.pad(digits.as_bytes());
    }

    fn float(&mut self, number: f64, value: &Value, verb: char) {
        let (form, default) = match verb {
            'v' => ('g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
            'f' | 'e' | 'E' => (verb, Some(6)),
            'F' => ('f', Some(6)),
            _ => {
                self.bad_verb(Some(value), verb);
                return;
            }
        };
        let precision = self.precision.or(default);
        let mut text = float::format(number, form, precision);
        if !text.starts_with(['+', '-']) {
            text.insert(0, '+');
        }
        if self.flags.space && text.starts_with('+') && !self.flags.plus {
            text.replace_range(..1, " ");
        }
        if number.is_nan() || number.is_infinite() {
            let signed = self.flags.space || self.flags.plus || text.starts_with('-');
            let shown = if signed || number.is_infinite() && self.flags.plus {
                text.as_str()
            } else if number.is_nan() {
                text.get(1..).unwrap_or_default()
            } else {
                text.as_str()
            };
            let zero = std::mem::replace(&mut self.flags.zero, false);
            self.pad(shown.to_owned().as_bytes());
            self.flags.zero = zero;
            return;
        }
        if self.flags.sharp && form != 'b' {
            text = with_point(&text, form, precision);
        }
        if self.flags.plus || !text.starts_with('+') {
            let (sign, rest) = text.split_at(1);
            if let Some(width) = self.width
                && self.flags.zero
                && !self.flags.minus
                && width > text.len()
            {
                self.push(sign.as_bytes());
                self.padding(width - text.len());
                self.push(rest.as_bytes());
                return;
            }
            self.pad(text.as_bytes());
            return;
        }
        self.pad(text.get(1..).unwrap_or_default().as_bytes());
    }

    /// `%!verb(type=value)`.
    fn bad_verb(&mut self, value: Option<&Value>, verb: char) {
        self.erring = true;
        self.push(format!("%!{verb}(").as_bytes());
        match value {
            Some(value) => {
                self.push(value.type_name().as_bytes());
                self.push(b"=");
                self.value(value, 'v', 0);
            }
            None => self.push(b"<nil>"),
        }
        self.push(b")");
        self.erring = false;
    }
}

fn can_backquote(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| {
        text.chars().all(|rune| {
            rune == '\t' || rune >= ' ' && rune != '`' && rune != '\u{7f}' && rune != '\u{feff}'
        })
    })
}

/// `%#g` and its like: a decimal point always, and the zeros behind it.
fn with_point(text: &str, form: char, precision: Option<usize>) -> String {
    let mut digits = match form {
        // Not `X`, in Go neither.
        'g' | 'G' | 'x' => i64::try_from(precision.unwrap_or(6)).unwrap_or(6),
        _ => 0,
    };
    let exponents: &[char] = if matches!(form, 'x' | 'X') {
        &['p', 'P']
    } else {
        &['e', 'E', 'p', 'P']
    };
    let split = text.find(exponents).unwrap_or(text.len());
    let (number, tail) = text.split_at(split);
    let mut out = number.to_owned();
    let mut counting = false;
    for digit in number.chars().skip(1).filter(|digit| *digit != '.') {
        counting |= digit != '0';
        if counting {
            digits -= 1;
        }
    }
    if !number.contains('.') {
        if number.len() == 2 && number.ends_with('0') {
            digits -= 1;
        }
        out.push('.');
    }
    for _ in 0..digits {
        out.push('0');
    }
    out.push_str(tail);
    out
}
