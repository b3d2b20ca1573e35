//! Structures as the server's own types show them in the text of an error: their names for the fields, in their order.

use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::field::FieldValue;
use crate::status_error::{Cause, FieldError};

/// A field: its name in the type, and in the object.
pub(super) type Field = (&'static str, &'static str);

/// A structure whose fields are all written; what is not there is `null`.
pub(super) fn whole(value: &Value, fields: &[Field]) -> String {
    let fields = fields.iter().map(|(name, field)| {
        let value = value.get(field).unwrap_or(&Value::Null);
        format!("\"{name}\":{}", within(field, value))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn within(field: &str, value: &Value) -> String {
    if field == "selector" && value.is_object() {
        selector(value)
    } else {
        value.to_string()
    }
}

/// A selector of labels.
pub(super) fn selector(value: &Value) -> String {
    let fields = ["matchLabels", "matchExpressions"]
        .into_iter()
        .filter_map(|field| Some(format!("\"{field}\":{}", value.get(field)?)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// A value that is not right, shown in this way.
pub(super) fn invalid(at: &FieldValue<'_>, shown: &str, why: &str) -> FieldError {
    error(Cause::Invalid, at, shown, why)
}

/// A value that is not one of those that are allowed, shown in this way.
pub(super) fn unsupported(at: &FieldValue<'_>, shown: &str, allowed: &[&str]) -> FieldError {
    let quoted: Vec<String> = allowed.iter().map(quote).collect();
    let why = format!("supported values: {}", quoted.join(", "));
    error(Cause::NotSupported, at, shown, &why)
}

fn error(cause: Cause, at: &FieldValue<'_>, shown: &str, why: &str) -> FieldError {
    let end = if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    };
    FieldError {
        cause,
        field: at.path.clone(),
        message: format!("{}: {shown}{end}", cause.title()),
    }
}
