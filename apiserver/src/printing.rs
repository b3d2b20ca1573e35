//! JSON values as Go's `fmt` prints them in error messages.

use reeve_go_compat::printing;
use serde_json::Value;

/// A value by one directive, such as `%v`.
pub(crate) fn sprintf(directive: &str, value: &Value) -> String {
    let printed = printing::sprintf(directive.as_bytes(), &[value.into()], usize::MAX);
    String::from_utf8_lossy(&printed.unwrap_or_default()).into_owned()
}
