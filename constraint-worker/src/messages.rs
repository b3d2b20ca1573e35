//! The texts of this crate that users see.

use crate::process::WorkerFailure;

/// Why a template is evaluated no more.
pub(crate) fn quarantined(kind: &str, failure: &WorkerFailure) -> String {
    format!("template {kind} is quarantined: {failure}; it is not evaluated until it is changed")
}

/// Why a template does not compile.
pub(crate) fn not_compiled(failure: &WorkerFailure) -> String {
    format!("cannot compile: {failure}")
}

/// Why a constraint was not evaluated.
pub(crate) fn unavailable(error: &str) -> String {
    format!("no process can evaluate constraints: {error}")
}
