//! What an admission request gets as its answer, with the webhook's texts (GK-120, GK-144).

use crate::Json;
use crate::client::{Client, Violation};
use crate::constraint::Constraint;
use crate::enforcement::{ACTIONS, DENY, SCOPED, WARN, unsupported_scopes};
use crate::matching::group_and_kind;
use crate::messages;
use crate::review::Review;
use crate::template::{ConstraintTemplate, ErrorCode};
use crate::{CONSTRAINT_GROUP, TEMPLATE_GROUP};

/// The name that the API server prints before the text: `admission webhook "…" denied the request: `.
pub const WEBHOOK: &str = "validation.gatekeeper.sh";

/// The answer to an admission request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The refusal; none when the request is allowed.
    pub denied: Option<Refusal>,
    /// The warnings, also of a request that is refused.
    pub warnings: Vec<String>,
}

/// The status of a refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason; empty where Gatekeeper gives none.
    pub reason: &'static str,
    /// The text.
    pub message: String,
}

impl Refusal {
    /// By constraints, or by a rule of the webhook.
    pub fn forbidden(message: String) -> Self {
        Self {
            code: 403,
            reason: "Forbidden",
            message,
        }
    }

    /// Of an object of Gatekeeper's kinds that is not valid.
    fn unprocessable(message: String) -> Self {
        Self {
            code: 422,
            reason: "",
            message,
        }
    }

    /// Of a constraint with an action that there is not, for which Gatekeeper has the code of its own failures.
    fn failed(message: String) -> Self {
        Self {
            code: 500,
            reason: "",
            message,
        }
    }
}

/// Checks an object of Gatekeeper's kinds that is created or updated.
pub fn check_own_kinds(engine: &Client, review: &Review) -> Result<(), Refusal> {
    let Some(object) = review.new_object() else {
        return Ok(());
    };
    let (group, kind) = group_and_kind(object);
    match (group, kind) {
        (TEMPLATE_GROUP, "ConstraintTemplate") => check_template(object),
        (CONSTRAINT_GROUP, kind) => match engine.template(kind) {
            Some(template) => check_constraint(object, template),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Checks a constraint template as it is written. What its source is, is not checked: the status has the errors of that.
fn check_template(object: &Json) -> Result<(), Refusal> {
    match ConstraintTemplate::parse(object) {
        Err(error) if error.code == ErrorCode::Create => Err(Refusal::unprocessable(error.message)),
        _ => Ok(()),
    }
}

/// Checks a constraint of a template as it is written.
fn check_constraint(object: &Json, template: &ConstraintTemplate) -> Result<(), Refusal> {
    match Constraint::parse(object, template).map_err(|error| error.to_string()) {
        // The actions are checked last, with a text of their own.
        Err(error) if error != messages::MISSING_SCOPES => Err(Refusal::unprocessable(error)),
        _ => check_actions(&object["spec"]),
    }
}

fn check_actions(spec: &Json) -> Result<(), Refusal> {
    let action = spec["enforcementAction"].as_str().unwrap_or(DENY);
    if ACTIONS.contains(&action) {
        return Ok(());
    }
    if action != SCOPED {
        return Err(Refusal::failed(messages::unknown_action(action)));
    }
    let Some(scopes) = spec["scopedEnforcementActions"].as_array() else {
        return Err(Refusal::failed(messages::SCOPES_REQUIRED.to_owned()));
    };
    let points = scopes.iter().flat_map(|scope| {
        let points = scope["enforcementPoints"].as_array();
        points.into_iter().flatten()
    });
    let points = points.filter_map(|point| point["name"].as_str());
    let actions = scopes.iter().filter_map(|scope| scope["action"].as_str());
    match unsupported_scopes(points, actions) {
        None => Ok(()),
        Some(reason) => Err(Refusal::failed(reason)),
    }
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
        denied: (!denials.is_empty()).then(|| Refusal::forbidden(denials.join("\n"))),
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
            answer.denied,
            Some(Refusal::forbidden(
                "[a] a is violated\n[b] b is violated\n[e] e is violated".to_owned()
            ))
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
