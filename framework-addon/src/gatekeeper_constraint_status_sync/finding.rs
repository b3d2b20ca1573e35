//! Computes the compliance of a constraint from its status.

use reeve_api::Compliance;
use serde_json::Value;

use super::messages;
use crate::reporter::Finding;

const KNOWN_ACTIONS: [&str; 4] = ["deny", "dryrun", "warn", "scoped"];

/// Whether Gatekeeper's webhook validates objects before they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookValidation {
    /// It does.
    Enabled,
    /// It does not.
    Disabled,
}

/// Reads a constraint; `None` before its first audit, unless its status says why there is none.
///
/// Gatekeeper lists a bounded number of violations (`status.violations`) and counts all of them
/// (`status.totalViolations`); the count exists from the first audit on. An entry without a name or a message is counted, not
/// dropped.
pub fn of(constraint: &Value, validation: WebhookValidation) -> Option<Finding> {
    let total = constraint.pointer("/status/totalViolations");
    let Some(total) = total.and_then(Value::as_i64) else {
        return not_audited(constraint);
    };
    let finding = match constraint.pointer("/status/violations") {
        None | Some(Value::Null) => unlisted(total, constraint),
        Some(Value::Array(violations)) if violations.is_empty() => unlisted(total, constraint),
        Some(Value::Array(violations)) => Finding::violation(listed(violations)),
        Some(_) => Finding::violation(messages::INVALID_STATUS),
    };
    let action = constraint.pointer("/spec/enforcementAction");
    let denies = action.and_then(Value::as_str).unwrap_or("deny") == "deny";
    if denies && validation == WebhookValidation::Disabled {
        let text = format!("{}{}", messages::WEBHOOK_DISABLED, finding.text);
        return Some(Finding {
            compliance: Compliance::NonCompliant,
            text,
        });
    }
    Some(finding)
}

/// Why a constraint is not audited: it is not valid, or its action is unknown.
fn not_audited(constraint: &Value) -> Option<Finding> {
    let refusals = errors_with_code(constraint, "");
    let mut text = refusals.join(messages::SEPARATOR);
    if text.is_empty() {
        return None;
    }
    // Gatekeeper's error has the word "unrecognized" in place of the action.
    let action = constraint.pointer("/spec/enforcementAction");
    let action = action.and_then(Value::as_str).unwrap_or("deny");
    if !KNOWN_ACTIONS.contains(&action) {
        text.push_str(&messages::unknown_action(action));
    }
    Some(Finding::violation(text))
}

fn unlisted(total: i64, constraint: &Value) -> Finding {
    // Why an audit is not complete, as the audit of `config-policy-controller` writes it. Gatekeeper writes no such errors.
    let incomplete = errors_with_code(constraint, "audit_error");
    if total > 0 {
        Finding::violation(messages::not_listed(total))
    } else if !incomplete.is_empty() {
        // What could not be evaluated, is not known to comply.
        Finding::violation(incomplete.join(messages::SEPARATOR))
    } else {
        Finding::compliant(messages::NO_VIOLATIONS)
    }
}

fn errors_with_code<'a>(constraint: &'a Value, code: &str) -> Vec<&'a str> {
    let pods = constraint
        .pointer("/status/byPod")
        .and_then(Value::as_array);
    let errors = pods
        .into_iter()
        .flatten()
        .filter_map(|pod| pod["errors"].as_array())
        .flatten();
    let errors = errors.filter(|error| error["code"].as_str().unwrap_or_default() == code);
    errors
        .filter_map(|error| error["message"].as_str())
        .collect()
}

fn listed(violations: &[Value]) -> String {
    let mut texts: Vec<String> = violations.iter().filter_map(violation).collect();
    let undecodable = violations.len().saturating_sub(texts.len());
    if undecodable > 0 {
        texts.push(messages::undecodable(undecodable));
    }
    texts.join(messages::SEPARATOR)
}

