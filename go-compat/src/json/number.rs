use crate::printing::{plain, shortest_digits, shortest_float, with_exponent};

/// A finite number as JSON has it: with an exponent only below 1e-6 and from 1e21 on.
pub fn json_float(value: f64) -> String {
    if !value.is_finite() {
        return shortest_float(value);
    }
    let (digits, exponent) = shortest_digits(value);
    let magnitude = value.abs();
    let text = if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        with_exponent(&digits, exponent, 1)
    } else {
        plain(&digits, exponent + 1)
    };
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{text}")
}
