//! Parses the templates of a policy from its spec. It reads nothing else.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::GroupVersionKind;
use reeve_api::names::{CLUSTER_NAME_LABEL, POLICY_API_VERSION};
use reeve_api::policy::{PolicySpec, PolicyTemplate};
use serde_json::Value;

use super::dependencies::{self, Dependencies};
use super::error::TemplateError;
use super::messages;
use crate::replica::Replica;
use crate::templates;

/// The policy that template objects belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Parent {
    /// Its name.
    pub name: String,
    /// Its namespace, which is also that of its objects.
    pub namespace: String,
    /// Its uid.
    pub uid: String,
    /// The managed cluster's name from the policy's label; may be empty.
    pub cluster: String,
    /// Its remediation action, in the user's spelling; `None` if it has none.
    pub remediation: Option<String>,
}

impl Parent {
    /// The fields of the policy in `namespace` that its objects depend on.
    pub fn of(policy: &Replica, spec: &PolicySpec, namespace: &str) -> Self {
        let given = spec.remediation_action.clone();
        Self {
            name: policy.name().to_owned(),
            namespace: namespace.to_owned(),
            uid: policy.uid().to_owned(),
            cluster: policy
                .labels()
                .remove(CLUSTER_NAME_LABEL)
                .unwrap_or_default(),
            remediation: given.filter(|action| !action.is_empty()),
        }
    }

    /// The reference by which Kubernetes deletes the objects with the policy.
    pub fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: POLICY_API_VERSION.to_owned(),
            kind: "Policy".to_owned(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}

/// A template that can be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedTemplate {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: GroupVersionKind,
    /// The object, as it is written.
    pub definition: Value,
    /// Its dependencies with the compliance that each must have.
    pub dependencies_by_object: Dependencies,
    /// Whether the policy is compliant while it waits for dependencies.
    pub ignores_pending: bool,
}

impl ParsedTemplate {
    /// Why the hub could not resolve the template, if it could not.
    pub fn hub_template_error(&self) -> Option<&str> {
        let annotations = self.definition.pointer("/metadata/annotations")?;
        let error = annotations.get(reeve_api::names::HUB_TEMPLATES_ERROR_ANNOTATION)?;
        error.as_str().filter(|error| !error.is_empty())
    }
}

/// A template with an error that does not depend on the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidTemplate {
    /// The name under which it is reported.
    pub template: String,
    /// The reference to its object, as far as it can be parsed.
    pub related: Option<ObjectReference>,
    /// The error.
    pub error: TemplateError,
}

/// The parsed templates of a policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyTemplates {
    /// The templates that can be applied.
    pub parsed: Vec<ParsedTemplate>,
    /// The other templates with their errors.
    pub invalid: Vec<InvalidTemplate>,
    /// Dependencies of the policy itself that conflict with earlier ones, and are ignored.
    pub conflicts: Vec<String>,
    /// Group and kind of every template, valid or not, by its name; `None` if a template lacks one of these, so that no object is
    /// stale.
    pub expected: Option<HashMap<String, GroupKind>>,
}

/// The group and the kind of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKind {
    /// The group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

impl PolicyTemplates {
    /// Whether a template is reported under this name.
    pub fn has(&self, name: &str) -> bool {
        self.parsed.iter().any(|parsed| parsed.name == name)
            || self.invalid.iter().any(|invalid| invalid.template == name)
    }
}

/// Reads a policy's spec. Objects go to `namespace`.
pub fn read(spec: &PolicySpec, namespace: &str) -> PolicyTemplates {
    let mut plan = PolicyTemplates {
        expected: Some(HashMap::new()),
        ..PolicyTemplates::default()
    };
    let mut shared = Dependencies::new();
    let of_policy = spec.dependencies.as_deref().unwrap_or_default();
    plan.conflicts = dependencies::add(&mut shared, of_policy, namespace);
    for (index, template) in spec.policy_templates.iter().enumerate() {
        read_template(&mut plan, index, template, &shared, namespace);
    }
    let duplicates = duplicates(&spec.policy_templates);
    if !duplicates.is_empty() {
        // Their reports could not be distinguished.
        plan.parsed.clear();
        plan.expected = None;
        let of_name = |name| duplicate(name, &spec.policy_templates);
        plan.invalid = duplicates.into_iter().map(of_name).collect();
    }
    plan
}

