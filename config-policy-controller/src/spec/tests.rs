//! What policies ask for, and what they may not ask for yet.
// The `json!` of a case stands in the call, where it is read.
#![allow(clippy::needless_pass_by_value)]

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

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
    let problem = match read(policy, HubTemplates::Unavailable) {
        Plan::Refused(problem) => problem,
        Plan::Templates(mut templates) => templates.pop().unwrap().unwrap_err(),
        Plan::Nothing => panic!("nothing is wrong"),
    };
    format!(
        "{} | {}",
        messages::condition_reason(&problem.event.reason),
        problem.event.message
    )
}

#[test]
fn a_template_is_read_with_its_names_trimmed() {
    let policy = with_template(json!({
        "complianceType": "MustOnlyHave", "metadataComplianceType": "musthave", "recreateOption": "IfRequired",
        "objectDefinition": {"apiVersion": "apps/v1", "kind": "Deployment\n", "metadata": {"name": "d\n", "namespace": "n"}},
    }));
    let Plan::Templates(templates) = read(&policy, HubTemplates::Unavailable) else {
        panic!()
    };
    let wanted = templates[0].as_ref().unwrap();
    assert_eq!(
        (
            wanted.kind.group.as_str(),
            wanted.kind.version.as_str(),
            wanted.kind.kind.as_str()
        ),
        ("apps", "v1", "Deployment")
    );
    assert_eq!(
        (wanted.name.as_str(), wanted.namespace.as_deref()),
        ("d", Some("n"))
    );
    assert_eq!(wanted.definition["metadata"]["name"], "d");
    assert_eq!(wanted.compliance, ComplianceType::MustOnlyHave);
    assert_eq!(wanted.metadata_compliance, Some(ComplianceType::MustHave));
    assert_eq!(wanted.recreate, Recreate::IfRequired);
}

#[rstest]
#[case::no_action(policy(json!({"remediationAction": "", "object-templates": []})), "Invalid spec | Policy does not have a RemediationAction specified")]
#[case::no_kind(with_definition(json!({"apiVersion": "v1"})), "K8s decode object definition error | The kind and apiVersion fields are required on the object template at index 0 in policy p")]
#[case::no_version(with_definition(json!({"kind": "Pod", "metadata": {"name": "x"}})), "K8s decode object definition error | The kind and apiVersion fields are required on the object template at index 0 in policy p")]
#[case::namespace_is_no_text(with_definition(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": 1}})), "K8s decode object definition error | Error parsing the namespace from the object definition")]
#[case::no_object(with_definition(json!("x")), "K8s decode object definition error | Error parsing the namespace from the object definition")]
#[case::templates(with_definition(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "{{ .x }}"}})), "Unsupported feature | The object template at index [0] contains Go templates or encrypted values, which are not supported by this release")]
#[case::encrypted(with_definition(json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "$ocm_encrypted:YQ=="}})), "Unsupported feature | The object template at index [0] contains Go templates or encrypted values, which are not supported by this release")]
#[case::selector(with_template(json!({"complianceType": "musthave", "objectSelector": {}, "objectDefinition": {"apiVersion": "v1", "kind": "Pod"}})), "Unsupported feature | The object template at index [0] has an objectSelector, which is not supported by this release")]
#[case::raw(policy(json!({"remediationAction": "inform", "object-templates-raw": "[]"})), "Error processing template | object-templates-raw is not supported by this release")]
#[case::hub_template(with_definition(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "{{hub .x hub}}"}})), "Hub template resolution failure | the governance-standalone-hub-templating addon must be enabled to resolve hub templates on the managed cluster")]
#[case::compliance_type(with_template(json!({"complianceType": "maybe", "objectDefinition": {"apiVersion": "v1", "kind": "Pod"}})), "K8s decode object definition error | The complianceType \"maybe\" of the object template at index [0] is not musthave, mustnothave or mustonlyhave")]
fn refusals(#[case] policy: ConfigurationPolicy, #[case] expected: &str) {
    assert_eq!(refusal(&policy), expected);
}

#[test]
fn a_selector_beside_a_name_is_ignored() {
    let policy = with_template(json!({
        "complianceType": "musthave", "objectSelector": {},
        "objectDefinition": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
    }));
    let Plan::Templates(templates) = read(&policy, HubTemplates::Unavailable) else {
        panic!()
    };
    assert!(templates[0].is_ok());
}

#[test]
fn with_templates_disabled_braces_are_plain_text() {
    let mut policy = with_definition(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "{{ .b }}"},
    }));
    let annotations = policy.metadata.annotations.get_or_insert_default();
    annotations.insert(DISABLE_TEMPLATES_ANNOTATION.to_owned(), "true".to_owned());
    let Plan::Templates(templates) = read(&policy, HubTemplates::Unavailable) else {
        panic!()
    };
    assert_eq!(
        templates[0].as_ref().unwrap().definition["data"]["a"],
        "{{ .b }}"
    );
    let raw = policy_without_templates(policy);
    assert_eq!(read(&raw, HubTemplates::Unavailable), Plan::Nothing);
}

fn policy_without_templates(mut policy: ConfigurationPolicy) -> ConfigurationPolicy {
    policy.spec.object_templates = None;
    policy.spec.object_templates_raw = Some("{{ x }}".to_owned());
    policy
}

#[test]
fn one_bad_template_does_not_spoil_the_others() {
    let policy = policy(json!({"remediationAction": "inform", "object-templates": [
        {"complianceType": "musthave", "objectDefinition": {"kind": "Pod"}},
        {"complianceType": "musthave", "objectDefinition": {"apiVersion": "v1", "kind": "Pod"}},
    ]}));
    let Plan::Templates(templates) = read(&policy, HubTemplates::Unavailable) else {
        panic!()
    };
    assert!(templates[0].is_err() && templates[1].is_ok());
}

#[test]
fn a_policy_that_asks_for_nothing() {
    let policy = policy(json!({"remediationAction": "inform", "object-templates": []}));
    assert_eq!(read(&policy, HubTemplates::Unavailable), Plan::Nothing);
}

#[test]
fn only_a_wish_to_delete_objects_is_a_wish_for_pruning() {
    let mut policy = ConfigurationPolicy::default();
    let mut wish = |word: Option<&str>| {
        policy.spec.prune_object_behavior = word.map(str::to_owned);
        wants_pruning(&policy).map(str::to_owned)
    };
    assert_eq!(wish(None), None);
    assert_eq!(wish(Some("None")), None);
    assert_eq!(wish(Some("DeleteAll")).as_deref(), Some("DeleteAll"));
}
