//! Reads a policy's spec into what there is to evaluate. Pure.

use kube::core::GroupVersionKind;
use reeve_api::configuration_policy::{ConfigurationPolicy, NamespaceSelector, ObjectTemplate};
use reeve_api::names::{DISABLE_TEMPLATES_ANNOTATION, parse_go_bool};
use reeve_api::{RemediationAction, names};
use reeve_runtime::object::ObjectKey;
use serde_json::{Map, Value};

use crate::compare::{ComplianceType, Desired};
use crate::diff::{Origin, RecordDiff};
use crate::messages;
use crate::report::{Event, Place};
use crate::templates::TemplateError;
use reeve_template_reads::Secrets;

/// What a policy asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// These object templates; none is a policy that asks for nothing.
    Templates(Vec<ObjectTemplate>),
    /// The object templates that this text comes to.
    Raw(String),
    /// The policy as a whole cannot be evaluated.
    Refused(Problem),
}

/// One object that is wanted, or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The position of its template in the policy, from 0.
    pub index: usize,
    /// The object as the policy describes it, all templates resolved, with name and kind trimmed.
    pub definition: Map<String, Value>,
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its name, empty if any object that fits the description will do, and its namespace, empty for a kind
    /// without.
    pub place: Place,
    /// How the description is meant.
    pub compliance: ComplianceType,
    /// How its labels and annotations are meant, if differently.
    pub metadata_compliance: Option<ComplianceType>,
    /// What to do if the object cannot be updated.
    pub recreate: Recreate,
    /// What becomes of differences.
    pub record_diff: RecordDiff,
    /// Whether values of the description may be shown.
    pub origin: Origin,
    /// Those that must not be, for texts that the API server makes of them.
    pub secrets: Secrets,
    /// Identifies what is wanted of the object.
    pub digest: [u8; 32],
}

impl Wanted {
    /// What is compared with live objects.
    #[must_use]
    pub fn desired(&self) -> Desired<'_> {
        Desired {
            definition: &self.definition,
            compliance: self.compliance,
            metadata_compliance: self.metadata_compliance,
        }
    }
}

/// Whether an object is deleted and created in place of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recreate {
    /// The object is never recreated.
    Never,
    /// If the API server calls the update invalid.
    IfRequired,
    /// For every change.
    Always,
}

/// Why a template or a policy cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What the status says.
    pub event: Event,
    /// Whether it is worth another try without an edit of the policy.
    pub retry: Retry,
}

impl From<TemplateError> for Problem {
    fn from(error: TemplateError) -> Self {
        let (reason, message) = (messages::TEMPLATE_ERROR, error.to_string());
        match error {
            // Only an edit of the policy changes its annotation.
            TemplateError::Vector => Self::of_policy(reason, message),
            _ => Self::passing(reason, message),
        }
    }
}

/// Whether and when something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Only an edit of the policy helps, or a change of something that is watched.
    No,
    /// Soon, later and later.
    Soon,
    /// When the kind may be there.
    WhenKindAppears,
}

impl Problem {
    /// A problem that is tried again.
    #[must_use]
    pub fn passing(reason: &str, message: String) -> Self {
        Self {
            event: Event::problem(reason, message),
            retry: Retry::Soon,
        }
    }

    /// A problem that only an edit of the policy solves.
    #[must_use]
    pub fn of_policy(reason: &str, message: String) -> Self {
        Self {
            event: Event::problem(reason, message),
            retry: Retry::No,
        }
    }
}

/// Whether templates in the policy are resolved, or taken as plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Templating {
    /// They are resolved.
    On,
    /// They are plain text.
    Off,
}

/// Reads the policy.
#[must_use]
pub fn read(policy: &ConfigurationPolicy) -> Plan {
    let spec = &policy.spec;
    if spec.remediation_action.is_empty() {
        return Plan::Refused(Problem::of_policy(
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
            return Plan::Templates(Vec::new());
        }
        return Plan::Raw(text.clone());
    }
    Plan::Templates(spec.object_templates.clone().unwrap_or_default())
}

/// What may be done to the cluster. An unknown word is read as "only look".
#[must_use]
pub fn mode(policy: &ConfigurationPolicy) -> RemediationAction {
    policy
        .spec
        .remediation()
        .unwrap_or(RemediationAction::Inform)
}

/// The policy's namespace selector, if it could choose anything.
#[must_use]
pub fn selector(policy: &ConfigurationPolicy) -> Option<&NamespaceSelector> {
    let selector = policy.spec.namespace_selector.as_ref();
    selector.filter(|selector| selects_namespaces(selector))
}

/// Whether the selector chooses anything at all: exclusion alone does not.
#[must_use]
pub fn selects_namespaces(selector: &NamespaceSelector) -> bool {
    selector.match_labels.is_some()
        || selector.match_expressions.is_some()
        || selector
            .include
            .as_ref()
            .is_some_and(|include| !include.is_empty())
}

/// Whether there are templates about the hub in the policy.
#[must_use]
pub fn mentions_the_hub(policy: &ConfigurationPolicy) -> bool {
    // A spec that was read from JSON can be written as JSON; if not, there is nothing to find in it.
    serde_json::to_string(&policy.spec).is_ok_and(|text| text.contains("{{hub"))
}

/// Whether templates in the policy are resolved.
#[must_use]
pub fn templating(policy: &ConfigurationPolicy) -> Templating {
    let annotations = policy.metadata.annotations.as_ref();
    let disabled = annotations
        .and_then(|annotations| annotations.get(DISABLE_TEMPLATES_ANNOTATION))
        .and_then(|text| parse_go_bool(text));
    if disabled == Some(true) {
        Templating::Off
    } else {
        Templating::On
    }
}

/// The label by which the parent policy is known; empty for a policy that stands alone.
#[must_use]
pub fn parent(policy: &ConfigurationPolicy) -> String {
    let labels = policy.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(names::PARENT_POLICY_LABEL))
        .cloned()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
