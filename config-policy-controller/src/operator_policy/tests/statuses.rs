//! The status as a whole: compliance, history, related objects.

use reeve_api::operator_policy::OperatorPolicySpec;
use serde_json::json;

use super::super::decide::state::{Condition, State, Truth, found};
use super::super::status::add_history;
use super::*;

const STEADY: &str = "Compliant; the policy spec is valid, the OperatorGroup matches what is required by the policy, the Subscription matches what is required by the policy, there are no relevant InstallPlans in the namespace, ClusterServiceVersion (quay.v1) - install strategy completed, there are CRDs present for the operator, there are no relevant deployments because the ClusterServiceVersion is missing, CatalogSource was found";

#[tokio::test]
async fn op_17_steady_state() {
    let mut story = Story::installed();
    story.observed.deployments = vec![(
        "a".to_owned(),
        Ok(Some(object(Part::Deployment, "a", json!({})))),
    )];
    let ending = story.run().await;
    let expected = STEADY.replace(
        "there are no relevant deployments because the ClusterServiceVersion is missing",
        "all operator Deployments have their minimum availability",
    );
    assert_eq!(ending.reports, [expected.as_str()]);
    assert_eq!(
        ending.condition("Compliant"),
        ("True", "Compliant", expected.as_str())
    );
}

#[tokio::test]
async fn op_24_1_unchanged_status_stays_as_it_is() {
    let mut story = Story::installed();
    let first = story.run().await;
    story.again(&first);
    add_history(&mut story.status, &first.reports[0], (story.now, 10));
    story.now = "2026-01-01T13:00:00Z".parse().unwrap();
    let second = story.run().await;
    assert!(second.reports.is_empty());
    assert_eq!(second.status, story.status);
}

#[tokio::test]
async fn op_20_first_reconcile_reports_each_step() {
    let mut story = Story::enforce();
    story.observed.catalog_source = Ok(Some(catalog("READY")));
    let ending = story.run().await;
    assert_eq!(
        ending.reports,
        [
            "NonCompliant; the policy spec is valid, the OperatorGroup required by the policy was not found",
            "NonCompliant; the policy spec is valid, the OperatorGroup required by the policy was created, the Subscription required by the policy was not found",
            "NonCompliant; the policy spec is valid, the OperatorGroup required by the policy was created, the Subscription required by the policy was created, there are no relevant InstallPlans in the namespace, the ClusterServiceVersion required by the policy was not found, no CRDs were found for the operator, there are no relevant deployments because the ClusterServiceVersion is missing, CatalogSource was found",
        ]
    );
}

#[tokio::test]
async fn op_4_new_generation_and_reset_are_reported() {
    let mut story = Story::installed();
    let ending = story.run().await;
    story.again(&ending);
    add_history(&mut story.status, &ending.reports[0], (story.now, 10));
    story.policy["metadata"]["generation"] = json!(2);
    let ending = story.run().await;
    assert_eq!(ending.reports.len(), 1);
    assert_eq!(ending.status.observed_generation, Some(2));
    story.again(&ending);
    story.status.compliant = Some(String::new());
    assert_eq!(story.run().await.reports.len(), 1);
}

#[tokio::test]
async fn op_17_missing_namespace_does_not_hide_the_parts() {
    let mut story = Story::inform();
    let message = "the operator namespace ('operators') does not exist";
    story.desired.invalid = Some(message.to_owned());
    story.desired.lacks_namespace = true;
    let ending = story.run().await;
    let start = format!("NonCompliant; {message}, the OperatorGroup required");
    assert!(
        ending.reports[0].starts_with(&start),
        "{}",
        ending.reports[0]
    );
}

#[tokio::test]
async fn op_24_37_enforced_policy_without_its_namespace_installs() {
    let mut story = Story::enforce();
    story.desired.invalid = Some("the operator namespace ('operators') does not exist".to_owned());
    story.desired.lacks_namespace = true;
    assert_eq!(story.run().await.writes.len(), 2);
}

#[test]
fn op_4_history_is_bounded_and_without_repetitions() {
    let mut status = OperatorPolicyStatus::default();
    let now: Timestamp = NOW.parse().unwrap();
    for message in ["a", "b", "b", "c"] {
        add_history(&mut status, message, (now, 2));
    }
    let history = status.history.unwrap();
    let messages: Vec<_> = history
        .iter()
        .filter_map(|entry| entry.message.as_deref())
        .collect();
    assert_eq!(messages, ["c", "b"]);
    assert_eq!(
        history[0].last_timestamp.as_deref(),
        Some("2026-01-01T12:00:00.000000Z")
    );
}

fn builder(policy: &OperatorPolicy) -> StatusBuilder<'_> {
    StatusBuilder::new(
        policy,
        &OperatorPolicyStatus::default(),
        NOW.parse().unwrap(),
    )
}

fn state(reason: &str, message: &str) -> Condition {
    Condition::new(Part::Csv, Truth::False, reason, message)
}

#[test]
fn op_24_23_long_messages_are_cut_between_characters() {
    let policy = OperatorPolicy::new("p", OperatorPolicySpec::default());
    let mut status = builder(&policy);
    status.set(&State::new(state("R", &"ä".repeat(40_000)), Vec::new()));
    let (status, reports) = status.finish();
    let conditions = status.conditions.unwrap();
    assert!(
        conditions
            .iter()
            .all(|condition| condition.message.len() <= 32_768)
    );
    assert!(reports[0].message.len() <= 4096 && reports[0].message.ends_with("...[truncated]"));
}

#[test]
fn op_24_5_reason_that_would_be_refused_is_replaced() {
    let policy = OperatorPolicy::new("p", OperatorPolicySpec::default());
    for (given, expected) in [
        ("", "Unknown"),
        ("a b", "Unknown"),
        ("A:", "Unknown"),
        ("A1", "A1"),
    ] {
        let mut status = builder(&policy);
        status.set(&State::new(state(given, "m"), Vec::new()));
        let conditions = status.finish().0.conditions.unwrap();
        assert_eq!(conditions[0].reason, expected, "{given}");
    }
}

#[test]
fn op_18_created_by_policy_is_kept_as_long_as_the_object_is() {
    let policy = OperatorPolicy::new("p", OperatorPolicySpec::default());
    let mut created = found(Part::Csv, &csv("a", ""), Some("Compliant"), "created");
    created.properties.as_mut().unwrap().created_by_policy = Some(true);
    let matched = found(Part::Csv, &csv("a", ""), Some("Compliant"), "matched");
    let mut status = builder(&policy);
    assert!(status.set(&State::new(state("R", "m"), created)));
    assert!(status.set(&State::new(state("R", "m"), matched.clone())));
    assert!(!status.set(&State::new(state("R", "m"), matched)));
    let related = status.finish().0.related_objects;
    let properties = related[0].properties.as_ref().unwrap();
    assert_eq!(properties.created_by_policy, Some(true));
    assert_eq!(related[0].reason.as_deref(), Some("matched"));
}

#[test]
fn op_2_related_objects_are_never_null() {
    let policy = OperatorPolicy::new("p", OperatorPolicySpec::default());
    let status = serde_json::to_value(builder(&policy).finish().0).unwrap();
    assert_eq!(status["relatedObjects"], json!([]));
}