fn read_template(
    plan: &mut PolicyTemplates,
    index: usize,
    template: &PolicyTemplate,
    shared: &Dependencies,
    namespace: &str,
) {
    let definition = &template.object_definition;
    let related = related(definition);
    let mut report_error = |template: String, error: TemplateError| {
        plan.invalid.push(InvalidTemplate {
            template,
            related: related.clone(),
            error,
        });
    };
    let Some(identity) = templates::identify(definition) else {
        let reason = messages::kind_missing(&without_secrets(definition).to_string());
        report_error(
            templates::placeholder(index),
            TemplateError::Undecodable(reason),
        );
        plan.expected = None;
        return;
    };
    let Some(name) = identity.name else {
        report_error(
            templates::placeholder(index),
            TemplateError::Nameless(index),
        );
        plan.expected = None;
        return;
    };
    if let Some(expected) = &mut plan.expected {
        let kind = GroupKind {
            group: identity.kind.group.clone(),
            kind: identity.kind.kind.clone(),
        };
        expected.insert(name.clone(), kind);
    }
    let mut dependencies_by_object = shared.clone();
    let extra = template.extra_dependencies.as_deref().unwrap_or_default();
    let conflicts = dependencies::add(&mut dependencies_by_object, extra, namespace);
    if let Some(dependency) = conflicts.into_iter().next() {
        report_error(name, TemplateError::ConflictingDependency(dependency));
        return;
    }
    plan.parsed.push(ParsedTemplate {
        name,
        kind: identity.kind,
        definition: definition.clone(),
        dependencies_by_object,
        ignores_pending: template.ignore_pending.unwrap_or(false),
    });
}

/// A template without a kind for an error message: the values of Secrets in it, and of objects without a kind, are withheld.
fn without_secrets(definition: &Value) -> Value {
    let mut shown = definition.clone();
    withhold(&mut shown);
    shown
}

fn withhold(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let kind = fields.get("kind").and_then(Value::as_str);
            if kind.is_none_or(|kind| kind == "Secret") {
                for field in ["data", "stringData"] {
                    let values = fields.get_mut(field).and_then(Value::as_object_mut);
                    for (_, value) in values.into_iter().flatten() {
                        *value = Value::from(messages::WITHHELD);
                    }
                }
            }
            fields.values_mut().for_each(withhold);
        }
        Value::Array(items) => items.iter_mut().for_each(withhold),
        _ => {}
    }
}

/// The names that more than one template has, whatever their kinds: reports identify templates by name.
fn duplicates(templates: &[PolicyTemplate]) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for name in templates
        .iter()
        .filter_map(|template| template.text("/metadata/name"))
    {
        let times = seen.entry(name).or_default();
        *times = times.saturating_add(1);
    }
    let twice = seen
        .into_iter()
        .filter(|(name, times)| !name.is_empty() && *times > 1);
    twice.map(|(name, _)| name.to_owned()).collect()
}

/// The error about a name that several templates have; it refers to the first of them.
fn duplicate(template: String, templates: &[PolicyTemplate]) -> InvalidTemplate {
    let mut templates = templates.iter();
    let first = templates.find(|other| other.text("/metadata/name") == Some(template.as_str()));
    InvalidTemplate {
        related: first.and_then(|first| related(&first.object_definition)),
        template,
        error: TemplateError::DuplicateNames,
    }
}

