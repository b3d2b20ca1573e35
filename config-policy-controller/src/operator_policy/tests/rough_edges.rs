//! Better than upstream, by the numbers of the rules.

use reeve_api::Compliance;
use rstest::rstest;
use serde_json::json;

use super::super::decide::{grants, managed_annotation, managing_policy};
use super::super::status::Report;
use super::*;

fn policy(story: &Story) -> OperatorPolicy {
    serde_json::from_value(story.policy.clone()).unwrap()
}

#[test]
fn op_24_12_resolved_versions_are_approved() {
    let mut story = Story::enforce().spec("versions", json!(["{{ lookup }}"]));
    story.desired.versions.allowed = vec!["quay.v1".to_owned()];
    let granted = grants(&policy(&story).spec, &story.desired);
    assert_eq!(granted.versions, story.desired.versions);
    assert!(granted.allow("quay.v1") && !granted.allow("{{ lookup }}"));
}

#[rstest]
#[case::plain("p")]
#[case::dots("p.with.dots")]
fn op_24_16_annotation_names_its_policy(#[case] name: &str) {
    let mut story = Story::enforce();
    story.policy["metadata"]["name"] = json!(name);
    let annotation = managed_annotation(&policy(&story));
    let key = managing_policy(&annotation).unwrap();
    assert_eq!(
        (key.namespace.as_str(), key.name.as_str()),
        ("managed", name)
    );
}

#[test]
fn op_24_36_annotation_without_a_policy_names_none() {
    assert_eq!(managing_policy("nobody"), None);
}

#[tokio::test]
async fn op_24_22_each_report_has_the_type_of_its_own_message() {
    let story = Story::installed();
    let policy = policy(&story);
    let mut status = StatusBuilder::new(&policy, &story.status, story.now);
    let missing = super::super::decide::state::State::new(
        Part::Subscription.missing(),
        super::super::decide::state::Related::Keep,
    );
    status.set(&missing);
    status.report_interim();
    let (_, reports) = status.finish();
    let is_own = |report: &Report| {
        report.message.starts_with("NonCompliant;")
            == (report.compliance == Compliance::NonCompliant)
    };
    assert!(
        !reports.is_empty() && reports.iter().all(is_own),
        "{reports:#?}"
    );
}

#[tokio::test]
async fn op_24_32_error_of_one_part_hides_no_other() {
    let mut story = Story::installed();
    story.observed.operator_groups = Err("error listing OperatorGroups: no".to_owned());
    let ending = story.run().await;
    assert_eq!(ending.acted.errors, ["error listing OperatorGroups: no"]);
    assert_eq!(ending.of(Part::Csv).0, "True");
    assert_eq!(ending.of(Part::CatalogSource).0, "False");
}

#[tokio::test]
async fn op_24_18_overlapping_policies_approve_and_write_nothing() {
    let mut story = Story::installed();
    let plan = json!({
        "spec": {"clusterServiceVersionNames": ["quay.v1"], "generation": 1, "approved": false},
        "status": {"phase": "RequiresApproval"},
    });
    story.observed.install_plans = Ok(vec![object(Part::InstallPlan, "install-a", plan)]);
    let both = ["other.managed".to_owned(), "p.managed".to_owned()];
    let message = crate::messages::operator::overlapping(&both);
    story.desired = Desired::invalid(message.clone());
    for compliance_type in ["musthave", "mustnothave"] {
        story = story.spec("complianceType", json!(compliance_type));
        let ending = story.run().await;
        assert!(ending.writes.is_empty(), "{:?}", ending.writes);
        assert_eq!(
            ending.condition("ValidPolicySpec"),
            ("False", "InvalidPolicySpec", message.as_str())
        );
    }
}

/// A Subscription of another name.
fn other(name: &str, package: &str) -> Object {
    let spec =
        json!({"name": package, "channel": "beta", "source": "catalog", "sourceNamespace": "olm"});
    object(Part::Subscription, name, json!({"spec": spec}))
}

#[tokio::test]
async fn op_24_39_second_subscription_for_a_package_is_not_created() {
    let mut story = Story::enforce();
    story.observed.operator_groups = Ok(vec![inferred_group()]);
    story.observed.subscriptions = Ok(vec![other("by-hand", "quay")]);
    let ending = story.run().await;
    assert!(ending.writes.is_empty(), "{:?}", ending.writes);
    let message = "the Subscription by-hand found on the cluster is for the same package quay";
    assert_eq!(
        ending.of(Part::Subscription),
        ("False", "SubscriptionMismatch", message)
    );
    let related = [
        (
            "by-hand",
            "NonCompliant",
            "Resource found but does not match",
        ),
        (
            "quay",
            "NonCompliant",
            "Resource not found but should exist",
        ),
    ];
    assert_eq!(ending.related(Part::Subscription), related);
}

#[rstest]
#[case::other_package(other("by-hand", "argocd"))]
#[case::made_by_olm_for_a_dependency(other("quay-beta-catalog-olm", "quay"))]
#[tokio::test]
async fn op_24_39_other_subscriptions_do_not_matter(#[case] other: Object) {
    let mut story = Story::enforce();
    story.observed.operator_groups = Ok(vec![inferred_group()]);
    story.observed.subscriptions = Ok(vec![other]);
    assert_eq!(story.run().await.writes, ["create Subscription quay"]);
}

#[tokio::test]
async fn op_24_39_nothing_is_created_beside_unknown_subscriptions() {
    let mut story = Story::enforce();
    story.observed.operator_groups = Ok(vec![inferred_group()]);
    story.observed.subscriptions = Err("error listing Subscriptions: no".to_owned());
    assert!(story.run().await.writes.is_empty());
}
