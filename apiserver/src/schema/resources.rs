//! What resources in a custom resource have to have.

use serde_json::{Map, Value};

use crate::failure::{Cause, FieldError};

const KIND: &str = "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case \
    alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
    'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// Checks the version and the kind of the resource at `path`.
pub(super) fn check(path: &str, object: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    for (name, check) in [
        ("apiVersion", api_version as fn(&str) -> Option<String>),
        ("kind", kind),
    ] {
        let field = format!("{path}.{name}");
        match object.get(name) {
            None => errors.push(FieldError::new(Cause::Required, field, "")),
            Some(value @ Value::String(text)) => {
                if let Some(detail) = check(text) {
                    errors.push(FieldError::of_value(Cause::Invalid, field, value, &detail));
                }
            }
            Some(_) => {}
        }
    }
}

fn api_version(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("must not be empty".to_owned());
    }
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn kind(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("must not be empty".to_owned());
    }
    let lower = text.to_ascii_lowercase();
    let good = lower.starts_with(|letter: char| letter.is_ascii_lowercase())
        && !lower.ends_with('-')
        && lower.len() <= 63
        && lower
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (!good).then(|| KIND.to_owned())
}