/// A template as events refer to it.
pub fn related(definition: &Value) -> Option<ObjectReference> {
    let text = |pointer: &str| {
        let text = definition.pointer(pointer).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    Some(ObjectReference {
        kind: Some(text("/kind")?),
        api_version: text("/apiVersion"),
        name: text("/metadata/name"),
        namespace: text("/metadata/namespace"),
        uid: text("/metadata/uid"),
        ..ObjectReference::default()
    })
}

/// One template of a policy, for one reconcile.
#[derive(Clone, Copy)]
pub(super) struct TemplateWork<'a> {
    pub policy: &'a Replica,
    pub parent: &'a Parent,
    pub parsed: &'a ParsedTemplate,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(templates: &[Value]) -> PolicySpec {
        let templates: Vec<_> = templates
            .iter()
            .map(|definition| json!({"objectDefinition": definition}))
            .collect();
        serde_json::from_value(json!({"disabled": false, "policy-templates": templates})).unwrap()
    }

    fn of(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "policy.open-cluster-management.io/v1", "kind": kind, "metadata": {"name": name}})
    }

    fn invalid(plan: &PolicyTemplates) -> Vec<(String, String)> {
        let invalid = plan.invalid.iter();
        invalid
            .map(|c| (c.template.clone(), c.error.to_string()))
            .collect()
    }

    #[test]
    fn names_must_be_unique_across_kinds() {
        let kinds = ["ConfigurationPolicy", "ConstraintTemplate", "NoTea"];
        let same: Vec<_> = kinds.iter().map(|kind| of(kind, "t")).collect();
        let plan = read(&spec(&same), "c1");
        assert_eq!(
            invalid(&plan),
            [("t".to_owned(), messages::DUPLICATE_NAMES.to_owned())]
        );
        assert!(plan.parsed.is_empty() && plan.expected.is_none());
        let related = plan.invalid[0].related.as_ref().unwrap();
        assert_eq!(related.kind.as_deref(), Some("ConfigurationPolicy"));
        assert_eq!(related.name.as_deref(), Some("t"));
        let plan = read(&spec(&same[..1]), "c1");
        assert_eq!((plan.parsed.len(), plan.invalid.len()), (1, 0));
    }

    #[test]
    fn fwk_58_errors_are_reported_under_the_name_in_the_status() {
        let mut conflicting = spec(&[of("A", "t")]);
        let dependency = |compliance: &str| json!({"apiVersion": "v1", "kind": "K", "name": "n", "compliance": compliance});
        conflicting.dependencies =
            serde_json::from_value(json!([dependency("Compliant")])).unwrap();
        conflicting.policy_templates[0].extra_dependencies =
            serde_json::from_value(json!([dependency("Pending")])).unwrap();
        let plan = read(&conflicting, "c1");
        assert_eq!(plan.invalid[0].template, "t");
        let plan = read(&spec(&[of("A", "t"), of("A", "")]), "c1");
        assert_eq!(plan.invalid[0].template, "template-1");
    }

    #[test]
    fn fwk_115_no_object_is_stale_while_a_template_has_no_kind() {
        let plan = read(
            &spec(&[of("A", "t"), json!({"metadata": {"name": "u"}})]),
            "c1",
        );
        assert_eq!(plan.expected, None);
        assert_eq!(plan.parsed.len(), 1, "the others are applied");
        let text = r#"Failed to decode policy template with err: Object 'Kind' is missing in '{"metadata":{"name":"u"}}'"#;
        assert_eq!(invalid(&plan), [("template-1".to_owned(), text.to_owned())]);
    }

    #[test]
    fn error_withholds_values_of_secrets() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"b": "aGlkZGVu"}});
        let template = json!({"apiVersion": "v1", "metadata": {"name": "s"}, "stringData": {"a": "hidden"},
            "spec": {"object-templates": [{"objectDefinition": secret}], "data": {"kind": "ConfigMap", "data": {"c": "shown"}}}});
        let plan = read(&spec(&[template]), "c1");
        let text = plan.invalid[0].error.to_string();
        assert!(
            !text.contains("hidden") && !text.contains("aGlkZGVu"),
            "{text}"
        );
        assert!(text.contains(r#"{"a":"(withheld)"}"#), "{text}");
    }

    #[test]
    fn fwk_77_list_is_a_template_without_a_name() {
        let list = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "items": []});
        let plan = read(&spec(&[list]), "c1");
        assert_eq!(plan.invalid[0].error, TemplateError::Nameless(0));
    }

    #[test]
    fn conflicting_dependencies_of_the_policy_itself_are_ignored() {
        let dependency = |compliance: &str| json!({"apiVersion": "v1", "kind": "K", "name": "n", "compliance": compliance});
        let mut spec = spec(&[of("A", "t")]);
        spec.dependencies =
            serde_json::from_value(json!([dependency("Compliant"), dependency("Pending")]))
                .unwrap();
        let plan = read(&spec, "c1");
        assert_eq!(plan.conflicts, ["n"]);
        assert_eq!(plan.parsed.len(), 1);
    }
}
