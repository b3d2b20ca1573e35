//! Reads a policy's spec into what there is to evaluate. Pure.

use kube::core::GroupVersionKind;
use reeve_api::configuration_policy::{ConfigurationPolicy, NamespaceSelector, ObjectTemplate};
use reeve_api::names::{DISABLE_TEMPLATES_ANNOTATION, parse_go_bool, split_api_version};
use reeve_api::{RemediationAction, names};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::compare::ComplianceType;
use crate::diff::{Origin, RecordDiff, resolve};
use crate::messages;
use crate::report::Event;

/// What a policy asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// These templates, each on its own: one that cannot be evaluated does not stop the others.
    Templates(Vec<Result<Wanted, Problem>>),
    /// Nothing; such a policy complies.
    Nothing,
    /// The policy as a whole cannot be evaluated.
    Refused(Problem),
}

/// One object that is wanted, or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The position of its template in the policy, from 0.
    pub index: usize,
    /// The object as the policy describes it, with name and kind trimmed.
    pub definition: Map<String, Value>,
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its name; empty if any object that fits the description will do.
    pub name: String,
    /// The namespace the description names.
    pub namespace: Option<String>,
    /// How the description is meant.
    pub compliance: ComplianceType,
    /// How its labels and annotations are meant, if differently.
    pub metadata_compliance: Option<ComplianceType>,
    /// What to do if the object cannot be updated.
    pub recreate: Recreate,
    /// What becomes of differences.
    pub record_diff: RecordDiff,
    /// Identifies the template's content.
    pub digest: [u8; 32],
}

/// Whether an object is deleted and created in place of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recreate {
    /// Never.
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
    /// Whether the policy itself is at fault, so that only an edit helps.
    pub users_fault: bool,
}

impl Problem {
    /// A problem that only an edit of the policy solves.
    #[must_use]
    pub fn of_policy(reason: &str, message: String) -> Self {
        Self {
            event: Event::problem(reason, message),
            users_fault: true,
        }
    }
}

/// Which parts of the controller's surroundings a spec may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubTemplates {
    /// There is no connection to a hub.
    Unavailable,
    /// A hub is configured.
    Configured,
}

/// Whether templates in the policy are resolved, or taken as plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Templating {
    On,
    Off,
}

/// Reads the policy.
#[must_use]
pub fn read(policy: &ConfigurationPolicy, hub: HubTemplates) -> Plan {
    let spec = &policy.spec;
    let name = policy.metadata.name.as_deref().unwrap_or_default();
    let templating = templating(policy);
    if templating == Templating::On && mentions_hub_template(policy) {
        return Plan::Refused(Problem::of_policy(
            messages::HUB_TEMPLATE_FAILURE,
            match hub {
                HubTemplates::Unavailable => messages::HUB_TEMPLATES_NEED_ADDON.to_owned(),
                HubTemplates::Configured => messages::HUB_TEMPLATES_UNSUPPORTED.to_owned(),
            },
        ));
    }
    if spec.remediation_action.is_empty() {
        return Plan::Refused(Problem::of_policy(
            messages::INVALID_SPEC,
            messages::NO_REMEDIATION_ACTION.to_owned(),
        ));
    }
    if spec.object_templates_raw.is_some() && templating == Templating::On {
        return Plan::Refused(Problem::of_policy(
            messages::TEMPLATE_ERROR,
            messages::RAW_UNSUPPORTED.to_owned(),
        ));
    }
    let templates = spec.object_templates.as_deref().unwrap_or_default();
    if templates.is_empty() {
        return Plan::Nothing;
    }
    let read = |(index, template)| read_template(name, index, template, templating);
    Plan::Templates(templates.iter().enumerate().map(read).collect())
}

/// What may be done to the cluster. An unknown word is read as "only look".
#[must_use]
pub fn mode(policy: &ConfigurationPolicy) -> RemediationAction {
    policy
        .spec
        .remediation()
        .unwrap_or(RemediationAction::Inform)
}

