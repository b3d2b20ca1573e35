//! Every text of the relay that a user can see.

/// The list of violations in the status is no list.
pub const INVALID_STATUS: &str = "The constraint status is invalid";
/// The audit has found nothing.
pub const NO_VIOLATIONS: &str = "The constraint has no violations";
/// Before the violations of a constraint with the action `deny` while the webhook is disabled.
pub const WEBHOOK_DISABLED: &str = "The Gatekeeper validating webhook is disabled but the constraint's spec.enforcementAction is deny. ";
/// Between violations.
pub const SEPARATOR: &str = "; ";

/// One violation. `namespace` is absent for a cluster-scoped object.
pub fn violation(
    action: &str,
    message: &str,
    (kind, namespace, name): (&str, Option<&str>, &str),
) -> String {
    let object = namespace.map_or_else(
        || name.to_owned(),
        |namespace| format!("{namespace}/{name}"),
    );
    format!("{action} - {message} (on {kind} {object})")
}

/// Violations that the audit counts and does not list.
pub fn not_listed(count: i64) -> String {
    format!("{count} violations (not listed)")
}

/// Entries of the audit's list that cannot be read.
pub fn undecodable(count: usize) -> String {
    if count == 1 {
        "1 violation in the constraint's status cannot be read".to_owned()
    } else {
        format!("{count} violations in the constraint's status cannot be read")
    }
}

/// What follows Gatekeeper's error about an action that it does not know.
pub fn unknown_action(action: &str) -> String {
    format!(" (spec.enforcementAction is {action:?})")
}
