//! `fmt.Sprintf`: a format with its directives.

use super::printer::Printer;
use crate::runes;
use crate::value::Value;

/// Widths and precisions beyond this are refused, as in Go.
const MAX_NUMBER: usize = 1_000_000;

/// `fmt.Sprintf`; none when the text would be longer than `limit` bytes.
pub fn sprintf(format: &[u8], values: &[Value], limit: usize) -> Option<Vec<u8>> {
    let mut directives = Directives {
        format,
        position: 0,
        values,
        next: 0,
        reordered: false,
        good_index: true,
        printer: Printer::with_limit(limit),
    };
    directives.run();
    directives.printer.finish_within_limit()
}

struct Directives<'a> {
    format: &'a [u8],
    position: usize,
    values: &'a [Value],
    next: usize,
    reordered: bool,
    good_index: bool,
    printer: Printer,
}

impl Directives<'_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.position).copied()
    }

    fn run(&mut self) {
        while self.position < self.format.len() && !self.printer.is_over_limit() {
            let rest = self.format.get(self.position..).unwrap_or_default();
            let plain = rest
                .iter()
                .position(|byte| *byte == b'%')
                .unwrap_or(rest.len());
            self.printer.push(rest.get(..plain).unwrap_or_default());
            self.position += plain;
            if self.position >= self.format.len() {
                break;
            }
            self.position += 1;
            self.good_index = true;
            self.directive();
        }
        self.extra();
    }

    fn directive(&mut self) {
        self.printer.clear();
        if self.flags() {
            return;
        }
        let mut after_index = self.argument_number();
        after_index = self.width(after_index);
        after_index = self.precision(after_index);
        if !after_index {
            self.argument_number();
        }
        let rest = self.format.get(self.position..).unwrap_or_default();
        if rest.is_empty() {
            self.printer.push(b"%!(NOVERB)");
            return;
        }
        let (verb, width) = runes::decode(rest);
        let verb = verb.unwrap_or('\u{fffd}');
        self.position += width;
        if verb == '%' {
            self.printer.push(b"%");
        } else if !self.good_index {
            self.printer.push(format!("%!{verb}(BADINDEX)").as_bytes());
        } else if let Some(value) = self.values.get(self.next) {
            self.print(value, verb);
        } else {
            self.printer.push(format!("%!{verb}(MISSING)").as_bytes());
        }
    }

    fn print(&mut self, value: &Value, verb: char) {
        let flags = &mut self.printer.flags;
        if verb == 'v' || verb == 'w' {
            flags.sharp_v = std::mem::take(&mut flags.sharp);
            flags.plus_v = std::mem::take(&mut flags.plus);
        }
        self.printer.argument(value, verb);
        self.next += 1;
    }

    /// Reads flags; true when a simple verb followed them and the directive is done.
    fn flags(&mut self) -> bool {
        while let Some(byte) = self.peek() {
            let flags = &mut self.printer.flags;
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                b'a'..=b'z' => {
                    let Some(value) = self.values.get(self.next) else {
                        return false;
                    };
                    self.position += 1;
                    self.print(value, char::from(byte));
                    return true;
                }
                _ => return false,
            }
            self.position += 1;
        }
        false
    }

    /// `[n]`: which operand comes next. True when there was a good one.
    fn argument_number(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = self.format.get(self.position..).unwrap_or_default();
        let Some(close) = rest
            .iter()
            .position(|byte| *byte == b']')
            .filter(|_| rest.len() >= 3)
        else {
            self.position += 1;
            self.good_index = false;
            return false;
        };
        self.position += close + 1;
        let digits = rest.get(1..close).unwrap_or_default();
        let Digits::Number(number, length) = digits_at(digits) else {
            self.good_index = false;
            return false;
        };
        if length != digits.len() {
            self.good_index = false;
            return false;
        }
        match number.checked_sub(1) {
            Some(place) if place < self.values.len() => self.next = place,
            _ => self.good_index = false,
        }
        true
    }

    fn number(&mut self) -> Option<usize> {
        let rest = self.format.get(self.position..).unwrap_or_default();
        match digits_at(rest) {
            Digits::None => None,
            Digits::Number(number, length) => {
                self.position += length;
                Some(number)
            }
            Digits::TooLarge => {
                self.position = self.format.len();
                None
            }
        }
    }

    fn width(&mut self, after_index: bool) -> bool {
        if self.peek() == Some(b'*') {
            self.position += 1;
            match self.integer_operand() {
                Some(width) => {
                    if width < 0 {
                        self.printer.flags.minus = true;
                        self.printer.flags.zero = false;
                    }
                    self.printer.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => self.printer.push(b"%!(BADWIDTH)"),
            }
            return false;
        }
        self.printer.width = self.number();
        if after_index && self.printer.width.is_some() {
            self.good_index = false;
        }
        after_index
    }

    fn precision(&mut self, after_index: bool) -> bool {
        if self.peek() != Some(b'.') || self.position + 1 >= self.format.len() {
            return after_index;
        }
        self.position += 1;
        if after_index {
            self.good_index = false;
        }
        let after_index = self.argument_number();
        if self.peek() == Some(b'*') {
            self.position += 1;
            match self.integer_operand() {
                Some(precision) if precision >= 0 => {
                    self.printer.precision = usize::try_from(precision).ok();
                }
                _ => self.printer.push(b"%!(BADPREC)"),
            }
            return false;
        }
        self.printer.precision = Some(self.number().unwrap_or(0));
        after_index
    }

    /// The next operand as a width or precision.
    fn integer_operand(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        let number = match value {
            Value::Int(number) | Value::Int64(number) => *number,
            Value::Uint8(number) => (*number).into(),
            Value::Uint64(number) => i64::try_from(*number).ok()?,
            Value::Native(native) => native.integer()?,
            _ => return None,
        };
        let small = usize::try_from(number.unsigned_abs()).is_ok_and(|size| size <= MAX_NUMBER);
        small.then_some(number)
    }

    fn extra(&mut self) {
        if self.reordered || self.next >= self.values.len() {
            return;
        }
        self.printer.clear();
        self.printer.push(b"%!(EXTRA ");
        let rest = self.values.get(self.next..).unwrap_or_default();
        for (place, value) in rest.iter().enumerate() {
            if place > 0 {
                self.printer.push(b", ");
            }
            if matches!(value, Value::Nil | Value::Missing) {
                self.printer.push(b"<nil>");
            } else {
                self.printer.push(value.type_name().as_bytes());
                self.printer.push(b"=");
                self.printer.argument(value, 'v');
            }
        }
        self.printer.push(b")");
    }
}

enum Digits {
    None,
    /// A number and how many digits it has.
    Number(usize, usize),
    TooLarge,
}

/// Decimal digits at the start. Go refuses another digit behind a number beyond a million.
fn digits_at(bytes: &[u8]) -> Digits {
    let mut number = 0_usize;
    let mut length = 0;
    for byte in bytes.iter().take_while(|byte| byte.is_ascii_digit()) {
        if number > MAX_NUMBER {
            return Digits::TooLarge;
        }
        number = number * 10 + usize::from(byte - b'0');
        length += 1;
    }
    if length == 0 {
        Digits::None
    } else {
        Digits::Number(number, length)
    }
}
