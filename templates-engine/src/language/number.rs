//! Numbers as Go's `strconv` reads them in source text.

/// A number literal under every type that can represent it: Go's ideal constants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number {
    pub(super) int: Option<i64>,
    pub(super) uint: Option<u64>,
    pub(super) float: Option<f64>,
    /// Written as a float, so that it is one where no parameter says otherwise.
    pub(super) reads_as_float: bool,
    /// Imaginary: it parses, and cannot be evaluated here.
    pub(super) complex: bool,
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl Number {
    pub(super) fn from_rune(number: u32) -> Self {
        Self {
            int: Some(number.into()),
            uint: Some(number.into()),
            float: Some(number.into()),
            ..Self::default()
        }
    }

    pub(super) fn complex() -> Self {
        Self {
            complex: true,
            ..Self::default()
        }
    }

    /// Reads a literal; the error is Go's text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(real) = text.strip_suffix('i')
            && parse_float(real).is_some()
        {
            return Ok(Self::complex());
        }
        let mut number = Self {
            int: parse_int(text),
            uint: parse_uint(text),
            ..Self::default()
        };
        let looks_like_float = text.contains(['.', 'e', 'E', 'p', 'P']);
        let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
        number.reads_as_float = looks_like_float && (!hexadecimal || text.contains(['p', 'P']));
        if number.int == Some(0) {
            number.uint = Some(0); // "-0" is no unsigned literal, but its value is
        }
        #[allow(clippy::cast_precision_loss)] // Go rounds them the same way
        if let Some(int) = number.int {
            number.float = Some(int as f64);
        } else if let Some(uint) = number.uint {
            number.float = Some(uint as f64);
        } else if let Some(float) = parse_float(text) {
            if !looks_like_float {
                let quoted = crate::runes::quote(text.as_bytes(), crate::runes::Quoting::Printable);
                return Err(format!("integer overflow: {quoted}"));
            }
            number.float = Some(float);
            number.int = whole_int(float);
            number.uint = whole_uint(float);
        } else {
            let quoted = crate::runes::quote(text.as_bytes(), crate::runes::Quoting::Printable);
            return Err(format!("illegal number syntax: {quoted}"));
        }
        Ok(number)
    }
}

fn whole_int(float: f64) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation)] // in range and whole
    ((-TWO_TO_63..TWO_TO_63).contains(&float) && float.fract() == 0.0).then_some(float as i64)
}

fn whole_uint(float: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in range and whole
    ((0.0..TWO_TO_64).contains(&float) && float.fract() == 0.0).then_some(float as u64)
}

/// `strconv.ParseUint(text, 0, 64)`.
pub fn parse_uint(text: &str) -> Option<u64> {
    let lower = text.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match lower.as_deref() {
        Some("0x") => (16, text.get(2..)?),
        Some("0o") => (8, text.get(2..)?),
        Some("0b") => (2, text.get(2..)?),
        _ if text.len() > 1 && text.starts_with('0') => (8, text.get(1..)?),
        _ => (10, text),
    };
    if digits.contains('_') && !underscores_separate_digits(text) {
        return None;
    }
    let digits: String = digits.chars().filter(|digit| *digit != '_').collect();
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(&digits, radix).ok()
}

/// `strconv.ParseInt(text, 0, 64)`.
pub fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = parse_uint(digits)?;
    if negative {
        0_i64.checked_sub_unsigned(number)
    } else {
        i64::try_from(number).ok()
    }
}

/// `strconv.ParseFloat(text, 64)` for numbers in decimal or hexadecimal digits; none where Go
/// reports an error, a number out of range included.
pub fn parse_float(text: &str) -> Option<f64> {
    if text.contains('_') && !underscores_separate_digits(text) {
        return None;
    }
    let plain: String = text.chars().filter(|digit| *digit != '_').collect();
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let float = if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        let magnitude = parse_hexadecimal_float(unsigned.get(2..)?)?;
        if plain.starts_with('-') {
            -magnitude
        } else {
            magnitude
        }
    } else {
        if !unsigned.starts_with(|first: char| first == '.' || first.is_ascii_digit()) {
            return None; // words such as "inf", which literals cannot be
        }
        plain.parse().ok()?
    };
    float.is_finite().then_some(float)
}

fn parse_hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    Some(value * 2.0_f64.powi(exponent.checked_sub(shift)?))
}

/// Underscores must stand between digits, or between a base prefix and a digit.
fn underscores_separate_digits(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let bytes = unsigned.as_bytes();
    let prefixed = matches!(bytes, [b'0', b'b' | b'o' | b'x' | b'B' | b'O' | b'X', ..]);
    let hexadecimal = matches!(bytes, [b'0', b'x' | b'X', ..]);
    let mut previous = if prefixed { b'0' } else { b'^' };
    for byte in bytes.iter().skip(if prefixed { 2 } else { 0 }) {
        let digit = byte.is_ascii_digit() || hexadecimal && byte.is_ascii_hexdigit();
        let class = match byte {
            _ if digit => b'0',
            b'_' if previous == b'0' => b'_',
            b'_' => return false,
            _ if previous == b'_' => return false,
            _ => b'!',
        };
        previous = class;
    }
    previous != b'_'
}