fn violation(entry: &Value) -> Option<String> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str);
    let object = (text("kind")?, text("namespace"), text("name")?);
    Some(messages::violation(
        text("enforcementAction")?,
        text("message")?,
        object,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn message(
        status: &Value,
        action: Option<&str>,
        validation: WebhookValidation,
    ) -> Option<String> {
        let mut constraint = json!({"spec": {}, "status": status});
        if let Some(action) = action {
            constraint["spec"]["enforcementAction"] = json!(action);
        }
        of(&constraint, validation).map(|finding| finding.message())
    }

    fn on(kind: &str, namespace: Option<&str>, name: &str) -> Value {
        let mut entry =
            json!({"kind": kind, "name": name, "message": "no", "enforcementAction": "warn"});
        if let Some(namespace) = namespace {
            entry["namespace"] = json!(namespace);
        }
        entry
    }

    #[rstest]
    #[case::not_audited(json!({}), None)]
    #[case::odd_count(json!({"totalViolations": "1"}), None)]
    #[case::refused(
        json!({"byPod": [{"id": "a", "errors": [{"code": "", "message": "unrecognized enforcementAction"}]}]}),
        Some("NonCompliant; unrecognized enforcementAction")
    )]
    #[case::not_ingested_yet(json!({"byPod": [{"id": "a", "errors": [{"code": "ingest_error", "message": "no"}]}]}), None)]
    #[case::none(json!({"totalViolations": 0}), Some("Compliant; The constraint has no violations"))]
    #[case::empty(json!({"totalViolations": 0, "violations": []}), Some("Compliant; The constraint has no violations"))]
    #[case::no_list(json!({"totalViolations": 1, "violations": {}}), Some("NonCompliant; The constraint status is invalid"))]
    #[case::two(
        json!({"totalViolations": 2, "violations": [on("ConfigMap", Some("ns"), "a"), on("Namespace", None, "b")]}),
        Some("NonCompliant; warn - no (on ConfigMap ns/a); warn - no (on Namespace b)")
    )]
    fn finding_has_the_violations_of_the_audit(
        #[case] status: Value,
        #[case] expected: Option<&str>,
    ) {
        let found = message(&status, Some("warn"), WebhookValidation::Disabled);
        assert_eq!(found.as_deref(), expected);
    }

    #[rstest]
    #[case::limit_zero(json!({"totalViolations": 3}), "NonCompliant; 3 violations (not listed)")]
    #[case::nameless(
        json!({"totalViolations": 2, "violations": [on("ConfigMap", Some("ns"), "a"), {"kind": 7}]}),
        "NonCompliant; warn - no (on ConfigMap ns/a); 1 violation in the constraint's status cannot be read"
    )]
    #[case::all_odd(
        json!({"totalViolations": 2, "violations": ["x", null]}),
        "NonCompliant; 2 violations in the constraint's status cannot be read"
    )]
    fn gk_22_violations_that_are_not_listed_are_counted(
        #[case] status: Value,
        #[case] expected: &str,
    ) {
        let found = message(&status, Some("warn"), WebhookValidation::Enabled);
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn gk_133_audit_that_is_not_complete_is_no_compliance() {
        let status = |code: &str| {
            json!({"totalViolations": 0, "byPod": [{"id": "a"}, {"id": "b", "errors": [
                {"code": code, "message": "could not list Pod: forbidden"},
                {"code": code, "message": "audit incomplete: 2 objects could not be evaluated"},
            ]}]})
        };
        let found = |code| message(&status(code), Some("warn"), WebhookValidation::Enabled);
        assert_eq!(
            found("audit_error").as_deref(),
            Some(
                "NonCompliant; could not list Pod: forbidden; audit incomplete: 2 objects could not be evaluated"
            )
        );
        assert_eq!(
            found("ingest_error").as_deref(),
            Some("Compliant; The constraint has no violations")
        );
    }

    #[rstest]
    #[case::absent(None, WebhookValidation::Disabled, true)]
    #[case::deny(Some("deny"), WebhookValidation::Disabled, true)]
    #[case::checked(Some("deny"), WebhookValidation::Enabled, false)]
    #[case::warn(Some("warn"), WebhookValidation::Disabled, false)]
    #[case::scoped(Some("scoped"), WebhookValidation::Disabled, false)]
    fn denying_constraint_without_webhook_is_noncompliant(
        #[case] action: Option<&str>,
        #[case] validation: WebhookValidation,
        #[case] is_noncompliant: bool,
    ) {
        let found = message(&json!({"totalViolations": 0}), action, validation).unwrap();
        let expected = if is_noncompliant {
            "NonCompliant; The Gatekeeper validating webhook is disabled but the constraint's spec.enforcementAction is deny. The constraint has no violations"
        } else {
            "Compliant; The constraint has no violations"
        };
        assert_eq!(found, expected);
    }
}
