//! Integers in every base, and as characters.

use std::fmt::Write;

use super::printer::Printer;
use crate::runes::{Quoting, is_print, quote_rune};

/// A magnitude with its sign.
#[derive(Clone, Copy)]
pub(super) struct Integer {
    pub(super) magnitude: u64,
    pub(super) negative: bool,
    /// Of an unsigned type: `%#v` shows it in hexadecimal.
    pub(super) unsigned: bool,
}

impl Integer {
    pub(super) fn signed(value: i64) -> Self {
        Self {
            magnitude: value.unsigned_abs(),
            negative: value < 0,
            unsigned: false,
        }
    }

    pub(super) fn unsigned(value: u64) -> Self {
        Self {
            magnitude: value,
            negative: false,
            unsigned: true,
        }
    }

    /// The bits of the two's complement, which `%c`, `%q` and `%U` print.
    fn bits(self) -> u64 {
        if self.negative {
            self.magnitude.wrapping_neg()
        } else {
            self.magnitude
        }
    }

    fn rune(self) -> char {
        u32::try_from(self.bits())
            .ok()
            .and_then(char::from_u32)
            .unwrap_or('\u{fffd}')
    }
}

impl Printer {
    /// False when the verb is not one for integers.
    pub(super) fn integer(&mut self, value: Integer, verb: char) -> bool {
        match verb {
            'v' if self.flags.sharp_v && value.unsigned => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.in_base(value, 16, 'v');
                self.flags.sharp = sharp;
            }
            'v' | 'd' => self.in_base(value, 10, verb),
            'b' => self.in_base(value, 2, verb),
            'o' | 'O' => self.in_base(value, 8, verb),
            'x' | 'X' => self.in_base(value, 16, verb),
            'c' => {
                let mut buffer = [0; 4];
                self.pad(value.rune().encode_utf8(&mut buffer).as_bytes());
            }
            'q' => {
                let quoting = if self.flags.plus {
                    Quoting::Ascii
                } else {
                    Quoting::Printable
                };
                self.pad(quote_rune(value.rune(), quoting).as_bytes());
            }
            'U' => self.code_point(value),
            _ => return false,
        }
        true
    }

    fn in_base(&mut self, value: Integer, base: u32, verb: char) {
        if self.precision == Some(0) && value.magnitude == 0 {
            let zero = std::mem::replace(&mut self.flags.zero, false);
            self.padding(self.width.unwrap_or(0));
            self.flags.zero = zero;
            return;
        }
        let mut digits = match base {
            2 => format!("{:b}", value.magnitude),
            8 => format!("{:o}", value.magnitude),
            16 if verb == 'X' => format!("{:X}", value.magnitude),
            16 => format!("{:x}", value.magnitude),
            _ => value.magnitude.to_string(),
        };
        let signed = value.negative || self.flags.plus || self.flags.space;
        let wanted = match (self.precision, self.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if self.flags.zero && !self.flags.minus => {
                width.saturating_sub(usize::from(signed))
            }
            _ => 0,
        };
        if digits.len() < wanted {
            digits.insert_str(0, &"0".repeat(wanted - digits.len()));
        }
        let mut text = String::new();
        if value.negative {
            text.push('-');
        } else if self.flags.plus {
            text.push('+');
        } else if self.flags.space {
            text.push(' ');
        }
        if verb == 'O' {
            text.push_str("0o");
        }
        if self.flags.sharp {
            match base {
                2 => text.push_str("0b"),
                8 if !digits.starts_with('0') => text.push('0'),
                16 => text.push_str(if verb == 'X' { "0X" } else { "0x" }),
                _ => {}
            }
        }
        text.push_str(&digits);
        let zero = std::mem::replace(&mut self.flags.zero, false);
        self.pad(text.as_bytes());
        self.flags.zero = zero;
    }

    fn code_point(&mut self, value: Integer) {
        let precision = self.precision.unwrap_or(4).max(4);
        let bits = value.bits();
        let digits = format!("{bits:X}");
        let zeros = "0".repeat(precision.saturating_sub(digits.len()));
        let mut text = format!("U+{zeros}{digits}");
        if self.flags.sharp
            && let Some(rune) = u32::try_from(bits).ok().and_then(char::from_u32)
            && is_print(rune)
        {
            let _ = write!(text, " '{rune}'");
        }
        let zero = std::mem::replace(&mut self.flags.zero, false);
        self.pad(text.as_bytes());
        self.flags.zero = zero;
    }
}
