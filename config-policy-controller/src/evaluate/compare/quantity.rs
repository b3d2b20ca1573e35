//! Compares Kubernetes quantities (`500m`, `1Gi`, `1e3`) by their amounts.

use reeve_go_compat::quantity::{Quantity, QuantityError};

/// Whether both texts are quantities of the same amount.
///
/// Kubernetes also takes a bare suffix or sign (`k`, `+`) for zero. Such texts are words to everybody else, so a
/// quantity has at least one digit here.
pub fn same_amount(a: &str, b: &str) -> bool {
    amount(a).is_some_and(|a| Some(a) == amount(b))
}

/// Whether the text is a quantity.
pub fn is_quantity(text: &str) -> bool {
    amount(text).is_some()
}

/// The amount in billionths, or the text of an amount beyond what 127 bits hold, which equals only itself. `None` if
/// the text is no quantity.
fn amount(text: &str) -> Option<Result<i128, &str>> {
    match Quantity::parse(text) {
        Ok(quantity) => Some(quantity.nanos().ok_or(text)),
        Err(QuantityError::TooLong) => Some(Err(text)),
        Err(QuantityError::Format | QuantityError::Suffix) => None,
    }
}
