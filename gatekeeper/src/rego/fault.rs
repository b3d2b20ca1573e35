//! Errors of the engine in the words of Open Policy Agent.

use super::Limits;
use super::checked::Checked;
use crate::messages;

/// An error's place and text as the engine prints them: `--> file:line:column`, the line, and `error: text`.
struct Fault<'a> {
    place: Option<String>,
    text: &'a str,
}

fn read(error: &str) -> Fault<'_> {
    let place = error.split("--> ").nth(1).and_then(|rest| {
        let mut parts = rest.lines().next()?.split(':');
        let (file, line) = (parts.next()?, parts.next()?);
        Some(format!("{file}:{line}"))
    });
    let text = error.rsplit("error: ").next().unwrap_or(error).trim();
    Fault { place, text }
}

/// The text of an error of the parser.
pub fn parse_error(module: &str, error: &str) -> String {
    let fault = read(error);
    let place = fault.place.unwrap_or_else(|| module.to_owned());
    let text = format!("{place}: rego_parse_error: {}", fault.text);
    messages::invalid_template(messages::errors_occurred(&[text]))
}

/// The text of a compile error that the engine finds when it prepares a program; none when it found something else.
pub fn compile_error(error: &str) -> Option<String> {
    let (first, last) = (read_first(error), read(error));
    let quoted = |text: &str, begin: &str, end: &str| {
        let rest = text.strip_prefix(begin)?;
        Some(rest.split(end).next()?.to_owned())
    };
    let text = quoted(last.text, "use of undefined variable `", "` is unsafe")
        .or_else(|| {
            quoted(last.text, "var ", " is unsafe (path").filter(|name| !name.contains(' '))
        })
        .map(|name| messages::unsafe_variable(&name))
        .or_else(|| {
            let name = quoted(first.text, "var `", "` used before definition below")?;
            Some(messages::assigned_above(&name))
        })?;
    let place = first.place.unwrap_or_default();
    Some(messages::not_compiled(&[format!("{place}: {text}")]))
}

/// The first of several errors in one text.
fn read_first(error: &str) -> Fault<'_> {
    let text = error.split("error: ").nth(1).unwrap_or(error).trim();
    Fault {
        place: read(error).place,
        text,
    }
}

/// The text of an error of an evaluation.
pub fn evaluation_error(error: &anyhow::Error, limits: &Limits, checked: &Checked) -> String {
    if let Some(limit) = error.downcast_ref::<regorus::LimitError>() {
        return match limit {
            regorus::LimitError::TimeLimitExceeded { .. } => messages::time_limit(limits.time),
            other => other.to_string(),
        };
    }
    let shown = error.to_string();
    let fault = read(&shown);
    let place = fault.place.unwrap_or_else(|| "template".to_owned());
    let conflict = |text: &str| format!("{place}: eval_conflict_error: {text}");
    match fault.text.trim_end_matches('.') {
        text if text.starts_with("rules ") && checked.object_places.contains(&place) => {
            conflict("object keys must be unique")
        }
        "complete rules should not produce multiple outputs"
        | "rules should not produce multiple outputs"
        | "rules must not produce multiple outputs" => {
            conflict("complete rules must not produce multiple outputs")
        }
        text if text.starts_with("rule conflicts with rule at") => {
            conflict("complete rules must not produce multiple outputs")
        }
        text if text.starts_with("function produced multiple outputs")
            || text.starts_with("functions must not produce multiple outputs") =>
        {
            let place = checked.second_definitions.get(&place).unwrap_or(&place);
            format!(
                "{place}: eval_conflict_error: functions must not produce multiple outputs for same inputs"
            )
        }
        text if text.contains("value for key") && text.contains("generated multiple times") => {
            conflict("object keys must be unique")
        }
        text if text.contains(messages::TEXT_TOO_LONG) => messages::TEXT_TOO_LONG.to_owned(),
        text => format!("{place}: {text}"),
    }
}
