//! `sprintf` with Go's format.

use std::any::Any;
use std::rc::Rc;

use reeve_go_compat::printing;
use reeve_go_compat::value::{Directive, Kind, Native, Value as GoValue};
use regorus::Value;
use regorus_bigint::{BigInt, Sign};

use super::text;

/// The text of a format and its operands; none when it is longer than `limit`.
pub fn sprintf(format: &str, operands: &[Value], limit: usize) -> Option<String> {
    let operands: Vec<GoValue> = operands.iter().map(operand).collect();
    let bytes = printing::sprintf(format.as_bytes(), &operands, limit)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// An operand as Open Policy Agent gives it to Go: numbers and texts as they are, anything else as its text.
fn operand(value: &Value) -> GoValue {
    match value {
        Value::Number(number) if text::is_float(value) => match number.as_f64() {
            // A zero with a sign is a result, which the library writes without a fraction.
            Some(float) if float == 0.0 && float.is_sign_negative() => GoValue::Int(0),
            float => GoValue::Float(float.unwrap_or_default()),
        },
        Value::Number(number) => match (number.as_i64(), number.as_big()) {
            (Some(whole), _) => GoValue::Int(whole),
            (None, Some(whole)) => GoValue::Native(Rc::new(Big((*whole).clone()))),
            (None, None) => GoValue::str(text::of_number(value)),
        },
        Value::String(text) => GoValue::str(text.to_string()),
        other => GoValue::str(text::of_term(other)),
    }
}

/// A whole number beyond 64 bits: Go's `*big.Int`, which formats itself.
#[derive(Debug)]
struct Big(BigInt);

impl Native for Big {
    fn type_name(&self) -> &'static str {
        "*big.Int"
    }

    fn kind(&self) -> Kind {
        Kind::Ptr
    }

    fn text(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn format(&self, directive: &Directive) -> Option<String> {
        let (radix, prefix) = match directive.verb {
            'b' => (2, "0b"),
            'o' => (8, "0"),
            'O' => (8, "0o"),
            'd' | 's' | 'v' => (10, ""),
            'x' => (16, "0x"),
            'X' => (16, "0X"),
            verb => return Some(format!("%!{verb}(big.Int={})", self.0)),
        };
        let mut digits = self.0.magnitude().to_str_radix(radix);
        if directive.verb == 'X' {
            digits.make_ascii_uppercase();
        }
        let sign = if self.0.sign() == Sign::Minus {
            "-"
        } else if directive.plus {
            "+"
        } else if directive.space {
            " "
        } else {
            ""
        };
        let prefix = if directive.sharp || directive.verb == 'O' {
            prefix
        } else {
            ""
        };
        Some(padded(sign, prefix, &digits, directive))
    }

    fn json(&self) -> String {
        self.0.to_string()
    }

    fn equals(&self, other: &dyn Native) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Zeros up to the precision, and spaces or zeros up to the width.
fn padded(sign: &str, prefix: &str, digits: &str, directive: &Directive) -> String {
    let precision = directive.precision.unwrap_or_default();
    let mut zeros = precision.saturating_sub(digits.len());
    let length = sign.len() + prefix.len() + zeros + digits.len();
    let missing = directive.width.unwrap_or_default().saturating_sub(length);
    let (mut left, mut right) = (0, 0);
    if directive.minus {
        right = missing;
    } else if directive.zero && directive.precision.is_none() {
        zeros += missing;
    } else {
        left = missing;
    }
    format!(
        "{:left$}{sign}{prefix}{}{digits}{:right$}",
        "",
        "0".repeat(zeros),
        ""
    )
}
