//! What an admission request gets as its answer, with the webhook's texts (GK-120).

use crate::client::Violation;
use crate::enforcement::{DENY, WARN};
use crate::messages;

/// The name that the API server prints before the text: `admission webhook "…" denied the request: `.
pub const WEBHOOK: &str = "validation.gatekeeper.sh";

/// The answer to an admission request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The text of the refusal; none when the request is allowed.
    pub denied: Option<String>,
    /// The warnings, also of a request that is refused.
    pub warnings: Vec<String>,
}

/// The answer that violations make: `deny` refuses, `warn` warns, anything else is only audited.
pub fn answer(violations: &[Violation]) -> Answer {
    let with = |action: &str| -> Vec<String> {
        violations
            .iter()
            .filter(|violation| violation.actions().any(|one| one == action))
            .map(|one| messages::admission_line(&one.constraint.name, &one.message))
            .collect()
    };
    let denials = with(DENY);
    Answer {
        denied: (!denials.is_empty()).then(|| denials.join("\n")),
        warnings: with(WARN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Cause, ConstraintKey};

    fn violation(name: &str, action: &str, scoped: &[&str]) -> Violation {
        Violation {
            constraint: ConstraintKey {
                kind: "K".into(),
                name: name.into(),
            },
            message: format!("{name} is violated"),
            details: serde_json::json!({}),
            enforcement_action: action.into(),
            scoped_actions: scoped.iter().map(|one| (*one).to_owned()).collect(),
            cause: Cause::Violation,
        }
    }

    #[test]
    fn gk_120_denials_are_joined_by_newlines_and_warnings_are_listed() {
        let violations = [
            violation("a", "deny", &[]),
            violation("b", "deny", &[]),
            violation("c", "dryrun", &[]),
            violation("d", "warn", &[]),
            violation("e", "scoped", &["deny", "warn"]),
        ];
        let answer = answer(&violations);
        assert_eq!(
            answer.denied.as_deref(),
            Some("[a] a is violated\n[b] b is violated\n[e] e is violated")
        );
        assert_eq!(
            answer.warnings,
            ["[d] d is violated", "[e] e is violated"].map(str::to_owned)
        );
    }

    #[test]
    fn gk_120_dryrun_and_unknown_actions_allow_the_request() {
        let violations = [violation("a", "dryrun", &[]), violation("b", "foo", &[])];
        assert_eq!(answer(&violations), Answer::default());
    }
}
