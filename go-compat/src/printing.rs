//! Go's `fmt`: how values become text.
//!
//! Ported from the behaviour of Go's `fmt` and `strconv`. Text is bytes here, as in Go.

mod directive;
mod float;
mod integer;
mod operand;
mod printer;
#[cfg(test)]
mod tests;

pub use directive::sprintf;
pub use float::{
    plain, shortest as shortest_float, shortest_digits, shortest_single, with_exponent,
};

use crate::value::Value;
use printer::Printer;

/// `fmt.Sprint`: a space between operands when neither is a string.
pub fn sprint(values: &[Value]) -> Vec<u8> {
    let mut printer = Printer::new();
    let mut previous_is_string = false;
    for (place, value) in values.iter().enumerate() {
        let is_string = matches!(value, Value::Str(_));
        if place > 0 && !is_string && !previous_is_string {
            printer.push(b" ");
        }
        printer.argument(value, 'v');
        previous_is_string = is_string;
    }
    printer.finish()
}

/// `fmt.Sprintln`: a space between all operands, a newline at the end.
pub fn sprintln(values: &[Value]) -> Vec<u8> {
    let mut printer = Printer::new();
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            printer.push(b" ");
        }
        printer.argument(value, 'v');
    }
    printer.push(b"\n");
    printer.finish()
}

/// `%v` of one value.
pub fn display(value: &Value) -> Vec<u8> {
    match value {
        Value::Str(text) => text.to_vec(),
        other => {
            let mut printer = Printer::new();
            printer.argument(other, 'v');
            printer.finish()
        }
    }
}
