//! Errors of the engine in the words of Open Policy Agent.

use super::Limits;
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

/// Several errors in one text, as the compiler prints them.
pub fn join(errors: &[String]) -> String {
    match errors {
        [one] => format!("1 error occurred: {one}"),
        all => format!("{} errors occurred:\n{}", all.len(), all.join("\n")),
    }
}

/// The text of an error of the parser.
pub fn parse_error(module: &str, error: &str) -> String {
    let fault = read(error);
    let place = fault.place.unwrap_or_else(|| module.to_owned());
    join(&[format!("{place}: rego_parse_error: {}", fault.text)])
}

/// The text of a compile error that the engine finds when it prepares a program; none when it found something else.
pub fn unsafe_variable(error: &str) -> Option<String> {
    let fault = read(error);
    let variable = fault
        .text
        .strip_prefix("use of undefined variable `")?
        .strip_suffix("` is unsafe")?;
    let place = fault.place.unwrap_or_default();
    Some(join(&[format!(
        "{place}: rego_unsafe_var_error: var {variable} is unsafe"
    )]))
}

/// The text of an error of an evaluation.
pub fn evaluation_error(error: &anyhow::Error, limits: &Limits) -> String {
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
            conflict("functions must not produce multiple outputs for same inputs")
        }
        text if text.contains("value for key") && text.contains("generated multiple times") => {
            conflict("object keys must be unique")
        }
        text if text.contains(messages::EXTERNAL_DATA) => messages::EXTERNAL_DATA.to_owned(),
        text if text.contains(messages::TEXT_TOO_LONG) => messages::TEXT_TOO_LONG.to_owned(),
        text => format!("{place}: {text}"),
    }
}
