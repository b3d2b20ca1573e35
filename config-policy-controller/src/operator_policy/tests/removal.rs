//! Operators that must not be there.

use rstest::rstest;
use serde_json::json;

use super::super::decide::spec::DesiredGroup;
use super::*;

const UNWANTED: &str = "Resource found but should not exist";
const ABSENT: &str = "Resource not found as expected";

fn installed() -> Story {
    let behavior = json!({"customResourceDefinitions": "Delete"});
    let mut story = Story::installed()
        .mustnothave()
        .spec("removalBehavior", behavior);
    story.observed.subscriptions = Ok(vec![subscription(&json!({}))]);
    story
}

#[tokio::test]
async fn op_24_19_everything_is_deleted_and_the_group_last() {
    let ending = installed().run().await;
    assert_eq!(
        ending.writes,
        [
            "delete Subscription quay",
            "delete ClusterServiceVersion quay.v1",
            "delete CustomResourceDefinition quays",
            "delete OperatorGroup operators-x",
        ]
    );
    let messages: Vec<&str> = [
        Part::OperatorGroup,
        Part::Subscription,
        Part::Csv,
        Part::Crd,
    ]
    .map(|part| ending.of(part).2)
    .into();
    assert_eq!(
        messages,
        [
            "the OperatorGroup was deleted",
            "the Subscription was deleted",
            "the ClusterServiceVersion (quay.v1) was deleted",
            "the CustomResourceDefinition was deleted",
        ]
    );
    assert_eq!(
        ending.related(Part::Csv),
        [("quay.v1", "Compliant", "K8s deletion success")]
    );
    assert_eq!(ending.reports.len(), 5);
    assert!(ending.reports[1].contains("the ClusterServiceVersion (quay.v1) is present"));
    assert!(ending.reports[3].contains("the OperatorGroup is present"));
}

#[tokio::test]
async fn op_9_failed_deletion_of_the_subscription_keeps_the_group() {
    let error = WriteError::Other("no".to_owned());
    let ending = installed().refusing(Part::Subscription, error).run().await;
    assert!(
        !ending
            .writes
            .contains(&"delete OperatorGroup operators-x".to_owned())
    );
    assert_eq!(ending.of(Part::Subscription).1, "SubscriptionPresent");
    assert_eq!(ending.of(Part::OperatorGroup).1, "OperatorGroupPresent");
    assert_eq!(ending.acted.errors, ["error deleting the Subscription: no"]);
}

#[tokio::test]
async fn op_20_informing_policy_deletes_nothing() {
    let ending = installed()
        .spec("remediationAction", json!("inform"))
        .run()
        .await;
    assert!(ending.writes.is_empty());
    for (part, name) in [
        (Part::OperatorGroup, "operators-x"),
        (Part::Subscription, "quay"),
        (Part::Csv, "quay.v1"),
        (Part::Crd, "quays"),
    ] {
        assert_eq!(ending.related(part), [(name, "NonCompliant", UNWANTED)]);
        assert_eq!(ending.of(part).0, "False");
    }
    assert_eq!(
        ending.of(Part::CatalogSource),
        (
            "False",
            "CatalogSourceNotApplicable",
            "MustNotHave policies ignore kind CatalogSource"
        )
    );
}

#[tokio::test]
async fn op_20_nothing_there_is_compliant() {
    let ending = Story::enforce().mustnothave().run().await;
    assert_eq!(ending.status.compliant.as_deref(), Some("Compliant"));
    assert_eq!(
        ending.related(Part::OperatorGroup),
        [("-", "Compliant", ABSENT)]
    );
    assert_eq!(
        ending.related(Part::Subscription),
        [("quay", "Compliant", ABSENT)]
    );
    assert_eq!(ending.related(Part::Csv), [("-", "Compliant", ABSENT)]);
    assert_eq!(
        ending.of(Part::Csv).2,
        "the ClusterServiceVersion is not present"
    );
}

