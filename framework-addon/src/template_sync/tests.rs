use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ApiResource;
use reeve_api::names::{PARENT_POLICY_LABEL, split_api_version};
use reeve_api::policy::PolicyTemplate;
use reeve_runtime::discovery::ServedKind;
use rstest::rstest;
use serde_json::{Value, json};

use super::error::{TemplateError, Verdict};
use super::plan::{self, Asked, Parent, Plan};
use super::publish::has_answered;
use super::*;
use crate::reports::reporter::Statement;

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
    let pending = Statement::pending(&unmet, false).message();
    insta::assert_snapshot!(pending, @"Pending; Dependencies were not satisfied: 1 is still pending (K a)");
    let ignored = Statement::pending(&unmet, true).message();
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
        again: Next::Done,
    };
    assert_eq!(may_let_go(&Plan::default(), &observed), expected);
}

#[test]
fn rough_edge_3_another_kind_of_the_same_name_is_superfluous() {
    let mut old = own(true);
    old.object.metadata.labels =
        Some([(PARENT_POLICY_LABEL.to_owned(), "ns1.pol".to_owned())].into());
    let mut foreign = old.clone();
    foreign.object.metadata.owner_references = Some(vec![OwnerReference::default()]);
    let identity = |kind: &str| ("a".to_owned(), kind.to_owned(), "n".to_owned());
    let found = |kind: &str| {
        let (expected, own) = ([identity(kind)].into(), [&old, &foreign]);
        cleanup::superfluous(&parent(), &expected, own.into_iter()).len()
    };
    assert_eq!(found("K"), 0);
    assert_eq!(
        found("Other"),
        1,
        "and never what is not proven to be the policy's"
    );
}
