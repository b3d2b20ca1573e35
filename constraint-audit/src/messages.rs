//! The texts of the audit that a user can see.

/// A flag names no mode.
pub(crate) fn unknown_mode(text: &str) -> String {
    format!("{text:?} is no mode of constraint audit: use off, relay, auto or materialised")
}

/// The API server refused to list a kind.
pub(crate) fn refused(kind: &str, reason: &str) -> String {
    format!("{kind}: {reason}")
}

/// A constraint is not evaluated any more.
pub(crate) const TOO_SLOW: &str = "audit incomplete: the evaluation took too long several times and has ended until the constraint or its template changes";