#[rstest]
#[case::inform("inform")]
#[case::enforce("enforce")]
#[tokio::test]
async fn op_9_kept_objects(#[case] action: &str) {
    let keep = json!({
        "operatorGroups": "Keep", "subscriptions": "Keep", "clusterServiceVersions": "Keep",
        "customResourceDefinitions": "Keep",
    });
    let story = installed().spec("removalBehavior", keep);
    let ending = story.spec("remediationAction", json!(action)).run().await;
    assert!(ending.writes.is_empty());
    for (part, name) in [
        (Part::OperatorGroup, "operators-x"),
        (Part::Subscription, "quay"),
        (Part::Csv, "quay.v1"),
        (Part::Crd, "quays"),
    ] {
        let kind = part.kind();
        let reason = format!(
            "The {kind} is attached to a mustnothave policy, but does not need to be removed"
        );
        assert_eq!(ending.related(part), [(name, "", reason.as_str())]);
        let message = format!("the policy specifies to keep the {kind}");
        assert_eq!(
            ending.of(part),
            ("True", format!("{kind}Kept").as_str(), message.as_str())
        );
    }
}

#[tokio::test]
async fn op_2_defaults_keep_the_definitions_only() {
    let ending = installed().spec("removalBehavior", json!({})).run().await;
    assert!(
        !ending
            .writes
            .iter()
            .any(|write| write.contains("CustomResourceDefinition"))
    );
    assert_eq!(ending.writes.len(), 3);
}

#[tokio::test]
async fn op_24_21_objects_that_are_being_deleted_are_reported_once() {
    let mut story = installed();
    story.observed.operator_groups = Ok(vec![object(Part::OperatorGroup, "operators-x", {
        let mut deleting = deleting();
        deleting["metadata"]["generateName"] = json!("operators-");
        deleting
    })]);
    story.observed.subscription = Ok(Some(object(Part::Subscription, "quay", deleting())));
    story.observed.csvs = Ok(vec![object(Part::Csv, "quay.v1", deleting())]);
    story.observed.crds = Ok(vec![object(Part::Crd, "quays", deleting())]);
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    let waits = "The object is being deleted but has not been removed yet";
    assert_eq!(
        ending.related(Part::Csv),
        [("quay.v1", "NonCompliant", waits)]
    );
    assert_eq!(
        ending.of(Part::Csv),
        (
            "False",
            "ClusterServiceVersionDeleting",
            "the ClusterServiceVersion (quay.v1) has a deletion timestamp"
        )
    );
    assert_eq!(
        ending.of(Part::OperatorGroup).2,
        "the OperatorGroup has a deletion timestamp"
    );
    assert_eq!(ending.reports.len(), 1);
    story.again(&ending);
    story.status.history = None;
    let again = story.run().await;
    assert_eq!(again.status.conditions, ending.status.conditions);
}

#[tokio::test]
async fn op_11_rest_is_deleted_while_one_version_is_being_deleted() {
    let mut story = installed();
    let versions = vec![
        object(Part::Csv, "quay.v0", deleting()),
        csv("quay.v1", "Succeeded"),
    ];
    story.observed.csvs = Ok(versions);
    let ending = story.run().await;
    assert!(
        ending
            .writes
            .contains(&"delete ClusterServiceVersion quay.v1".to_owned())
    );
    assert_eq!(ending.of(Part::Csv).1, "ClusterServiceVersionDeleting");
}

#[tokio::test]
async fn op_11_several_versions_are_named() {
    let mut story = installed();
    story.observed.csvs = Ok(vec![
        csv("quay.v0", "Replacing"),
        csv("quay.v1", "Succeeded"),
    ]);
    let ending = story.run().await;
    assert_eq!(
        ending.of(Part::Csv).2,
        "the ClusterServiceVersions (quay.v0, quay.v1) were deleted"
    );
}

#[tokio::test]
async fn op_8_group_of_another_operator_is_kept() {
    let mut story = installed();
    let other = object(Part::Subscription, "argocd", json!({}));
    story.observed.subscriptions = Ok(vec![subscription(&json!({})), other]);
    let ending = story.run().await;
    assert_eq!(ending.of(Part::OperatorGroup).1, "OperatorGroupKept");
    assert_eq!(ending.writes.len(), 3);
}

