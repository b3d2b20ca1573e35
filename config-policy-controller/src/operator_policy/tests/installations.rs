//! Operators that are installed in another namespace for all namespaces.

use serde_json::json;

use super::super::decide::existing_installation::{find, is_possible};
use super::super::decide::observed::CopiedCsv;
use super::super::decide::spec::DesiredGroup;
use super::*;

const ELSEWHERE: &str =
    "the operator is installed in namespace global and is available via AllNamespaces mode";

fn copy(properties: &Value) -> Object {
    let properties = json!({"properties": properties}).to_string();
    let metadata = json!({
        "labels": {"olm.copiedFrom": "global"},
        "annotations": {"operatorframework.io/properties": properties},
    });
    let status = json!({"phase": "Succeeded", "reason": "Copied", "message": "copied"});
    object(
        Part::Csv,
        "quay.v1",
        json!({"metadata": metadata, "status": status}),
    )
}

fn installed_elsewhere() -> Story {
    let mut story = Story::enforce();
    story.observed.copied = Ok(Some(CopiedCsv {
        csv: copy(&json!([])),
        namespace: "global".to_owned(),
    }));
    story
}

#[tokio::test]
async fn op_7_nothing_is_installed_again() {
    let ending = installed_elsewhere().run().await;
    assert!(ending.writes.is_empty());
    for part in [
        Part::OperatorGroup,
        Part::Subscription,
        Part::InstallPlan,
        Part::Crd,
        Part::Deployment,
    ] {
        assert_eq!(ending.of(part), ("True", "ExistingInstallation", ELSEWHERE));
    }
    assert_eq!(
        ending.of(Part::CatalogSource),
        ("False", "ExistingInstallation", ELSEWHERE)
    );
    let message = "ClusterServiceVersion (quay.v1) - copied";
    assert_eq!(ending.of(Part::Csv), ("True", "Copied", message));
    assert_eq!(
        ending.related(Part::Csv),
        [("quay.v1", "Compliant", "Copied")]
    );
    assert_eq!(ending.status.compliant.as_deref(), Some("Compliant"));
}

#[tokio::test]
async fn op_7_version_that_is_not_listed_is_all_that_is_reported() {
    let mut story = installed_elsewhere();
    story.desired.versions.allowed = vec!["quay.v2".to_owned()];
    let ending = story.run().await;
    assert_eq!(ending.of(Part::Csv).1, "UnapprovedVersion");
    assert!(!ending.has(Part::Subscription));
}

#[tokio::test]
async fn op_7_own_subscription_is_deleted() {
    let managed = |owner: &str| {
        let annotations =
            json!({"operatorpolicy.policy.open-cluster-management.io/managed": owner});
        object(
            Part::Subscription,
            "quay",
            json!({"metadata": {"annotations": annotations}}),
        )
    };
    let mut story = installed_elsewhere();
    story.observed.subscription = Ok(Some(managed("managed.p")));
    assert_eq!(story.run().await.writes, ["delete Subscription quay"]);
    story.observed.subscription = Ok(Some(managed("managed.other")));
    assert!(story.run().await.writes.is_empty());
}

#[tokio::test]
async fn op_7_own_subscription_stays_when_informing() {
    let mut story = installed_elsewhere().spec("remediationAction", json!("inform"));
    let annotations =
        json!({"operatorpolicy.policy.open-cluster-management.io/managed": "managed.p"});
    let managed = json!({"metadata": {"annotations": annotations}});
    story.observed.subscription = Ok(Some(object(Part::Subscription, "quay", managed)));
    assert!(story.run().await.writes.is_empty());
}

#[tokio::test]
async fn op_7_unreadable_copies_stop_everything() {
    let mut story = Story::enforce();
    story.observed.copied = Err("error listing copied CSVs: no".to_owned());
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.acted.errors, ["error listing copied CSVs: no"]);
    assert!(!ending.has(Part::Subscription));
}

#[test]
fn op_24_3_properties_of_any_type_are_read() {
    let copies = [copy(&json!([
        {"type": "olm.maxOpenShiftVersion", "value": "4.17"},
        {"type": "olm.package", "value": {"packageName": "quay"}},
    ]))];
    assert!(find(&copies, "quay").is_some());
    assert!(find(&copies, "argocd").is_none());
}

#[test]
fn op_24_26_group_with_a_selector_is_not_for_all_namespaces() {
    let group = |spec: Value| DesiredGroup {
        spec: spec.as_object().unwrap().clone(),
        ..DesiredGroup::inferred("operators")
    };
    let possible = |spec: Value| is_possible(Presence::MustHave, &group(spec));
    assert!(possible(json!({})));
    assert!(possible(json!({"targetNamespaces": []})));
    assert!(!possible(json!({"targetNamespaces": ["a"]})));
    assert!(!possible(json!({"selector": {"matchLabels": {"a": "b"}}})));
    assert!(!is_possible(Presence::MustNotHave, &group(json!({}))));
}
