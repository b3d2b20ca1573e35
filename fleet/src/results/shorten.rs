//! From the engine's messages and related objects to short reasons.

use reeve_api::Compliance;
use reeve_config_policy_controller::template_hint;
use reeve_report::Reason;

use super::cluster::{Evaluation, Related};
use super::messages;

/// The reasons of conditions that are violations. Whatever else does not comply could not be evaluated.
const VIOLATIONS: [&str; 3] = [
    "K8s does not have a `must have` object",
    "K8s has a `must not have` object",
    "K8s deletion pending",
];
/// The reasons of related objects.
const MISSING: &str = "Resource not found but should exist";
const UNWANTED: &str = "Resource found but should not exist";
const MISMATCHED: &str = "Resource found but does not match";
/// What a template prints for a value that does not exist.
const NO_VALUE: &str = "<no value>";
/// What begins the message of a template that was not applied.
const TEMPLATE_ERROR: &str = "template-error; ";

/// Whether a message reports that a template could not be evaluated.
pub(super) fn is_template_error(message: &str) -> bool {
    message.contains(TEMPLATE_ERROR)
}

/// Whether an object template could not be evaluated.
pub(super) fn has_error(evaluation: &Evaluation) -> bool {
    errors(evaluation).next().is_some()
}

/// The messages of the object templates that could not be evaluated.
fn errors(evaluation: &Evaluation) -> impl Iterator<Item = &str> {
    let details = evaluation.compliancy_details.iter().flatten();
    details
        .filter(|detail| is_noncompliant(detail.compliant.as_deref()))
        .flat_map(|detail| detail.conditions.iter().flatten())
        .filter(|condition| {
            let reason = condition.reason.as_deref().unwrap_or_default();
            !VIOLATIONS.contains(&reason)
        })
        .filter_map(|condition| condition.message.as_deref())
}

fn is_noncompliant(compliant: Option<&str>) -> bool {
    compliant.and_then(Compliance::parse) == Some(Compliance::NonCompliant)
}

/// The reasons of a template that does not comply, from its evaluation if there is one, and else from its message.
pub(super) fn reasons(message: &str, evaluation: Option<&Evaluation>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(evaluation) = evaluation.filter(|_| !is_template_error(message)) {
        reasons.extend(errors(evaluation).map(|text| Reason::text(short(text))));
        for related in evaluation.related_objects.iter().flatten() {
            reasons.extend(about(related));
        }
    }
    if reasons.is_empty() && !message.is_empty() {
        reasons.push(Reason::text(short(message)));
    }
    reasons
}

/// What is wrong with a related object.
fn about(related: &Related) -> Vec<Reason> {
    if !is_noncompliant(related.compliant.as_deref()) {
        return Vec::new();
    }
    let of_object = |text: &str| Reason {
        object: object(related),
        text: text.to_owned(),
        ..Reason::default()
    };
    match related.reason.as_deref().unwrap_or_default() {
        MISSING if object(related).contains(NO_VALUE) => vec![of_object(messages::NO_VALUE)],
        MISSING => vec![of_object(messages::MISSING)],
        UNWANTED => vec![of_object(messages::UNWANTED)],
        MISMATCHED => fields(related, &of_object),
        // The message of the template's condition says more.
        _ => Vec::new(),
    }
}

fn fields(related: &Related, of_object: &dyn Fn(&str) -> Reason) -> Vec<Reason> {
    let properties = related.properties.as_ref();
    let fields = properties.and_then(|properties| properties.fields.as_ref());
    let fields = fields.into_iter().flatten();
    let reasons: Vec<Reason> = fields
        .map(|field| Reason {
            field: field.path.clone(),
            wanted: field.wanted.clone(),
            found: field.found.clone(),
            ..of_object(match field.redacted {
                Some(true) => messages::REDACTED,
                _ => "",
            })
        })
        .collect();
    if reasons.is_empty() {
        return vec![of_object("found but not as specified")];
    }
    reasons
}

/// The kind and the name of an object; without a name, the kind and where it was looked for.
fn object(related: &Related) -> String {
    let kind = related.object.kind.as_deref().unwrap_or("object");
    let given = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        (!text.is_empty() && text != "-").then(|| text.to_owned())
    };
    let metadata = &related.object.metadata;
    match (given(&metadata.namespace), given(&metadata.name)) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        (Some(namespace), None) => format!("{kind} in namespace {namespace}"),
        (None, None) => kind.to_owned(),
    }
}

/// A message without what the state says already, and in the words of the command line where a kind is missing.
pub(crate) fn short(message: &str) -> String {
    let mut text = message;
    for prefix in [
        "NonCompliant; ",
        "Pending; ",
        TEMPLATE_ERROR,
        "violation - ",
    ] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    if let Some(kind) = missing_kind(text) {
        return messages::kind_not_installed(kind, text);
    }
    unresolved(text).unwrap_or_else(|| text.to_owned())
}

/// What a template failed at, of a message that has the whole template before it: the cause first, then where.
fn unresolved(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("failed to resolve the template")
        .or_else(|| text.strip_prefix("failed to parse the template"))?;
    let start = rest.rfind(": template: tmpl:")?;
    let error = rest.get(start + ": template: tmpl:".len()..)?;
    let (line, error) = error.split_once(':')?;
    // Without an expression, it is the parser's error, which may have a column.
    let Some((_, at)) = error.split_once("executing \"tmpl\" at <") else {
        let error = error.trim();
        let text = match template_hint(error) {
            Some(hint) => format!("{error}, {hint}"),
            None => error.to_owned(),
        };
        return Some(messages::unresolved(&text, line, None));
    };
    let (expression, cause) = at.split_once(">: ")?;
    let cause = cause.split_once("error calling ").and_then(|(_, after)| {
        let (_, cause) = after.split_once(": ")?;
        Some(cause)
    });
    let cause = cause.or_else(|| at.split_once(">: ").map(|(_, cause)| cause))?;
    Some(messages::unresolved(cause.trim(), line, Some(expression)))
}

/// The kind that a message says is not there.
fn missing_kind(text: &str) -> Option<&str> {
    let word = |text: &'_ str| text.find([' ', ',', ';']).unwrap_or(text.len());
    if let Some((_, after)) = text.split_once("couldn't find mapping resource with kind ") {
        return after.get(..word(after));
    }
    if !text.starts_with("Mapping not found") {
        return None;
    }
    let (_, after) = text.split_once("Kind=")?;
    after.get(..word(after))
}
