//! One object template of a policy, before templates in it are resolved. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::GroupVersionKind;
use reeve_api::configuration_policy::ObjectTemplate;
use reeve_runtime::discovery::group_version_kind;
use reeve_templates_engine::detect::{Encrypted, has_template};
use serde_json::{Map, Value};

use crate::evaluate::compare::ComplianceType;
use crate::evaluate::desired::Recreate;
use crate::evaluate::diff::Sensitivity;
use crate::evaluate::spec::{EvaluationError, Templating};
use crate::messages;
use reeve_runtime::secrets::Secrets;

/// One object template of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedTemplate<'a> {
    /// Its position in the policy, from 0.
    pub index: usize,
    /// The template in the spec.
    pub template: &'a ObjectTemplate,
    /// The object, or the part of it that matters.
    pub definition: &'a Map<String, Value>,
    pub kind: GroupVersionKind,
    /// Its name; empty if there is none, or if a template makes it.
    pub name: String,
    /// Its namespace; empty if there is none, or if a template makes it.
    pub namespace: String,
    /// A template makes the namespace.
    pub templated_namespace: bool,
    /// There is neither a name nor a template that makes one.
    pub nameless: bool,
    /// The compliance type.
    pub compliance: ComplianceType,
    /// The compliance type of labels and annotations, if it is another one.
    pub metadata_compliance: Option<ComplianceType>,
    /// What to do if the object cannot be updated.
    pub recreate: Recreate,
    /// Whether what the description is made of was sensitive.
    pub sensitivity: Sensitivity,
    /// The secret values that it is made of.
    pub secrets: &'a Secrets,
    /// The variables that templates in it use; `None` if there is nothing to resolve.
    pub uses: Option<Uses>,
}

/// Which variables the templates of a definition use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Three independent facts of a text; no two of them exclude each other.
#[allow(clippy::struct_excessive_bools)]
pub struct Uses {
    /// `.Object`
    pub object: bool,
    /// `.ObjectName`
    pub name: bool,
    /// `.ObjectNamespace`
    pub namespace: bool,
}

impl Uses {
    fn of(text: &str) -> Self {
        Self {
            object: mentions(text, ".Object"),
            name: mentions(text, ".ObjectName"),
            namespace: text.contains(".ObjectNamespace"),
        }
    }
}

/// Whether a field is mentioned that is not the start of a longer one.
fn mentions(text: &str, field: &str) -> bool {
    text.match_indices(field).any(|(at, found)| {
        let next = text
            .get(at + found.len()..)
            .and_then(|rest| rest.chars().next());
        next.is_some_and(|next| !(next.is_ascii_alphanumeric() || next == '_'))
    })
}

impl<'a> ParsedTemplate<'a> {
    /// Reads one object template.
    pub fn read(
        policy: &str,
        (index, template): (usize, &'a ObjectTemplate),
        (templating, sensitivity, secrets): (Templating, Sensitivity, &'a Secrets),
    ) -> Result<Self, EvaluationError> {
        let undecodable = || {
            EvaluationError::permanent(
                messages::DECODE_ERROR,
                messages::NAMESPACE_UNREADABLE.to_owned(),
            )
        };
        let definition = template
            .object_definition
            .as_object()
            .ok_or_else(undecodable)?;
        let identity = ObjectIdentity::of(definition).ok_or_else(undecodable)?;
        if identity.kind.kind.is_empty() || identity.kind.version.is_empty() {
            let message = messages::kind_and_version_required(index, policy);
            return Err(EvaluationError::permanent(messages::DECODE_ERROR, message));
        }
        let text = template.object_definition.to_string();
        let known = |name: String| {
            if is_templated(&name) {
                String::new()
            } else {
                name
            }
        };
        let metadata_compliance = template
            .metadata_compliance_type
            .as_deref()
            .filter(|word| !word.is_empty())
            .map(|word| compliance_type(index, word))
            .transpose()?;
        Ok(Self {
            index,
            template,
            definition,
            kind: identity.kind,
            templated_namespace: is_templated(&identity.namespace),
            nameless: identity.name.is_empty(),
            name: known(identity.name),
            namespace: known(identity.namespace),
            compliance: compliance_type(index, &template.compliance_type)?,
            metadata_compliance,
            recreate: match template.recreate_option.as_deref() {
                Some("IfRequired") => Recreate::IfRequired,
                Some("Always") => Recreate::Always,
                _ => Recreate::Never,
            },
            sensitivity,
            secrets,
            uses: (templating == Templating::On && is_templated(&text)).then(|| Uses::of(&text)),
        })
    }

    /// The selector that chooses objects: it counts only where no name does.
    pub fn selector(&self) -> Option<&'a LabelSelector> {
        let selector = self.template.object_selector.as_ref();
        selector.filter(|_| self.name.is_empty())
    }

    /// Whether templates use a variable.
    pub fn uses(&self, part: impl Fn(Uses) -> bool) -> bool {
        self.uses.is_some_and(part)
    }
}

/// Whether a text has something to resolve in it.
pub fn is_templated(text: &str) -> bool {
    has_template(text, "", Encrypted::Counts)
}

fn compliance_type(index: usize, word: &str) -> Result<ComplianceType, EvaluationError> {
    match word.to_ascii_lowercase().as_str() {
        "musthave" => Ok(ComplianceType::MustHave),
        "mustnothave" => Ok(ComplianceType::MustNotHave),
        "mustonlyhave" => Ok(ComplianceType::MustOnlyHave),
        _ => Err(EvaluationError::permanent(
            messages::TEMPLATE_ERROR,
            messages::unknown_compliance_type(index, word),
        )),
    }
}

/// Kind, name and namespace of a definition.
pub struct ObjectIdentity {
    pub kind: GroupVersionKind,
    pub name: String,
    pub namespace: String,
}

impl ObjectIdentity {
    /// `None` if a field that should be text is something else.
    pub fn of(definition: &Map<String, Value>) -> Option<Self> {
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
        Some(Self {
            kind: group_version_kind(&api_version, &text(definition.get("kind"))?),
            name: text(metadata.get("name"))?,
            namespace: text(metadata.get("namespace"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_distinguished_from_longer_names() {
        let uses = |text: &str| {
            let Uses {
                object,
                name,
                namespace,
            } = Uses::of(text);
            (object, name, namespace)
        };
        assert_eq!(uses("{{ .Object.metadata }}"), (true, false, false));
        assert_eq!(uses("{{ .ObjectName }}"), (false, true, false));
        assert_eq!(uses("{{ .ObjectNamespace }}"), (false, false, true));
        assert_eq!(uses("{{ empty .Object }}"), (true, false, false));
        assert_eq!(uses("{{ .ObjectNames }}"), (false, false, false));
    }
}
