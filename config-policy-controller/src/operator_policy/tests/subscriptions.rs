//! The Subscription, its resolution and the intervention in it.

use rstest::rstest;
use serde_json::json;

use super::super::decide::observed::Update;
use super::super::decide::subscription::{mentions, unreferenced_csv};
use super::*;

const PART: Part = Part::Subscription;
const MATCHES: (&str, &str, &str) = (
    "True",
    "SubscriptionMatches",
    "the Subscription matches what is required by the policy",
);
const UNSATISFIABLE: (&str, &str, &str) = (
    "False",
    "ConstraintsNotSatisfiable",
    "constraints not satisfiable: refer to the Subscription for more details",
);
const UNREFERENCED: &str = "constraints not satisfiable: subscription quay requires x, clusterserviceversion quay.v1 exists and is not referenced by a subscription";

fn failing(reason: &str, message: &str) -> Story {
    Story::subscribed(&json!({"conditions": [{
        "type": "ResolutionFailed", "status": "True", "reason": reason, "message": message,
        "lastTransitionTime": "2025-12-31T00:00:00Z",
    }]}))
}

fn unreferenced(intervention: Option<&str>) -> Story {
    let mut story = failing("ConstraintsNotSatisfiable", UNREFERENCED);
    story.observed.unreferenced_csv = Ok(Some(csv("quay.v1", "Succeeded")));
    story.status.subscription_intervention_time = intervention.map(str::to_owned);
    story
}

#[tokio::test]
async fn op_24_25_created_subscription_is_marked_as_managed() {
    let mut story = Story::enforce();
    story.observed.operator_groups = Ok(vec![inferred_group()]);
    let ending = story.run().await;
    let [Write::Create(created)] = ending.written.as_slice() else {
        panic!("{:?}", ending.writes);
    };
    let key = "operatorpolicy.policy.open-cluster-management.io/managed";
    assert_eq!(created["metadata"]["labels"][key], "");
    assert_eq!(created["metadata"]["annotations"][key], "managed.p");
    let message = "the Subscription required by the policy was created";
    assert_eq!(ending.of(PART), ("True", "SubscriptionCreated", message));
    assert_eq!(
        ending.related(PART),
        [("quay", "Compliant", "K8s creation success")]
    );
}

#[tokio::test]
async fn op_9_different_subscription_is_updated_after_a_report() {
    let mut story = Story::subscribed(&json!({}));
    let merged = subscription(&json!({})).as_ref().clone();
    story.observed.subscription_update = Update::Needed(Box::new(merged));
    let ending = story.run().await;
    assert_eq!(ending.writes, ["replace Subscription quay"]);
    let message = "the Subscription was updated to match the policy";
    assert_eq!(ending.of(PART), ("True", "SubscriptionUpdated", message));
    assert_eq!(
        ending.reports[0],
        "NonCompliant; the policy spec is valid, the OperatorGroup matches what is required by the policy, the Subscription found on the cluster does not match the policy"
    );
}

#[tokio::test]
async fn op_24_40_conflict_is_no_error() {
    let conflict = WriteError::Conflict("changed".to_owned());
    let mut story = Story::subscribed(&json!({})).refusing(PART, conflict);
    let merged = subscription(&json!({})).as_ref().clone();
    story.observed.subscription_update = Update::Needed(Box::new(merged));
    let ending = story.run().await;
    assert!(ending.acted.conflict && ending.acted.errors.is_empty());
    assert_eq!(ending.of(PART).1, "SubscriptionMismatch");
}

#[tokio::test]
async fn op_10_failure_is_reported_in_olms_words() {
    let ending = failing("ErrorPreventedResolution", "no bundle").run().await;
    assert_eq!(
        ending.of(PART),
        ("False", "ErrorPreventedResolution", "no bundle")
    );
    let mut conditions = ending.status.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == PART.condition_type());
    assert_eq!(
        condition.unwrap().last_transition_time,
        "2025-12-31T00:00:00Z"
    );
    let related = [("quay", "NonCompliant", "ErrorPreventedResolution")];
    assert_eq!(ending.related(PART), related);
}

#[tokio::test]
async fn op_24_5_condition_without_reason_is_reported() {
    let ending = failing("", "no bundle").run().await;
    assert_eq!(ending.of(PART), ("False", "Unknown", "no bundle"));
}

#[tokio::test]
async fn op_10_own_failure_has_a_fixed_message() {
    let message = "constraints not satisfiable: no operators found in package quay in the catalog";
    let ending = failing("constraintsnotsatisfiable", message).run().await;
    assert_eq!(ending.of(PART), UNSATISFIABLE);
    assert_eq!(ending.intervention, None);
}