#[tokio::test]
async fn op_8_group_is_not_deleted_when_its_users_are_unknown() {
    let mut story = installed();
    story.observed.subscriptions = Err("error listing Subscriptions: no".to_owned());
    let ending = story.run().await;
    assert!(
        !ending
            .writes
            .iter()
            .any(|write| write.contains("OperatorGroup"))
    );
    assert_eq!(ending.acted.errors, ["error listing Subscriptions: no"]);
}

#[tokio::test]
async fn op_8_group_with_an_owner_is_kept() {
    let mut story = installed();
    let owned =
        json!({"metadata": {"generateName": "operators-", "ownerReferences": [{"name": "x"}]}});
    story.observed.operator_groups = Ok(vec![object(Part::OperatorGroup, "operators-x", owned)]);
    let ending = story.run().await;
    assert_eq!(ending.of(Part::OperatorGroup).1, "OperatorGroupKept");
    assert_eq!(ending.writes.len(), 3);
}

#[tokio::test]
async fn op_8_group_of_another_name_is_no_business_of_the_policy() {
    let mut story = installed();
    story.desired.operator_group = Some(DesiredGroup {
        name: Some("own".to_owned()),
        ..DesiredGroup::inferred("operators")
    });
    let ending = story.run().await;
    assert_eq!(ending.of(Part::OperatorGroup).1, "OperatorGroupNotPresent");
    assert_eq!(
        ending.related(Part::OperatorGroup),
        [("own", "Compliant", ABSENT)]
    );
    assert_eq!(ending.writes.len(), 3);
}

#[rstest]
#[case::deleted_if_unused("DeleteIfUnused", "TooManyOperatorGroups")]
#[case::op_24_20_kept("Keep", "OperatorGroupKept")]
#[tokio::test]
async fn op_8_two_groups(#[case] behavior: &str, #[case] reason: &str) {
    let mut story = installed().spec("removalBehavior", json!({"operatorGroups": behavior}));
    story.observed.operator_groups = Ok(vec![group("a"), group("b")]);
    let ending = story.run().await;
    assert_eq!(ending.of(Part::OperatorGroup).1, reason);
    assert!(
        !ending
            .writes
            .iter()
            .any(|write| write.contains("OperatorGroup"))
    );
}

#[tokio::test]
async fn op_24_41_unknown_operator_is_not_deleted() {
    let mut story = installed();
    story.desired = Desired::invalid("namespace is required in spec.subscription".to_owned());
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.of(Part::Subscription).1, "InvalidPolicySpec");
    assert_eq!(
        ending.of(Part::CatalogSource).1,
        "CatalogSourceNotApplicable"
    );
    assert_eq!(
        ending.reports,
        ["NonCompliant; namespace is required in spec.subscription"]
    );
}

#[tokio::test]
async fn op_24_42_invalid_policy_deletes_nothing() {
    let mut story = installed();
    story.desired.invalid = Some("the policy spec.operatorGroup is invalid: x".to_owned());
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.of(Part::Subscription).1, "SubscriptionPresent");
}

#[tokio::test]
async fn op_24_27_deployments_of_a_removed_version_stay_listed() {
    let mut story = installed();
    let deployment = object(Part::Deployment, "a", json!({}));
    story.observed.deployments = vec![("a".to_owned(), Ok(Some(deployment)))];
    let ending = story.run().await;
    let ignored = "Resource found but will not be handled in mustnothave mode";
    assert_eq!(
        ending.related(Part::Deployment),
        [("a", "Compliant", ignored)]
    );
    story.again(&ending);
    story.observed = Observed::default();
    let ending = story.run().await;
    assert_eq!(
        ending.related(Part::Deployment),
        [("a", "Compliant", ignored)]
    );
    assert_eq!(ending.status.compliant.as_deref(), Some("Compliant"));
}
