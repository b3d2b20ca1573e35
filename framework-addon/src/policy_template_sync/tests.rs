use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ApiResource;
use reeve_api::names::{PARENT_POLICY_LABEL, split_api_version};
use reeve_api::policy::PolicyTemplate;
use reeve_runtime::discovery::ServedKind;
use rstest::rstest;
use serde_json::{Value, json};

use super::error::{TemplateError, Verdict};
use super::plan::{self, Asked, GroupKind, Parent, Plan};
use super::publish::has_answered;
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

pub(super) fn asked(definition: &Value) -> Asked {
    let template = PolicyTemplate {
        object_definition: definition.clone(),
        ..PolicyTemplate::default()
    };
    let spec = PolicySpec {
        policy_templates: vec![template],
        ..PolicySpec::default()
    };
    plan::read(&spec, "c1").asked.remove(0)
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
fn reports_read_as_the_history_has_them() {
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
fn only_an_object_that_has_answered_is_asked_again(#[case] object: Value, #[case] expected: bool) {
    assert_eq!(has_answered(&object), expected);
}

#[rstest]
#[case(TemplateError::DuplicateNames, Blame::User("format-error"), false)]
#[case(TemplateError::ConflictingDependency("d".into()), Blame::User("dependency-error"), false)]
#[case(TemplateError::Create("x".into(), Verdict::Invalid), Blame::User("format-error"), false)]
#[case(TemplateError::Create("x".into(), Verdict::Other), Blame::System("create-error"), true)]
#[case(TemplateError::Update("t".into(), "x".into(), Verdict::Invalid), Blame::User("format-error"), false)]
#[case(TemplateError::Update("t".into(), "x".into(), Verdict::Other), Blame::System("patch-error"), true)]
#[case(TemplateError::Get("x".into()), Blame::System("get-error"), true)]
fn whose_fault_it_is(
    #[case] error: TemplateError,
    #[case] blame: Blame,
    #[case] is_worth_retrying: bool,
) {
    assert_eq!(
        (error.blame(), error.is_worth_retrying()),
        (blame, is_worth_retrying)
    );
}

fn ready(namespaced: bool) -> Sight {
    Sight::Ready(decide::Ready {
        kind: served("a/v1", "K", namespaced),
        waits: decide::Waits::default(),
        live: decide::Live::Absent,
    })
}

fn own(namespaced: bool) -> Own {
    let kind = served("a/v1", "K", namespaced);
    let object = kube::api::DynamicObject::new("n", &kind.resource);
    Own { kind, object }
}

#[rstest]
#[case::no_templates(vec![], vec![], true)]
#[case::namespaced(vec![ready(true), Sight::Unmapped("x".into())], vec![own(true)], true)]
#[case::cluster_scoped(vec![ready(true), ready(false)], vec![], false)]
#[case::unsupported(vec![Sight::Unsupported], vec![], false)]
#[case::left_over(vec![ready(true)], vec![own(false)], false)]
fn rough_edge_5_the_finalizer_goes_only_when_nothing_can_be_left(
    #[case] sights: Vec<Sight>,
    #[case] own: Vec<Own>,
    #[case] expected: bool,
) {
    let observed = Observed {
        sights: sights.into_iter().map(Ok).collect(),
        own: own.into_iter().map(Ok).collect(),
        again: Action::AwaitChange,
    };
    assert_eq!(may_let_go(&Plan::default(), &observed), expected);
}

/// How many of two objects `n` of the kind `K`, one of them another policy's, are superfluous to a policy with one template.
fn superfluous_to(kind: &str, name: &str, is_applied: bool) -> usize {
    let mut old = own(true);
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
    let own = [&old, &foreign].into_iter();
    cleanup::superfluous(&parent(), &expected, &applied, own).len()
}

#[rstest]
#[case::the_same("K", "n", true, 0)]
#[case::the_same_in_error("K", "n", false, 0)]
#[case::replaced("Other", "n", true, 1)]
#[case::another_name("K", "m", true, 1)]
#[case::another_name_in_error("K", "m", false, 1)]
fn rough_edge_3_object_of_the_former_kind_is_superfluous_once_its_successor_is_applied(
    #[case] kind: &str,
    #[case] name: &str,
    #[case] is_applied: bool,
    #[case] expected: usize,
) {
    assert_eq!(
        superfluous_to(kind, name, is_applied),
        expected,
        "and never what is not proven to be the policy's"
    );
}

#[test]
fn rough_edge_3_object_is_kept_when_the_kind_of_its_template_becomes_unknown() {
    assert_eq!(superfluous_to("Typo", "n", false), 0);
}

#[test]
fn rough_edge_3_object_is_kept_when_the_dependencies_of_its_template_contradict() {
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
    assert!(plan.asked.is_empty());
    assert!(plan.expected.unwrap().contains_key("n"));
}
