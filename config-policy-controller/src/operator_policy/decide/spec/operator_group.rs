//! `spec.operatorGroup`. Pure.

use reeve_go_compat::json;
use serde_json::Value;

use super::DesiredGroup;
use super::strict::operator_group_spec;
use crate::messages::operator as messages;

/// Reads the resolved group of a policy whose Subscription is in `namespace`. The error is the message of the condition.
pub fn operator_group(resolved: Option<&Value>, namespace: &str) -> Result<DesiredGroup, String> {
    let Some(resolved) = resolved else {
        return Ok(DesiredGroup::inferred(namespace));
    };
    let Some(fields) = resolved.as_object() else {
        let found = json::kind(resolved);
        let error = format!(
            "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        );
        return Err(messages::group_invalid(&error));
    };
    let mut fields = fields.clone();
    if let Some(given) = fields.get("namespace").and_then(Value::as_str) {
        if !given.is_empty() && given != namespace {
            return Err(messages::namespaces_differ(given, namespace));
        }
        fields.remove("namespace");
    }
    let Some(Value::String(name)) = fields.remove("name") else {
        return Err(messages::GROUP_NAME_REQUIRED.to_owned());
    };
    let spec = operator_group_spec(&fields).map_err(|error| messages::group_invalid(&error))?;
    Ok(DesiredGroup {
        name: Some(name),
        namespace: namespace.to_owned(),
        spec,
    })
}
