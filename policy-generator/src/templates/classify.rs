//! What becomes of an object: it is a template itself, or the generator wraps it in a configuration policy.

use reeve_go_compat::value::Map;

use crate::kinds::{CONSTRAINT_GROUP, CONSTRAINT_TEMPLATE_GROUP, POLICY_GROUP, POLICY_KIND};
use crate::messages;
use crate::values::{name_of, text_field};

/// What an object becomes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A configuration policy with these `object-templates-raw`.
    Raw(String),
    /// A template as it is, of a kind of Open Cluster Management.
    OcmPolicy,
    /// A template as it is, which Gatekeeper evaluates.
    Gatekeeper,
    /// An object template of a configuration policy.
    Wrapped,
}

/// Classifies an object. `informs` is whether the generator informs on Gatekeeper, which it wraps then.
pub(super) fn classify(object: &Map, informs: bool) -> Result<Class, &'static str> {
    if let Some(raw) = text_field(object, "object-templates-raw") {
        return Ok(Class::Raw(raw));
    }
    let api_version = text_field(object, "apiVersion").ok_or(messages::NO_API_VERSION)?;
    let kind = text_field(object, "kind").ok_or(messages::NO_KIND)?;
    let class = if api_version.starts_with(POLICY_GROUP) {
        match kind.as_str() {
            POLICY_KIND => return Err(messages::ROOT_POLICY),
            other if other.ends_with("Policy") => Class::OcmPolicy,
            _ => Class::Wrapped,
        }
    } else {
        let is_template =
            api_version.starts_with(CONSTRAINT_TEMPLATE_GROUP) && kind == "ConstraintTemplate";
        if !informs && (is_template || api_version.starts_with(CONSTRAINT_GROUP)) {
            Class::Gatekeeper
        } else {
            Class::Wrapped
        }
    };
    if class != Class::Wrapped && name_of(object).is_none() {
        return Err(messages::NO_NAME);
    }
    Ok(class)
}
