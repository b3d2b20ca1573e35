//! The installed version, its Deployments and definitions.

use rstest::rstest;
use serde_json::json;

use super::*;

#[tokio::test]
async fn op_11_installed_version_is_reported() {
    let ending = Story::installed().run().await;
    let message = "ClusterServiceVersion (quay.v1) - install strategy completed";
    assert_eq!(ending.of(Part::Csv), ("True", "InstallSucceeded", message));
    assert_eq!(
        ending.related(Part::Csv),
        [("quay.v1", "Compliant", "InstallSucceeded")]
    );
}

#[tokio::test]
async fn op_24_5_version_without_reason_is_reported_as_pending() {
    let mut story = Story::installed();
    story.observed.csvs = Ok(vec![csv("quay.v1", "Pending")]);
    let ending = story.run().await;
    let (status, reason, _) = ending.of(Part::Csv);
    assert_eq!((status, reason), ("False", "ClusterServiceVersionPending"));
}

#[tokio::test]
async fn op_11_missing_version_is_listed_by_the_name_of_the_subscription() {
    let ending = Story::subscribed(&json!({})).run().await;
    assert_eq!(
        ending.of(Part::Csv),
        (
            "False",
            "ClusterServiceVersionMissing",
            "the ClusterServiceVersion required by the policy was not found"
        )
    );
    let related = [(
        "quay",
        "NonCompliant",
        "Resource not found but should exist",
    )];
    assert_eq!(ending.related(Part::Csv), related);
}

#[tokio::test]
async fn op_11_version_that_is_not_listed_is_not_approved() {
    let mut story = Story::installed();
    story.desired.versions.allowed = vec!["quay.v2".to_owned()];
    let ending = story.run().await;
    let message = "ClusterServiceVersion (quay.v1) is not an approved version";
    assert_eq!(
        ending.of(Part::Csv),
        ("False", "UnapprovedVersion", message)
    );
    assert_eq!(
        ending.related(Part::Csv),
        [("quay.v1", "NonCompliant", message)]
    );
}

#[tokio::test]
async fn op_11_starting_version_of_the_policy_is_allowed() {
    let mut story = Story::installed();
    story.desired.versions.allowed = vec!["quay.v2".to_owned()];
    let subscription = story.desired.subscription.as_mut().unwrap();
    subscription
        .spec
        .insert("startingCSV".to_owned(), json!("quay.v1"));
    assert_eq!(story.run().await.of(Part::Csv).1, "InstallSucceeded");
}

#[tokio::test]
async fn op_14_definitions_are_listed() {
    let ending = Story::installed().run().await;
    assert_eq!(
        ending.of(Part::Crd),
        (
            "True",
            "RelevantCRDFound",
            "there are CRDs present for the operator"
        )
    );
    assert_eq!(
        ending.related(Part::Crd),
        [("quays", "Compliant", "Resource found as expected")]
    );
    let ending = Story::enforce().run().await;
    assert_eq!(
        ending.of(Part::Crd),
        (
            "True",
            "RelevantCRDNotFound",
            "no CRDs were found for the operator"
        )
    );
    let none = [(
        "-",
        "Inapplicable",
        "No relevant CustomResourceDefinitions found",
    )];
    assert_eq!(ending.related(Part::Crd), none);
}

fn deployment(unavailable: i64) -> Object {
    let status = json!({"status": {"unavailableReplicas": unavailable}});
    object(Part::Deployment, "a", status)
}

#[rstest]
#[case::available(&[("a", Some(deployment(0)))], "NonCompliant",
    ("True", "DeploymentsAvailable", "all operator Deployments have their minimum availability"),
    &[("a", "Compliant", "Deployment Available")])]
#[case::unavailable(&[("a", Some(deployment(1)))], "NonCompliant",
    ("False", "DeploymentsUnavailable", "the deployments a do not have their minimum availability"),
    &[("a", "NonCompliant", "Deployment Unavailable")])]
#[case::unavailable_and_allowed(&[("a", Some(deployment(1)))], "Compliant",
    ("True", "DeploymentsUnavailable", "the deployments a do not have their minimum availability"),
    &[("a", "Compliant", "Deployment Unavailable (policy compliance is not impacted due to spec.complianceConfig.deploymentsUnavailable)")])]
#[case::all_missing(&[("a", None)], "NonCompliant",
    ("True", "NoExistingDeployments", "no existing operator Deployments"),
    &[("a", "NonCompliant", "Resource not found but should exist")])]
