use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ApiResource;
use reeve_api::names::{PARENT_POLICY_LABEL, split_api_version};
use reeve_api::policy::PolicyTemplate;
use reeve_runtime::discovery::ServedKind;
use rstest::rstest;
use serde_json::{Value, json};

use super::error::{RejectionKind, TemplateError};
use super::plan::{self, GroupKind, Parent, ParsedTemplate, PolicyTemplates};
use super::publish::has_compliance;
use super::*;
use crate::reporter::Finding;

pub(super) fn parent() -> Parent {
    Parent {
        name: "ns1.pol".to_owned(),
        namespace: "c1".to_owned(),
        uid: "uid-1".to_owned(),
        cluster: "c1".to_owned(),
        remediation: Some("enforce".to_owned()),
    }
}

pub(super) fn parsed(definition: &Value) -> ParsedTemplate {
    let template = PolicyTemplate {
        object_definition: definition.clone(),
        ..PolicyTemplate::default()
    };
    let spec = PolicySpec {
        policy_templates: vec![template],
        ..PolicySpec::default()
    };
    plan::read(&spec, "c1").parsed.remove(0)
}

pub(super) fn served(api_version: &str, kind: &str, namespaced: bool) -> ServedKind {
    let (group, version) = split_api_version(api_version);
    ServedKind {
        resource: ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        },
        namespaced,
        watchable: true,
    }
}

#[test]
fn pending_findings_have_the_texts_of_the_history() {
    let unmet = ["K a".to_owned()];
    let pending = Finding::pending(&unmet, false).message();
    insta::assert_snapshot!(pending, @"Pending; Dependencies were not satisfied: 1 is still pending (K a)");
    let ignored = Finding::pending(&unmet, true).message();
    insta::assert_snapshot!(ignored, @"Compliant; Dependencies were not satisfied: 1 is still pending (K a) but ignorePending is true");
}

#[rstest]
#[case(json!({}), false)]
#[case(json!({"status": {}}), false)]
#[case(json!({"status": {"compliant": ""}}), false)]
#[case(json!({"status": {"compliant": "Compliant"}}), true)]
fn compliance_is_cleared_only_if_set(#[case] object: Value, #[case] expected: bool) {
    assert_eq!(has_compliance(&object), expected);
}

#[rstest]
#[case(TemplateError::DuplicateNames, ErrorClass::User("format-error"), false)]
#[case(TemplateError::ConflictingDependency("d".into()), ErrorClass::User("dependency-error"), false)]
#[case(TemplateError::Create("x".into(), RejectionKind::Invalid), ErrorClass::User("format-error"), false)]
#[case(TemplateError::Create("x".into(), RejectionKind::Other), ErrorClass::System("create-error"), true)]
#[case(TemplateError::Update("t".into(), "x".into(), RejectionKind::Invalid), ErrorClass::User("format-error"), false)]
#[case(TemplateError::Update("t".into(), "x".into(), RejectionKind::Other), ErrorClass::System("patch-error"), true)]
#[case(TemplateError::Get("x".into()), ErrorClass::System("get-error"), true)]
fn error_has_a_class_and_may_be_retriable(
    #[case] error: TemplateError,
    #[case] error_class: ErrorClass,
    #[case] is_retriable: bool,
) {
    assert_eq!(
        (error.error_class(), error.is_retriable()),
        (error_class, is_retriable)
    );
}

fn ready(namespaced: bool) -> TemplateObservation {
    TemplateObservation::Ready(Box::new(decide::ObservedObject {
        kind: served("a/v1", "K", namespaced),
        dependency_state: decide::DependencyState::default(),
        live: decide::LiveObject::Absent,
    }))
}

fn labelled(namespaced: bool) -> LabelledObject {
    let kind = served("a/v1", "K", namespaced);
    let object = kube::api::DynamicObject::new("n", &kind.resource);
    LabelledObject { kind, object }
}

#[rstest]
#[case::no_templates(vec![], vec![], true)]
#[case::namespaced(vec![ready(true), TemplateObservation::Unmapped("x".into())], vec![labelled(true)], true)]
#[case::cluster_scoped(vec![ready(true), ready(false)], vec![], false)]
#[case::unsupported(vec![TemplateObservation::Unsupported], vec![], false)]
#[case::left_over(vec![ready(true)], vec![labelled(false)], false)]
fn fwk_119_finalizer_is_removed_only_without_cluster_scoped_objects(
    #[case] observations: Vec<TemplateObservation>,
    #[case] labelled: Vec<LabelledObject>,
    #[case] expected: bool,
) {
    let observed = Observed {
        observations: observations.into_iter().map(Ok).collect(),
        labelled: labelled.into_iter().map(Ok).collect(),
        requeue: Action::AwaitChange,
    };
    assert_eq!(
        may_remove_finalizer(&PolicyTemplates::default(), &observed),
        expected
    );
}

/// How many of two objects `n` of the kind `K`, one of them another policy's, are stale for a policy with one template.
fn count_stale(kind: &str, name: &str, is_applied: bool) -> usize {
    let mut old = labelled(true);
    old.object.metadata.labels =
        Some([(PARENT_POLICY_LABEL.to_owned(), "ns1.pol".to_owned())].into());
    let mut foreign = old.clone();
    foreign.object.metadata.owner_references = Some(vec![OwnerReference::default()]);
    let template = GroupKind {
        group: "a".to_owned(),
        kind: kind.to_owned(),
    };
    let expected = [(name.to_owned(), template)].into();
    let applied = is_applied.then_some(name).into_iter().collect();
    let labelled = [&old, &foreign].into_iter();
    cleanup::stale_objects(&parent(), &expected, &applied, labelled).len()
}

#[rstest]
#[case::the_same("K", "n", true, 0)]
#[case::the_same_in_error("K", "n", false, 0)]
#[case::replaced("Other", "n", true, 1)]
#[case::another_name("K", "m", true, 1)]
#[case::another_name_in_error("K", "m", false, 1)]
fn fwk_114_object_of_the_former_kind_is_stale_once_its_successor_is_applied(
    #[case] kind: &str,
    #[case] name: &str,
    #[case] is_applied: bool,
    #[case] expected: usize,
) {
    assert_eq!(
        count_stale(kind, name, is_applied),
        expected,
        "never an object without proof of ownership"
    );
}

#[test]
fn fwk_115_object_is_kept_when_the_kind_of_its_template_becomes_unknown() {
    assert_eq!(count_stale("Typo", "n", false), 0);
}

#[test]
fn fwk_115_object_is_kept_when_the_dependencies_of_its_template_conflict() {
    let dependency = |compliance: &str| json!({"apiVersion": "v1", "kind": "K", "name": "n", "compliance": compliance});
    let spec = json!({
        "disabled": false,
        "dependencies": [dependency("Compliant")],
        "policy-templates": [{
            "objectDefinition": {"apiVersion": "a/v1", "kind": "Other", "metadata": {"name": "n"}},
            "extraDependencies": [dependency("Pending")],
        }],
    });
    let plan = plan::read(&serde_json::from_value(spec).unwrap(), "c1");
    assert!(plan.parsed.is_empty());
    assert!(plan.expected.unwrap().contains_key("n"));
}
