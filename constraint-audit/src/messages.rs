//! The texts of the audit that a user can see.

use std::fmt::Display;

/// A flag names no mode.
pub(crate) fn unknown_mode(text: &str) -> String {
    format!("{text:?} is no mode of constraint audit: use off, relay, auto or materialised")
}

/// A constraint is not valid.
pub(crate) fn not_cached(reason: &impl Display) -> String {
    format!("could not cache constraint: {reason}")
}

/// Nobody enforces what a constraint asks for.
pub(crate) fn not_enforceable(reason: &str) -> String {
    format!("could not validate enforcement actions: {reason}")
}

/// The API server refuses the kind of a template's constraints.
pub(crate) fn refused_definition(reason: &str) -> String {
    format!("Could not create CRD: {reason}")
}

/// The API server refused to list a kind.
pub(crate) fn refused(kind: &str, reason: &str) -> String {
    format!("{kind}: {reason}")
}

/// An object of a list cannot be decoded.
pub(crate) fn undecodable(kind: &str, key: &str) -> String {
    format!("{kind}: {key} cannot be decoded")
}

/// A request cannot be answered: an evaluation took too long.
pub(crate) fn late(kind: &str, name: &str, reason: &str) -> String {
    format!("constraint {kind} {name}: {reason}")
}

/// A Namespace has the label that only Gatekeeper's own may have.
pub(crate) fn ignore_label(label: &str) -> String {
    format!("Only exempt namespace can have the {label} label")
}

/// A constraint is not evaluated any more.
pub(crate) const TOO_SLOW: &str = "audit incomplete: the evaluation took too long several times and has ended until the constraint or its template changes";
