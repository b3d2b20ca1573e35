//! Reads the spec of a policy: object templates, mode, selectors. Pure.

mod error;
pub mod raw;

use kube::Resource;
use kube::core::object::HasSpec;
use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{ConfigurationPolicy, NamespaceSelector, ObjectTemplate};
use reeve_api::names::DISABLE_TEMPLATES_ANNOTATION;
use reeve_go_compat::strconv::parse_bool;
use reeve_runtime::object::ObjectKey;
use serde::Serialize;

use crate::messages;

pub use error::{EvaluationError, Retry};

/// Where the object templates of a policy come from.
#[derive(Debug, Clone, PartialEq)]
pub enum TemplateSource {
    /// `object-templates`; an empty list if the policy has none.
    List(Vec<ObjectTemplate>),
    /// `object-templates-raw`, to be resolved.
    Raw(String),
}

/// Whether templates in the policy are resolved, or taken as plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Templating {
    /// They are resolved.
    On,
    /// They are plain text.
    Off,
}

/// The object templates of a policy, or why the policy cannot be evaluated.
pub fn object_templates(policy: &ConfigurationPolicy) -> Result<TemplateSource, EvaluationError> {
    let spec = &policy.spec;
    if spec.remediation_action.is_empty() {
        return Err(EvaluationError::permanent(
            messages::INVALID_SPEC,
            messages::NO_REMEDIATION_ACTION.to_owned(),
        ));
    }
    if let Some(text) = spec
        .object_templates_raw
        .as_ref()
        .filter(|text| !text.is_empty())
    {
        if templating(policy) == Templating::Off {
            tracing::warn!(policy = %ObjectKey::of(policy), "{}", messages::RAW_DISABLED);
            return Ok(TemplateSource::List(Vec::new()));
        }
        return Ok(TemplateSource::Raw(text.clone()));
    }
    let listed = spec.object_templates.clone();
    Ok(TemplateSource::List(listed.unwrap_or_default()))
}

/// The remediation action of a policy. An unknown word counts as inform.
pub fn mode(policy: &ConfigurationPolicy) -> RemediationAction {
    policy
        .spec
        .remediation()
        .unwrap_or(RemediationAction::Inform)
}

/// The policy's namespace selector, if it could choose anything.
pub fn selector(policy: &ConfigurationPolicy) -> Option<&NamespaceSelector> {
    let selector = policy.spec.namespace_selector.as_ref();
    selector.filter(|selector| selects_namespaces(selector))
}

/// Whether the selector chooses anything at all: exclusion alone does not.
pub fn selects_namespaces(selector: &NamespaceSelector) -> bool {
    selector.match_labels.is_some()
        || selector.match_expressions.is_some()
        || selector
            .include
            .as_ref()
            .is_some_and(|include| !include.is_empty())
}

/// Whether there are templates about the hub in the policy.
pub fn mentions_the_hub<P: HasSpec<Spec: Serialize>>(policy: &P) -> bool {
    // A spec that was read from JSON can be written as JSON; if not, there is nothing to find in it.
    serde_json::to_string(policy.spec()).is_ok_and(|text| text.contains("{{hub"))
}

/// Whether templates in the policy are resolved.
pub fn templating<P: Resource>(policy: &P) -> Templating {
    let annotations = policy.meta().annotations.as_ref();
    let disabled = annotations
        .and_then(|annotations| annotations.get(DISABLE_TEMPLATES_ANNOTATION))
        .and_then(|text| parse_bool(text));
    if disabled == Some(true) {
        Templating::Off
    } else {
        Templating::On
    }
}

#[cfg(test)]
mod tests;
