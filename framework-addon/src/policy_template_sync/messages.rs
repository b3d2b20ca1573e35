//! Every text of template sync that a user can see.

use kube::core::GroupVersionKind;
use reeve_api::dependency_graph::Dependent;
use reeve_runtime::discovery::describe;
use serde_json::Value;

use crate::gatekeeper::{self, Integration};

/// Reason and action of the informational events.
pub const REASON: &str = "PolicyTemplateSync";
/// The prefix of every error.
pub const ERROR: &str = "template-error; ";
/// Two templates have one name.
pub const DUPLICATE_NAMES: &str = "All policy-template names must be unique within a policy";
/// The text for an absent value, as Go prints it.
pub const NOTHING: &str = "<nil>";
/// The text for a value that may be secret.
pub const WITHHELD: &str = "(withheld)";

/// A template is no object that could be applied.
pub fn undecodable(reason: &str) -> String {
    format!("Failed to decode policy template with err: {reason}")
}

/// The reason if it has no kind. `definition` is the template as compact JSON.
pub fn kind_missing(definition: &str) -> String {
    format!("Object 'Kind' is missing in '{definition}'")
}

/// The reason if two of its dependencies conflict.
pub fn conflicting_dependency(name: &str) -> String {
    format!("dependency on {name} has conflicting compliance states")
}

/// A template has no name.
pub fn nameless(index: usize) -> String {
    format!("Failed to parse or get name from policy template at index {index}")
}

/// A template's kind is not served; `found` is discovery's answer.
pub fn not_mapped(kind: &GroupVersionKind, found: &str, integration: Integration) -> String {
    let advice = match (gatekeeper::is_policy(kind), integration) {
        (true, Integration::Disabled) => {
            "A Gatekeeper policy-template was provided, but the Gatekeeper integration is disabled"
        }
        (true, Integration::Enabled) if gatekeeper::is_constraint(kind) => {
            "Mapping not found, check if the required ConstraintTemplate has been deployed"
        }
        (true, Integration::Enabled) => "Mapping not found, check if Gatekeeper is installed",
        (false, _) => "Mapping not found, check if you have the CRD deployed",
    };
    format!("{advice}: {found}")
}

/// A template's kind is served, but is no kind of templates.
pub fn unsupported(kind: &GroupVersionKind) -> String {
    let described = describe(kind);
    if gatekeeper::is_policy(kind) {
        format!("not syncing kind {described} because the Gatekeeper integration is disabled")
    } else {
        format!("policy-template kind is not supported: {described}")
    }
}

/// The API server rejected a new object.
pub fn create_failed(reason: &str) -> String {
    format!("Failed to create policy template: {reason}")
}

/// A clearer text for the API server's error about both kinds of object templates.
pub fn both_object_templates(name: &str) -> String {
    format!(
        "ConfigurationPolicy.policy.open-cluster-management.io \"{name}\" is invalid: spec may only contain one of object-templates and object-templates-raw"
    )
}

/// The end of the API server's error about both kinds of object templates.
pub const BOTH_OBJECT_TEMPLATES: &str =
    "spec\" must validate one and only one schema (oneOf). Found 2 valid alternatives";

/// The object could not be read.
pub fn get_failed(reason: &str) -> String {
    format!("Failed to get the object in the policy template: {reason}")
}

/// The object belongs to another owner; `owner` is the policy that it belongs to, if any.
pub fn owned_by_other(kind: &str, name: &str, owner: Option<&str>) -> String {
    let place = owner.map_or_else(
        || "outside of a Policy".to_owned(),
        |owner| format!("in policy {owner}"),
    );
    format!(
        "Template name must be unique. Policy template with kind: {kind} name: {name} already exists {place}"
    )
}

/// The API server rejected a change.
pub fn update_failed(name: &str, reason: &str) -> String {
    format!("Failed to update policy template {name}: {reason}")
}

