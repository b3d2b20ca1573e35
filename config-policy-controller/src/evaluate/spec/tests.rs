//! Reading specs and object templates, and the errors of invalid ones.
// The `json!` of a case stands in the call, where it is read.
#![allow(clippy::needless_pass_by_value)]

use std::sync::LazyLock;

use rstest::rstest;
use serde_json::{Value, json};

use reeve_runtime::secrets::Secrets;

use super::*;
use crate::dryrun::{Offline, Options, builtin, evaluate};
use crate::evaluate::compare::ComplianceType;
use crate::evaluate::desired::ParsedTemplate;
use crate::evaluate::desired::Recreate;
use crate::evaluate::diff::Sensitivity;

fn policy(spec: Value) -> ConfigurationPolicy {
    serde_json::from_value(json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": {"name": "p", "namespace": "managed"}, "spec": spec,
    }))
    .unwrap()
}

fn with_template(template: Value) -> ConfigurationPolicy {
    policy(json!({"remediationAction": "inform", "object-templates": [template]}))
}

fn with_definition(definition: Value) -> ConfigurationPolicy {
    with_template(json!({"complianceType": "musthave", "objectDefinition": definition}))
}

/// `reason | message` of the only thing that is wrong.
fn refusal(policy: &ConfigurationPolicy) -> String {
    let objects = Offline::new(builtin(), []).unwrap();
    let report = evaluate(policy, &objects, &Options::default());
    let details = report.status.compliancy_details.unwrap();
    let condition = &details[0].conditions.as_ref().unwrap()[0];
    format!(
        "{} | {}",
        condition.reason.as_deref().unwrap_or_default(),
        condition.message.as_deref().unwrap_or_default()
    )
}

static NONE: LazyLock<Secrets> = LazyLock::new(Secrets::default);

fn parsed(policy: &ConfigurationPolicy) -> Vec<Result<ParsedTemplate<'_>, EvaluationError>> {
    let templates = policy.spec.object_templates.as_deref().unwrap_or_default();
    let how = (templating(policy), Sensitivity::Plain, &*NONE);
    let read = |template| ParsedTemplate::read("p", template, how);
    templates.iter().enumerate().map(read).collect()
}

#[test]
fn template_names_are_trimmed() {
    let policy = with_template(json!({
        "complianceType": "MustOnlyHave", "metadataComplianceType": "musthave", "recreateOption": "IfRequired",
        "objectDefinition": {"apiVersion": "apps/v1", "kind": "Deployment\n", "metadata": {"name": "d\n", "namespace": "n"}},
    }));
    let parsed = parsed(&policy).remove(0).unwrap();
    let kind = &parsed.kind;
    assert_eq!(
        (
            kind.group.as_str(),
            kind.version.as_str(),
            kind.kind.as_str()
        ),
        ("apps", "v1", "Deployment")
    );
    assert_eq!(
        (parsed.name.as_str(), parsed.namespace.as_str()),
        ("d", "n")
    );
    assert_eq!(parsed.compliance, ComplianceType::MustOnlyHave);
    assert_eq!(parsed.metadata_compliance, Some(ComplianceType::MustHave));
    assert_eq!(parsed.recreate, Recreate::IfRequired);
}

#[rstest]
#[case::no_action(policy(json!({"remediationAction": "", "object-templates": []})), "Invalid spec | Policy does not have a RemediationAction specified")]
#[case::no_kind(with_definition(json!({"apiVersion": "v1"})), "K8s decode object definition error | The kind and apiVersion fields are required on the object template at index 0 in policy p")]
#[case::no_version(with_definition(json!({"kind": "Pod", "metadata": {"name": "x"}})), "K8s decode object definition error | The kind and apiVersion fields are required on the object template at index 0 in policy p")]
#[case::namespace_is_no_text(with_definition(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": 1}})), "K8s decode object definition error | Error parsing the namespace from the object definition")]
#[case::no_object(with_definition(json!("x")), "K8s decode object definition error | Error parsing the namespace from the object definition")]
#[case::hub_template(with_definition(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "{{hub .x hub}}"}})), "Hub template resolution failure | the governance-standalone-hub-templating addon must be enabled to resolve hub templates on the managed cluster")]
#[case::cfg_75_3_unknown_compliance_type(policy(json!({"remediationAction": "inform", "object-templates-raw": "- complianceType: maybe\n  objectDefinition: {apiVersion: v1, kind: Pod}"})), "Error processing template | The complianceType \"maybe\" of the object template at index [0] is not musthave, mustnothave or mustonlyhave")]
fn refusals(#[case] policy: ConfigurationPolicy, #[case] expected: &str) {
    assert_eq!(refusal(&policy), expected);
}

#[test]
fn selector_is_ignored_when_template_has_a_name() {
    let policy = with_template(json!({
        "complianceType": "musthave", "objectSelector": {},
        "objectDefinition": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
    }));
    assert_eq!(parsed(&policy).remove(0).unwrap().selector(), None);
}

#[test]
fn braces_are_plain_text_when_templates_are_disabled() {
    let mut policy = with_definition(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "{{ .b }}"},
    }));
    let annotations = policy.metadata.annotations.get_or_insert_default();
    annotations.insert(DISABLE_TEMPLATES_ANNOTATION.to_owned(), "true".to_owned());
    assert_eq!(parsed(&policy).remove(0).unwrap().uses, None);
    policy.spec.object_templates = None;
    policy.spec.object_templates_raw = Some("{{ x }}".to_owned());
    assert_eq!(
        object_templates(&policy),
        Ok(TemplateSource::List(Vec::new()))
    );
}

#[test]
fn invalid_template_does_not_affect_the_others() {
    let policy = policy(json!({"remediationAction": "inform", "object-templates": [
        {"complianceType": "musthave", "objectDefinition": {"kind": "Pod"}},
        {"complianceType": "musthave", "objectDefinition": {"apiVersion": "v1", "kind": "Pod"}},
    ]}));
    let parsed = parsed(&policy);
    assert!(parsed[0].is_err() && parsed[1].is_ok());
}