#[tokio::test]
async fn op_10_failure_of_another_subscription_is_ignored() {
    let mut story = Story::subscribed(&json!({}));
    let ending = story.run().await;
    story.again(&ending);
    let other = "constraints not satisfiable: no operators found in package quay-missing";
    story.observed.subscription = failing("ConstraintsNotSatisfiable", other)
        .observed
        .subscription;
    assert_eq!(story.run().await.of(PART), MATCHES);
}

#[rstest]
#[case::package("no operators found in package quay in the catalog", true)]
#[case::at_the_end("required by subscription quay", true)]
#[case::comma("subscription quay, subscription argocd", true)]
#[case::colon("package quay: bad", true)]
#[case::qualified("subscription operators/quay exists", true)]
#[case::other_namespace("subscription other/quay exists", false)]
#[case::longer_name("package quay-does-not-exist in the catalog", false)]
#[case::other("subscription argocd exists", false)]
#[case::only_a_version("clusterserviceversion quay exists", false)]
#[case::longer_then_own("package quay-x, package quay", true)]
#[case::nothing("", false)]
fn op_10_messages_that_mention_a_subscription(#[case] message: &str, #[case] expected: bool) {
    assert_eq!(mentions(message, ("quay", "operators")), expected);
}

#[rstest]
#[case::named(UNREFERENCED, Some("quay.v1"))]
#[case::other_text("clusterserviceversion quay.v1 is bad", None)]
fn op_10_version_in_message(#[case] message: &str, #[case] expected: Option<&str>) {
    assert_eq!(unreferenced_csv(message), expected);
}

#[rstest]
#[case::first(None, Some("2026-01-01T12:00:30Z"))]
#[case::waiting(Some("2026-01-01T12:00:10Z"), Some("2026-01-01T12:00:10Z"))]
#[case::missed(Some("2026-01-01T11:59:49Z"), Some("2026-01-01T12:00:30Z"))]
#[tokio::test]
async fn op_10_intervention_waits(#[case] before: Option<&str>, #[case] after: Option<&str>) {
    let ending = unreferenced(before).run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.intervention, after.map(|time| time.parse().unwrap()));
    assert_eq!(ending.of(PART), UNSATISFIABLE);
}

#[tokio::test]
async fn op_10_intervention_points_the_subscription_to_the_version() {
    let ending = unreferenced(Some("2026-01-01T11:59:59Z")).run().await;
    let [Write::ReplaceStatus(object)] = ending.written.as_slice() else {
        panic!("{:?}", ending.writes);
    };
    assert_eq!(object["status"]["currentCSV"], "quay.v1");
    assert_eq!(object["status"]["lastUpdated"], NOW);
    assert_eq!(ending.of(PART).1, "SubscriptionUpdated");
}

#[rstest]
#[case::reason(json!({"status": {"reason": "Copied"}}))]
#[case::other_operator_namespace(json!({"metadata": {"annotations": {"olm.operatorNamespace": "x"}}}))]
#[case::label(json!({"metadata": {"labels": {"olm.copiedFrom": "x"}}}))]
#[tokio::test]
async fn op_10_copied_version_is_not_pointed_to(#[case] copied: Value) {
    let mut story = unreferenced(Some("2026-01-01T11:59:59Z"));
    story.observed.unreferenced_csv = Ok(Some(object(Part::Csv, "quay.v1", copied)));
    assert!(story.run().await.writes.is_empty());
}

#[tokio::test]
async fn op_10_informing_policy_does_not_intervene() {
    let story = unreferenced(None).spec("remediationAction", json!("inform"));
    let ending = story.run().await;
    assert_eq!((ending.intervention, ending.writes.len()), (None, 0));
}

#[rstest]
#[case::resolved(Story::subscribed(&json!({})))]
#[case::missing({ let mut story = Story::subscribed(&json!({})); story.observed.subscription = Ok(None); story })]
#[case::mustnothave(Story::enforce().mustnothave())]
#[tokio::test]
async fn op_10_intervention_ends(#[case] mut story: Story) {
    story.status.subscription_intervention_time = Some("2026-01-01T11:59:49Z".to_owned());
    assert_eq!(story.run().await.intervention, None);
}

#[rstest]
#[case::none(None, None)]
#[case::future(Some("2026-01-01T12:00:30Z"), Some(31))]
#[case::past(Some("2026-01-01T11:59:55Z"), None)]
fn op_10_policy_is_reconciled_after_the_grace_period(
    #[case] intervention: Option<&str>,
    #[case] seconds: Option<u64>,
) {
    let intervention = intervention.map(|time| time.parse().unwrap());
    let expected = seconds.map(std::time::Duration::from_secs);
    assert_eq!(
        super::super::until(intervention, NOW.parse().unwrap()),
        expected
    );
}