/// A constraint template has no valid `status.created`.
pub fn no_admission(name: &str, reason: &str) -> String {
    format!("Failed to retrieve status.created from ConstraintTemplate {name}: {reason}")
}

/// A constraint template cannot be used; the reasons are absent where only Gatekeeper knows them.
pub fn not_admitted(name: &str, reasons: &[String]) -> String {
    let text =
        format!("Failed to create Gatekeeper ConstraintTemplate. Check the status of {name}.");
    if reasons.is_empty() {
        text
    } else {
        format!("{text} {}", reasons.join("; "))
    }
}

/// Gatekeeper can use a new constraint template.
pub fn constraint_template_created(name: &str) -> String {
    format!("ConstraintTemplate {name} was created successfully")
}

/// Gatekeeper can use a changed constraint template.
pub fn constraint_template_updated(name: &str) -> String {
    format!("ConstraintTemplate {name} was updated successfully")
}

/// The template cannot be decoded as an object.
pub fn unmarshal_failed(reason: &str) -> String {
    format!("Failed to unmarshal the policy template: {reason}")
}

/// An object was created.
pub fn created(name: &str) -> String {
    format!("Policy template {name} created successfully")
}

/// An object was updated.
pub fn updated(name: &str) -> String {
    format!("Policy template {name} was updated successfully")
}

/// Dependencies, each `<Kind> <name>`, are not met.
pub fn pending(unmet: &[String]) -> String {
    let (count, all) = (unmet.len(), unmet.join(", "));
    let verb = if count == 1 { "is" } else { "are" };
    format!("Dependencies were not satisfied: {count} {verb} still pending ({all})")
}

/// The same for a template with `ignorePending`.
pub fn pending_ignored(unmet: &[String]) -> String {
    format!("{} but ignorePending is true", pending(unmet))
}

/// Dependencies that neither exist nor are templates of a policy; empty if there are none.
pub fn not_on_cluster<'d>(absent: impl Iterator<Item = &'d Dependent>) -> String {
    let mut absent: Vec<String> = absent.map(ToString::to_string).collect();
    absent.sort();
    match absent.len() {
        0 => String::new(),
        1 => format!("; {} is not on the cluster", absent.concat()),
        _ => format!("; {} are not on the cluster", absent.join(", ")),
    }
}

/// Dependencies that wait for each other.
pub fn dependency_loop(members: &[Dependent]) -> String {
    let members: Vec<String> = members.iter().map(ToString::to_string).collect();
    format!("; the dependencies are a loop: {}", members.join(" -> "))
}

