//! The texts of this crate that users see.

use crate::process::Death;

/// Why a template is evaluated no more.
pub(crate) fn quarantined(kind: &str, death: &Death) -> String {
    format!("template {kind} is quarantined: {death}; it is not evaluated until it is changed")
}

/// Why a template does not compile.
pub(crate) fn not_compiled(death: &Death) -> String {
    format!("cannot compile: {death}")
}

/// Why a constraint was not evaluated.
pub(crate) fn unavailable(error: &str) -> String {
    format!("no process can evaluate constraints: {error}")
}
