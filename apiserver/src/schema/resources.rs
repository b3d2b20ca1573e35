//! Checks of resources that are embedded in a custom resource.

use serde_json::{Map, Value};

use crate::names;
use crate::status_error::{Cause, FieldError};

/// The suggestion for a name with a capital letter.
pub(super) fn mixed_case(text: &str) -> Vec<String> {
    let wrong = names::label_1035(&text.to_lowercase());
    wrong
        .into_iter()
        .map(|why| format!("may have mixed case, but should otherwise match: {why}"))
        .collect()
}

/// Checks the version and the kind of the resource at `path`.
pub(super) fn check(path: &str, object: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    for (name, check) in [
        ("apiVersion", api_version as fn(&str) -> Vec<String>),
        ("kind", mixed_case),
    ] {
        let field = format!("{path}.{name}");
        match object.get(name) {
            None => errors.push(FieldError::new(Cause::Required, field, "")),
            Some(value @ Value::String(text)) => {
                let wrong = if text.is_empty() {
                    vec!["must not be empty".to_owned()]
                } else {
                    check(text)
                };
                for why in wrong {
                    errors.push(FieldError::of_value(Cause::Invalid, &field, value, &why));
                }
            }
            Some(_) => {}
        }
    }
}

fn api_version(text: &str) -> Vec<String> {
    let wrong = text.matches('/').count() > 1;
    wrong
        .then(|| format!("unexpected GroupVersion string: {text}"))
        .into_iter()
        .collect()
}
