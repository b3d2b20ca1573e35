//! Lengths of time in nanoseconds.

use std::fmt::{self, Write as _};

/// Nanoseconds of a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds of a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Nanoseconds of an hour.
pub const HOUR: i64 = 60 * MINUTE;

/// A Go `time.Duration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub i64);

impl Duration {
    /// `time.ParseDuration`: a sum of numbers with units, such as `1h30m` or `-1.5s`.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let invalid = || format!("time: invalid duration {}", quote(text));
        let (negative, mut rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        if rest == b"0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after_whole) = leading_int(rest).ok_or_else(invalid)?;
            let (fraction, after) = match after_whole {
                [b'.', after @ ..] => leading_fraction(after),
                _ => ((0, 1.0), after_whole),
            };
            let has_digits = after_whole.len() < rest.len() || after.len() + 1 < after_whole.len();
            if !has_digits {
                return Err(invalid());
            }
            let length = after
                .iter()
                .position(|byte| *byte == b'.' || byte.is_ascii_digit())
                .unwrap_or(after.len());
            let (unit, after) = after.split_at(length);
            if unit.is_empty() {
                return Err(format!("time: missing unit in duration {}", quote(text)));
            }
            let size = unit_size(unit).ok_or_else(|| {
                format!(
                    "time: unknown unit {} in duration {}",
                    quote(unit),
                    quote(text)
                )
            })?;
            total = scaled(whole, fraction, size)
                .and_then(|part| total.checked_add(part))
                .filter(|total| *total <= 1 << 63)
                .ok_or_else(invalid)?;
            rest = after;
        }
        if negative {
            return Ok(Self(0_i64.wrapping_sub_unsigned(total)));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }

    /// The value rounded to a multiple, halves away from zero; itself if the multiple is not
    /// positive.
    #[must_use]
    pub fn round(self, multiple: Self) -> Self {
        if multiple.0 <= 0 {
            return self;
        }
        let remainder = self.0 % multiple.0;
        let twice = i128::from(remainder.unsigned_abs()) * 2;
        if twice < i128::from(multiple.0) {
            return Self(self.0 - remainder);
        }
        let away = if self.0 < 0 {
            (self.0 - remainder).checked_sub(multiple.0)
        } else {
            (self.0 - remainder).checked_add(multiple.0)
        };
        Self(away.unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX }))
    }

    /// The value cut to a multiple towards zero.
    #[must_use]
    pub fn truncate(self, multiple: Self) -> Self {
        if multiple.0 <= 0 {
            return self;
        }
        Self(self.0 - self.0 % multiple.0)
    }

    /// The value in this unit as a float, as Go adds it up from whole units and the rest.
    pub fn in_units(self, unit: i64) -> f64 {
        #[allow(clippy::cast_precision_loss)] // as Go's does
        {
            (self.0 / unit) as f64 + (self.0 % unit) as f64 / unit as f64
        }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        if size == 0 {
            return formatter.write_str("0s");
        }
        let second = SECOND.unsigned_abs();
        if size < second {
            let (unit, digits) = match size {
                0..1_000 => ("ns", 0),
                1_000..1_000_000 => ("µs", 3),
                _ => ("ms", 6),
            };
            return write!(formatter, "{sign}{}{unit}", decimal(size, digits));
        }
        let seconds = size / second;
        let shown = decimal(size % (60 * second), 9);
        let (minutes, hours) = (seconds / 60 % 60, seconds / 3600);
        formatter.write_str(sign)?;
        if hours > 0 {
            write!(formatter, "{hours}h")?;
        }
        if seconds >= 60 {
            write!(formatter, "{minutes}m")?;
        }
        write!(formatter, "{shown}s")
    }
}

/// A number with so many of its digits behind a point, without trailing zeros.
fn decimal(number: u64, digits: u32) -> String {
    let unit = 10_u64.pow(digits);
    let whole = number / unit;
    if number.is_multiple_of(unit) {
        return whole.to_string();
    }
    let width = usize::try_from(digits).unwrap_or(0);
    let fraction = format!("{:0width$}", number % unit);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

/// The leading digits as a number up to 2^63, and what follows.
fn leading_int(text: &[u8]) -> Option<(u64, &[u8])> {
    let first = text.first()?;
    if *first != b'.' && !first.is_ascii_digit() {
        return None;
    }
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let mut number: u64 = 0;
    for digit in digits {
        number = number
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))
            .filter(|number| *number <= 1 << 63)?;
    }
    Some((number, rest))
}

/// The leading digits of a fraction, what they must be divided by, and what follows. Digits that
/// do not fit are dropped.
fn leading_fraction(text: &[u8]) -> ((u64, f64), &[u8]) {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let (mut number, mut scale) = (0_u64, 1.0);
    for digit in digits {
        let next = if number > (i64::MAX.unsigned_abs()) / 10 {
            None
        } else {
            Some(number * 10 + u64::from(digit - b'0')).filter(|next| *next <= 1 << 63)
        };
        let Some(next) = next else { break };
        number = next;
        scale *= 10.0;
    }
    ((number, scale), rest)
}

fn unit_size(unit: &[u8]) -> Option<u64> {
    Some(match std::str::from_utf8(unit).ok()? {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND.unsigned_abs(),
        "m" => MINUTE.unsigned_abs(),
        "h" => HOUR.unsigned_abs(),
        _ => return None,
    })
}

fn scaled(whole: u64, (fraction, scale): (u64, f64), size: u64) -> Option<u64> {
    if whole > (1 << 63) / size {
        return None;
    }
    let mut value = whole * size;
    if fraction > 0 {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )] // less than one hour in nanoseconds
        let part = (fraction as f64 * (size as f64 / scale)) as u64;
        value = value.checked_add(part).filter(|value| *value <= 1 << 63)?;
    }
    Some(value)
}

/// How Go's `time` package quotes texts in its errors: everything that is not ASCII by byte.
pub fn quote(text: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(*byte));
            }
            b' '..=0x7f => quoted.push(char::from(*byte)),
            _ => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('"');
    quoted
}
