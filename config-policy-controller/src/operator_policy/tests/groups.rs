//! The `OperatorGroup`.

use rstest::rstest;

use super::super::decide::observed::Update;
use super::super::decide::spec::DesiredGroup;
use super::*;

const PART: Part = Part::OperatorGroup;
const MATCHES: &str = "the OperatorGroup matches what is required by the policy";
const MISMATCH: &str = "the OperatorGroup found on the cluster does not match the policy";
const PREEXISTING: &str = "the policy does not specify an OperatorGroup but one already exists in the namespace - assuming that OperatorGroup is correct";
const SHOULD_EXIST: &str = "Resource not found but should exist";
const MISMATCHED: &str = "Resource found but does not match";
const AS_EXPECTED: &str = "Resource found as expected";

fn specified(mut story: Story) -> Story {
    story.desired.operator_group = Some(DesiredGroup {
        name: Some("own".to_owned()),
        ..DesiredGroup::inferred("operators")
    });
    story
}

#[tokio::test]
async fn op_8_missing_group_is_created_and_the_subscription_after_it() {
    let ending = Story::enforce().run().await;
    assert_eq!(
        ending.writes,
        ["create OperatorGroup generated", "create Subscription quay"]
    );
    let message = "the OperatorGroup required by the policy was created";
    assert_eq!(ending.of(PART), ("True", "OperatorGroupCreated", message));
    assert_eq!(
        ending.related(PART),
        [("generated", "Compliant", "K8s creation success")]
    );
    let mut related = ending.status.related_objects.iter();
    let group = related.find(|related| {
        let object = related.object.as_ref();
        object.and_then(|object| object.kind.as_deref()) == Some(PART.kind())
    });
    let properties = group.unwrap().properties.as_ref().unwrap();
    assert_eq!(
        (properties.created_by_policy, properties.uid.as_deref()),
        (Some(true), Some("created"))
    );
}

#[tokio::test]
async fn op_8_missing_group_is_reported_when_informing() {
    let ending = Story::inform().run().await;
    assert!(ending.writes.is_empty());
    let message = "the OperatorGroup required by the policy was not found";
    assert_eq!(ending.of(PART), ("False", "OperatorGroupMissing", message));
    assert_eq!(ending.related(PART), [("-", "NonCompliant", SHOULD_EXIST)]);
}

#[rstest]
#[case::foreign_and_none_described(false, vec![group("foreign")], Update::None,
    ("True", "PreexistingOperatorGroupFound", PREEXISTING), &[("foreign", "Compliant", AS_EXPECTED)])]
#[case::foreign_and_one_described(true, vec![group("foreign")], Update::None,
    ("False", "OperatorGroupMismatch", MISMATCH),
    &[("foreign", "NonCompliant", MISMATCHED), ("own", "NonCompliant", SHOULD_EXIST)])]
#[case::matching(true, vec![group("own")], Update::None,
    ("True", "OperatorGroupMatches", MATCHES), &[("own", "Compliant", AS_EXPECTED)])]
#[case::inferred_and_matching(false, vec![inferred_group()], Update::None,
    ("True", "OperatorGroupMatches", MATCHES), &[("operators-x", "Compliant", AS_EXPECTED)])]
#[case::inferred_and_different(false, vec![inferred_group()], Update::Needed(Box::default()),
    ("True", "PreexistingOperatorGroupFound", PREEXISTING),
    &[("operators-x", "Compliant", AS_EXPECTED)])]
#[case::different(true, vec![group("own")], Update::Needed(Box::default()),
    ("False", "OperatorGroupMismatch", MISMATCH), &[("own", "NonCompliant", MISMATCHED)])]
#[case::two(true, vec![group("foreign"), group("own")], Update::None,
    ("False", "TooManyOperatorGroups", "there is more than one OperatorGroup in the namespace"),
    &[("foreign", "NonCompliant", "There is more than one OperatorGroup in this namespace"),
      ("own", "NonCompliant", "There is more than one OperatorGroup in this namespace")])]
#[tokio::test]
async fn op_8_states_when_informing(
    #[case] is_specified: bool,
    #[case] groups: Vec<Object>,
    #[case] update: Update,
    #[case] condition: (&str, &str, &str),
    #[case] related: &[(&str, &str, &str)],
) {
    let mut story = Story::inform();
    if is_specified {
        story = specified(story);
    }
    story.observed.operator_groups = Ok(groups);
    story.observed.group_update = update;
    let ending = story.run().await;
    assert_eq!(ending.of(PART), condition);
    assert_eq!(ending.related(PART), related);
    assert!(ending.writes.is_empty());
}

#[tokio::test]
async fn op_8_different_group_is_updated() {
    let mut story = specified(Story::enforce());
    story.observed.operator_groups = Ok(vec![group("own")]);
    story.observed.group_update = Update::Needed(Box::new(group("own").as_ref().clone()));
    let ending = story.run().await;
    assert_eq!(
        ending.writes,
        ["replace OperatorGroup own", "create Subscription quay"]
    );
    let message = "the OperatorGroup was updated to match the policy";
    assert_eq!(ending.of(PART), ("True", "OperatorGroupUpdated", message));
    assert_eq!(
        ending.related(PART),
        [("own", "Compliant", "K8s update success")]
    );
    let interim = format!("NonCompliant; the policy spec is valid, {MISMATCH}");
    assert_eq!(ending.reports[0], interim);
}

#[tokio::test]
async fn op_8_forbidden_update_is_told_and_nothing_is_subscribed() {
    let mut story = specified(Story::enforce());
    story.observed.operator_groups = Ok(vec![group("own")]);
    story.observed.group_update = Update::Forbidden;
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    let message = format!("{MISMATCH} and can't be enforced");
    assert_eq!(
        ending.of(PART),
        ("False", "OperatorGroupMismatch", message.as_str())
    );
}

#[tokio::test]
async fn op_8_wrong_group_keeps_the_subscription_from_being_created() {
    let mut story = specified(Story::enforce());
    story.observed.operator_groups = Ok(vec![group("foreign")]);
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.of(Part::Subscription).1, "SubscriptionMissing");
}

#[tokio::test]
async fn op_8_failed_creation_of_the_group_keeps_the_subscription_from_being_created() {
    let error = WriteError::Other("no".to_owned());
    let ending = Story::enforce().refusing(PART, error).run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.of(PART).1, "OperatorGroupMissing");
    assert_eq!(ending.of(Part::Subscription).1, "SubscriptionMissing");
    assert_eq!(
        ending.acted.errors,
        ["error creating the OperatorGroup: no"]
    );
}

#[tokio::test]
async fn op_8_missing_namespace_is_created() {
    let error = WriteError::NoNamespace("namespaces \"operators\" not found".to_owned());
    let ending = Story::enforce().refusing(PART, error).run().await;
    assert_eq!(ending.writes, ["create Namespace operators"]);
}

#[tokio::test]
async fn op_8_unreadable_groups_are_not_absent() {
    let mut story = Story::enforce();
    story.observed.operator_groups = Err("error listing OperatorGroups: no".to_owned());
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert!(!ending.has(PART));
    assert_eq!(ending.acted.errors, ["error listing OperatorGroups: no"]);
    // The other parts are reported all the same.
    assert!(ending.has(Part::CatalogSource));
}
