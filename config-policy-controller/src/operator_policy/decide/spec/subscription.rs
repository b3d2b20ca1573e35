//! `spec.versions` and `spec.subscription`. Pure.

use reeve_api::operator_policy::OperatorPolicySpec;
use reeve_go_compat::json;
use serde_json::{Map, Value};

use super::names::label_faults;
use super::strict::subscription_spec;
use super::{DesiredSubscription, Versions, approves_upgrades};
use crate::messages::operator as messages;

/// A Subscription whose defaults are not filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub name: String,
    pub namespace: Option<String>,
    pub spec: Map<String, Value>,
}

impl Draft {
    /// A field of the spec, empty if it is not given.
    pub fn field(&self, name: &str) -> &str {
        let field = self.spec.get(name).and_then(Value::as_str);
        field.unwrap_or_default()
    }

    /// Whether a field is missing that a package manifest can fill in.
    pub fn needs_defaults(&self) -> bool {
        let fields = ["channel", "source", "sourceNamespace"];
        self.namespace.is_none() || fields.iter().any(|name| self.field(name).is_empty())
    }

    pub fn set(&mut self, field: &str, value: &str) {
        self.spec
            .insert(field.to_owned(), Value::String(value.to_owned()));
    }

    /// The Subscription in `namespace`. OLM installs it unasked only if the policy approves every version.
    pub fn build(
        mut self,
        namespace: &str,
        versions: &Versions,
        (spec, enforces): (&OperatorPolicySpec, bool),
    ) -> DesiredSubscription {
        let is_automatic = enforces && approves_upgrades(spec) && versions.are_open();
        let approval = if is_automatic { "Automatic" } else { "Manual" };
        self.set("installPlanApproval", approval);
        DesiredSubscription {
            name: self.name,
            namespace: namespace.to_owned(),
            spec: self.spec,
        }
    }
}

/// The versions in a resolved list; `written` is the list in the policy.
pub fn versions(resolved: &Value, written: &[String]) -> Result<Versions, String> {
    let wrong = |value: &Value| {
        let error = format!(
            "json: cannot unmarshal {} into Go value of type string",
            json::kind(value)
        );
        messages::versions_unreadable(&error)
    };
    let mut allowed = Vec::new();
    for entry in resolved.as_array().into_iter().flatten() {
        let entry = entry.as_str().ok_or_else(|| wrong(entry))?;
        let names = entry.split(',').map(str::trim);
        allowed.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    let is_templated = written.iter().any(|entry| entry.contains("{{"));
    Ok(Versions {
        unresolved: is_templated && allowed.is_empty(),
        allowed,
    })
}

/// Reads the resolved subscription of a policy. The error is the message of the condition.
pub fn draft(resolved: &Value) -> Result<Draft, String> {
    let Some(fields) = resolved.as_object() else {
        let found = json::kind(resolved);
        let error = format!(
            "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        );
        return Err(messages::subscription_invalid(&error));
    };
    let name = fields.get("name").and_then(Value::as_str);
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(messages::NAME_REQUIRED.to_owned());
    };
    let faults = label_faults(name);
    if !faults.is_empty() {
        return Err(messages::name_invalid(name, &faults));
    }
    let mut fields = fields.clone();
    let namespace = fields.get("namespace").and_then(Value::as_str);
    let namespace = namespace.map(str::to_owned);
    if let Some(namespace) = &namespace {
        if !label_faults(namespace).is_empty() {
            return Err(messages::namespace_invalid(namespace));
        }
        fields.remove("namespace");
    }
    let spec =
        subscription_spec(&fields).map_err(|error| messages::subscription_invalid(&error))?;
    let approval = spec.get("installPlanApproval").and_then(Value::as_str);
    if approval.is_some_and(|approval| !approval.is_empty()) {
        return Err(messages::APPROVAL_PROHIBITED.to_owned());
    }
    Ok(Draft {
        name: name.to_owned(),
        namespace,
        spec,
    })
}
