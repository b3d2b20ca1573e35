//! Number literals: Go's ideal constants.

use reeve_go_compat::runes::quote;
use reeve_go_compat::strconv;

/// A number literal under every type that can represent it: Go's ideal constants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number {
    pub(super) int: Option<i64>,
    pub(super) uint: Option<u64>,
    pub(super) float: Option<f64>,
    /// Written as a float, so that it is one unless a parameter has another type.
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
            && strconv::parse_float(real).is_some()
        {
            return Ok(Self::complex());
        }
        let mut number = Self {
            int: strconv::parse_int(text, 0),
            uint: strconv::parse_uint(text, 0),
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
        } else if let Some(float) = strconv::parse_float(text) {
            if !looks_like_float {
                let quoted = quote(text);
                return Err(format!("integer overflow: {quoted}"));
            }
            number.float = Some(float);
            number.int = whole_int(float);
            number.uint = whole_uint(float);
        } else {
            let quoted = quote(text);
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