#[case::one_missing(&[("a", Some(deployment(0))), ("b", None)], "NonCompliant",
    ("True", "DeploymentsAvailable", "all operator Deployments have their minimum availability, but these were not found: b"),
    &[("a", "Compliant", "Deployment Available"),
      ("b", "NonCompliant", "Resource not found but should exist")])]
#[tokio::test]
async fn op_24_28_deployments(
    #[case] found: &[(&str, Option<Object>)],
    #[case] config: &str,
    #[case] condition: (&str, &str, &str),
    #[case] related: &[(&str, &str, &str)],
) {
    let config = json!({"deploymentsUnavailable": config});
    let mut story = Story::installed().spec("complianceConfig", config);
    let found = found.iter();
    let found = found.map(|(name, object)| ((*name).to_owned(), Ok(object.clone())));
    story.observed.deployments = found.collect();
    let ending = story.run().await;
    assert_eq!(ending.of(Part::Deployment), condition);
    assert_eq!(ending.related(Part::Deployment), related);
}

#[tokio::test]
async fn op_15_no_version_has_no_deployments() {
    let ending = Story::subscribed(&json!({})).run().await;
    assert_eq!(
        ending.of(Part::Deployment),
        (
            "True",
            "NoRelevantDeployments",
            "there are no relevant deployments because the ClusterServiceVersion is missing"
        )
    );
    let none = [("-", "Inapplicable", "No relevant deployments found")];
    assert_eq!(ending.related(Part::Deployment), none);
}

#[rstest]
#[case::missing(None, "Compliant", ("False", "CatalogSourcesNotFound", "CatalogSource 'catalog' was not found"),
    ("Compliant", "Resource not found but should exist"))]
#[case::missing_and_counting(None, "NonCompliant",
    ("True", "CatalogSourcesNotFound", "CatalogSource 'catalog' was not found"),
    ("NonCompliant", "Resource not found but should exist"))]
#[case::unhealthy(Some("CONNECTING"), "Compliant",
    ("False", "CatalogSourcesFoundUnhealthy", "CatalogSource was found but is unhealthy"),
    ("Compliant", "Resource found as expected but is unhealthy"))]
#[case::unhealthy_and_counting(Some("CONNECTING"), "NonCompliant",
    ("True", "CatalogSourcesFoundUnhealthy", "CatalogSource was found but is unhealthy"),
    ("NonCompliant", "Resource found as expected but is unhealthy"))]
#[case::healthy(Some("READY"), "NonCompliant",
    ("False", "CatalogSourcesFound", "CatalogSource was found"),
    ("Compliant", "Resource found as expected"))]
#[tokio::test]
async fn op_16_catalogs(
    #[case] state: Option<&str>,
    #[case] config: &str,
    #[case] condition: (&str, &str, &str),
    #[case] (compliant, reason): (&str, &str),
) {
    let config = json!({"catalogSourceUnhealthy": config});
    let mut story = Story::installed().spec("complianceConfig", config);
    story.observed.catalog_source = Ok(state.map(catalog));
    let ending = story.run().await;
    assert_eq!(ending.of(Part::CatalogSource), condition);
    assert_eq!(
        ending.related(Part::CatalogSource),
        [("catalog", compliant, reason)]
    );
}

#[tokio::test]
async fn op_24_6_unknown_state_of_the_catalog_ends_with_its_condition() {
    let config = json!({"catalogSourceUnhealthy": "NonCompliant"});
    let mut story = Story::installed().spec("complianceConfig", config);
    story.observed.catalog_source = Ok(Some(object(Part::CatalogSource, "catalog", json!({}))));
    let ending = story.run().await;
    let message = "could not determine last observed state of CatalogSource";
    let unknown = ("True", "LastObservedUnknown", message);
    assert_eq!(ending.condition("CatalogSourcesUnknownState"), unknown);
    assert_eq!(ending.of(Part::CatalogSource), unknown);
    story.again(&ending);
    story.observed.catalog_source = Ok(Some(catalog("READY")));
    let ending = story.run().await;
    assert_eq!(ending.of(Part::CatalogSource).1, "CatalogSourcesFound");
    let mut conditions = ending.status.conditions.iter().flatten();
    assert!(conditions.all(|condition| condition.type_ != "CatalogSourcesUnknownState"));
}