/// What is to become of the policy's objects when it is deleted, unless they are to be kept.
#[must_use]
pub fn wants_pruning(policy: &ConfigurationPolicy) -> Option<&str> {
    let behavior = policy.spec.prune_object_behavior.as_deref();
    behavior.filter(|behavior| !matches!(*behavior, "" | "None"))
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

fn templating(policy: &ConfigurationPolicy) -> Templating {
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

fn mentions_hub_template(policy: &ConfigurationPolicy) -> bool {
    // A spec that was read from JSON can be written as JSON; if not, there is nothing to find in it.
    serde_json::to_string(&policy.spec).is_ok_and(|text| text.contains("{{hub"))
}

fn read_template(
    policy: &str,
    index: usize,
    template: &ObjectTemplate,
    templating: Templating,
) -> Result<Wanted, Problem> {
    let undecodable = || {
        Problem::of_policy(
            messages::DECODE_ERROR,
            messages::NAMESPACE_UNREADABLE.to_owned(),
        )
    };
    let mut definition = template
        .object_definition
        .as_object()
        .ok_or_else(undecodable)?
        .clone();
    let identity = Identity::of(&definition).ok_or_else(undecodable)?;
    if templating == Templating::On && is_templated(&template.object_definition.to_string()) {
        return Err(unsupported(messages::templates_unsupported(index)));
    }
    if identity.kind.kind.is_empty() || identity.kind.version.is_empty() {
        let message = messages::kind_and_version_required(index, policy);
        return Err(Problem::of_policy(messages::DECODE_ERROR, message));
    }
    let known = |name: String| {
        if is_templated(&name) {
            String::new()
        } else {
            name
        }
    };
    let (name, namespace) = (known(identity.name), known(identity.namespace));
    if name.is_empty() && template.object_selector.is_some() {
        return Err(unsupported(messages::selector_unsupported(index)));
    }
    trim(&mut definition);
    let compliance = compliance_type(index, &template.compliance_type)?;
    let metadata_compliance = template
        .metadata_compliance_type
        .as_deref()
        .filter(|word| !word.is_empty())
        .map(|word| compliance_type(index, word))
        .transpose()?;
    let record_diff = resolve(template.record_diff.as_deref(), &definition, Origin::Plain);
    Ok(Wanted {
        index,
        record_diff,
        kind: identity.kind,
        name,
        namespace: Some(namespace).filter(|namespace| !namespace.is_empty()),
        compliance,
        metadata_compliance,
        recreate: match template.recreate_option.as_deref() {
            Some("IfRequired") => Recreate::IfRequired,
            Some("Always") => Recreate::Always,
            _ => Recreate::Never,
        },
        digest: digest(template),
        definition,
    })
}

fn unsupported(message: String) -> Problem {
    Problem::of_policy(messages::UNSUPPORTED, message)
}

fn is_templated(text: &str) -> bool {
    text.contains("{{") || text.contains("$ocm_encrypted:")
}

fn compliance_type(index: usize, word: &str) -> Result<ComplianceType, Problem> {
    match word.to_ascii_lowercase().as_str() {
        "musthave" => Ok(ComplianceType::MustHave),
        "mustnothave" => Ok(ComplianceType::MustNotHave),
        "mustonlyhave" => Ok(ComplianceType::MustOnlyHave),
        _ => Err(Problem::of_policy(
            messages::DECODE_ERROR,
            messages::unknown_compliance_type(index, word),
        )),
    }
}

fn digest(template: &ObjectTemplate) -> [u8; 32] {
    let text = serde_json::to_vec(template).unwrap_or_default();
    Sha256::digest(text).into()
}

/// Which object a definition is about.
struct Identity {
    kind: GroupVersionKind,
    name: String,
    namespace: String,
}

impl Identity {
    /// `None` if a field that should be text is something else.
    fn of(definition: &Map<String, Value>) -> Option<Self> {
        let text = |value: Option<&Value>| match value {
            None | Some(Value::Null) => Some(String::new()),
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(_) => None,
        };
        let metadata = match definition.get("metadata") {
            None | Some(Value::Null) => &Map::new(),
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return None,
        };
        let api_version = text(definition.get("apiVersion"))?;
        let (group, version) = split_api_version(&api_version);
        Some(Self {
            kind: GroupVersionKind::gvk(group, version, &text(definition.get("kind"))?),
            name: text(metadata.get("name"))?,
            namespace: text(metadata.get("namespace"))?,
        })
    }
}

/// Names and kinds often come from block scalars, with a line break at their end.
fn trim(definition: &mut Map<String, Value>) {
    let trimmed = |value: &mut Value| {
        if let Value::String(text) = value {
            *value = Value::String(text.trim().to_owned());
        }
    };
    definition.get_mut("kind").map(trimmed);
    if let Some(Value::Object(metadata)) = definition.get_mut("metadata") {
        metadata.get_mut("name").map(trimmed);
        metadata.get_mut("namespace").map(trimmed);
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