/// The error of Go's accessor of unstructured objects for a value of another type.
pub fn wrong_type(path: &str, value: &Value, expected: &str) -> String {
    let (shown, kind) = match value {
        Value::Null => (NOTHING.to_owned(), NOTHING),
        Value::Bool(value) => (value.to_string(), "bool"),
        Value::Number(number) if number.is_f64() => (number.to_string(), "float64"),
        Value::Number(number) => (number.to_string(), "int64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(_) => (value.to_string(), "[]interface {}"),
        Value::Object(_) => (value.to_string(), "map[string]interface {}"),
    };
    format!("{path} accessor error: {shown} is of the type {kind}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy_template_sync::error::TemplateError;

    fn kind(group: &str, kind: &str) -> GroupVersionKind {
        GroupVersionKind::gvk(group, "v1", kind)
    }

    #[test]
    fn every_report() {
        let (core, constraint) = (kind("", "Pod"), kind("constraints.gatekeeper.sh", "NoTea"));
        let template = kind("templates.gatekeeper.sh", "ConstraintTemplate");
        let not_mapped = |kind, integration| TemplateError::NotMapped {
            kind,
            found: "the resource version was not found: x/v1, Kind=Y".to_owned(),
            integration,
        };
        let errors = [
            TemplateError::DuplicateNames,
            TemplateError::Undecodable(kind_missing(r#"{"metadata":{"name":"a"}}"#)),
            TemplateError::ConflictingDependency("dep".to_owned()),
            TemplateError::Nameless(2),
            not_mapped(kind("x", "Y"), Integration::Enabled),
            not_mapped(constraint.clone(), Integration::Disabled),
            not_mapped(constraint.clone(), Integration::Enabled),
            not_mapped(template, Integration::Enabled),
            TemplateError::Unsupported(core),
            TemplateError::Unsupported(constraint),
            TemplateError::HubTemplates("no such function".to_owned()),
            TemplateError::Create(
                "denied".to_owned(),
                crate::policy_template_sync::error::RejectionKind::Other,
            ),
            TemplateError::Get("denied".to_owned()),
            TemplateError::OwnedByOther {
                kind: "K".into(),
                name: "n".into(),
                owner: Some("ns.other".into()),
            },
            TemplateError::OwnedByOther {
                kind: "K".into(),
                name: "n".into(),
                owner: None,
            },
            TemplateError::Update(
                "n".into(),
                "denied".into(),
                crate::policy_template_sync::error::RejectionKind::Other,
            ),
            TemplateError::NoAdmission("t".to_owned(), NOTHING.to_owned()),
            TemplateError::NotAdmitted("t".to_owned(), Vec::new()),
            TemplateError::NotAdmitted(
                "t".to_owned(),
                vec!["parse error".to_owned(), "x".to_owned()],
            ),
            TemplateError::Unmarshal("odd".to_owned()),
        ];
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(texts.join("\n"), @r#"
        All policy-template names must be unique within a policy
        Failed to decode policy template with err: Object 'Kind' is missing in '{"metadata":{"name":"a"}}'
        Failed to decode policy template with err: dependency on dep has conflicting compliance states
        Failed to parse or get name from policy template at index 2
        Mapping not found, check if you have the CRD deployed: the resource version was not found: x/v1, Kind=Y
        A Gatekeeper policy-template was provided, but the Gatekeeper integration is disabled: the resource version was not found: x/v1, Kind=Y
        Mapping not found, check if the required ConstraintTemplate has been deployed: the resource version was not found: x/v1, Kind=Y
        Mapping not found, check if Gatekeeper is installed: the resource version was not found: x/v1, Kind=Y
        policy-template kind is not supported: /v1, Kind=Pod
        not syncing kind constraints.gatekeeper.sh/v1, Kind=NoTea because the Gatekeeper integration is disabled
        no such function
        Failed to create policy template: denied
        Failed to get the object in the policy template: denied
        Template name must be unique. Policy template with kind: K name: n already exists in policy ns.other
        Template name must be unique. Policy template with kind: K name: n already exists outside of a Policy
        Failed to update policy template n: denied
        Failed to retrieve status.created from ConstraintTemplate t: <nil>
        Failed to create Gatekeeper ConstraintTemplate. Check the status of t.
        Failed to create Gatekeeper ConstraintTemplate. Check the status of t. parse error; x
        Failed to unmarshal the policy template: odd
        "#);
    }

    #[test]
    fn other_texts() {
        let two = ["A a".to_owned(), "B b".to_owned()];
        let texts = [
            created("t"),
            updated("t"),
            constraint_template_created("t"),
            constraint_template_updated("t"),
            pending(&two[..1]),
            pending(&two),
            pending_ignored(&two[..1]),
            both_object_templates("t"),
        ];
        insta::assert_snapshot!(texts.join("\n"), @r#"
        Policy template t created successfully
        Policy template t was updated successfully
        ConstraintTemplate t was created successfully
        ConstraintTemplate t was updated successfully
        Dependencies were not satisfied: 1 is still pending (A a)
        Dependencies were not satisfied: 2 are still pending (A a, B b)
        Dependencies were not satisfied: 1 is still pending (A a) but ignorePending is true
        ConfigurationPolicy.policy.open-cluster-management.io "t" is invalid: spec may only contain one of object-templates and object-templates-raw
        "#);
    }
}
