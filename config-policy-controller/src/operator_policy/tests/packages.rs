//! Package manifests: deprecations, newer channels, defaults.

use rstest::rstest;
use serde_json::json;

use super::super::decide::spec::defaults::{from_existing, from_package};
use super::super::decide::spec::draft;
use super::*;

const NAME: &str = "NoDeprecations";

fn package(status: Value) -> Value {
    let mut package = json!({"status": {
        "packageName": "quay", "catalogSource": "catalog", "catalogSourceNamespace": "olm",
        "defaultChannel": "stable-3.9",
        "channels": [{"name": "stable-3.9", "entries": [{"name": "quay.v1"}], "currentCSVDesc": {
            "annotations": {"operatorframework.io/suggested-namespace": "quay-system"},
        }}],
    }});
    merge(&mut package["status"], status);
    package
}

fn with_package(status: Value) -> Story {
    let mut story = Story::installed();
    story.observed.package = Ok(Some(Arc::new(package(status))));
    story
}

fn channel(more: Value) -> Value {
    let mut channel = json!({"name": "stable-3.9", "entries": [{"name": "quay.v1"}]});
    merge(&mut channel, more);
    json!({"channels": [channel]})
}

#[rstest]
#[case::none(json!({}), ("True", "Recommended",
    "The requested package, channel, and bundle are all at the recommended versions"))]
#[case::package(json!({"deprecation": {"message": "gone"}}),
    ("False", "PackageDeprecated", "the requested quay Package was deprecated. gone"))]
#[case::channel(channel(json!({"deprecation": {"message": "old"}})),
    ("False", "ChannelDeprecated", "the requested stable-3.9 Channel was deprecated. old"))]
#[case::bundle(channel(json!({"entries": [{"name": "quay.v1", "deprecation": {"message": "bad"}}]})),
    ("False", "BundleDeprecated", "the requested quay.v1 Bundle was deprecated. bad"))]
#[tokio::test]
async fn op_12_deprecations(#[case] status: Value, #[case] condition: (&str, &str, &str)) {
    let ending = with_package(status).run().await;
    assert_eq!(ending.condition(NAME), condition);
    // It does not count unless the policy says so.
    assert_eq!(ending.status.compliant.as_deref(), Some("Compliant"));
}

#[tokio::test]
async fn op_24_7_deprecation_is_reported() {
    let mut story = with_package(json!({})).spec(
        "complianceConfig",
        json!({"deprecationsPresent": "NonCompliant"}),
    );
    let ending = story.run().await;
    assert_eq!(ending.status.compliant.as_deref(), Some("Compliant"));
    story.again(&ending);
    let deprecated = package(json!({"deprecation": {"message": "gone"}}));
    story.observed.package = Ok(Some(Arc::new(deprecated)));
    let ending = story.run().await;
    assert_eq!(ending.status.compliant.as_deref(), Some("NonCompliant"));
    let [report] = ending.reports.as_slice() else {
        panic!("{:?}", ending.reports);
    };
    assert!(report.ends_with(", the requested quay Package was deprecated. gone"));
}

#[rstest]
#[case::package_name(json!({"packageName": ""}))]
#[case::entries(json!({"channels": [{"name": "stable-3.9"}]}))]
#[case::channels(json!({"channels": null}))]
#[tokio::test]
async fn op_24_8_incomplete_manifest_stops_nothing_else(#[case] status: Value) {
    let ending = with_package(status).run().await;
    assert!(ending.acted.errors[0].starts_with("failed to get "));
    assert!(!ending.has(Part::Deprecations));
    assert!(ending.has(Part::Crd) && ending.has(Part::CatalogSource));
}

#[tokio::test]
async fn op_24_9_unreadable_manifest_stops_nothing_else() {
    let mut story = Story::installed();
    story.observed.package = Err("the server is currently unable to handle the request".to_owned());
    let ending = story.run().await;
    assert_eq!(ending.status.compliant.as_deref(), Some("Compliant"));
    assert_eq!(ending.acted.errors.len(), 1);
}

#[tokio::test]
async fn op_24_29_unknown_deprecations_are_explained() {
    let config = json!({
        "deprecationsPresent": "NonCompliant", "minorChannelUpgradeAvailable": "NonCompliant",
    });
    let ending = Story::installed()
        .spec("complianceConfig", config)
        .run()
        .await;
    assert!(ending.reports[0].starts_with("NonCompliant; "));
    let message =
        ", the deprecations could not be determined because the PackageManifest was not found";
    assert!(
        ending.reports[0].ends_with(message),
        "{}",
        ending.reports[0]
    );
}

fn channels(names: &[&str]) -> Value {
    let channels: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    json!({"channels": channels})
}

#[rstest]
#[case::letters("Fake-Operatorv2026.30",
    &["Fake-Operatorv2026.40", "Fake-Operatorv2026.50", "Fake-Operatorv2026.20"],
    &["Fake-Operatorv2026.40", "Fake-Operatorv2026.50"])]
#[case::sorted("openshift-virt-1.2", &["openshift-virt-1.4", "openshift-virt-1.3"],
    &["openshift-virt-1.3", "openshift-virt-1.4"])]
#[case::x("1.1.x", &["1.2.x", "1.3"], &["1.2.x"])]
#[case::v_and_x("v1.1.x", &["v1.2.x", "1.2.x"], &["v1.2.x"])]
#[case::plain("3.17", &["3.18", "4.18", "3.9"], &["3.18"])]
#[case::lexical_order("4.8", &["4.10", "4.9"], &["4.10", "4.9"])]
#[case::other_prefix("stable-1.1", &["fast-1.2"], &[])]
#[case::no_version("stable", &["stable-1.2"], &[])]
#[case::empty("", &["1.2"], &[])]
#[case::more_text("stable-pg-v13", &["stable-pg-v14"], &[])]
#[case::x_for_the_minor("stable-2.x", &["stable-3.x"], &[])]
#[case::bad("v1.bad.x", &["v1.2.x"], &[])]
#[case::op_24_30_dot_is_a_dot("1.1.x", &["1.2ax"], &[])]
#[case::huge("1.1", &["1.99999999999999999999999"], &["1.99999999999999999999999"])]
#[tokio::test]
async fn op_13_newer_channels(
    #[case] selected: &str,
    #[case] names: &[&str],
    #[case] newer: &[&str],
) {
    let mut story = with_package(channels(names));
    let subscription = story.desired.subscription.as_mut().unwrap();
    subscription
        .spec
        .insert("channel".to_owned(), json!(selected));
    if selected.is_empty() {
        let manifest = package(merged(channels(names), json!({"defaultChannel": ""})));
        story.observed.package = Ok(Some(Arc::new(manifest)));
    }
    let ending = story.run().await;
    let (status, reason, message) = ending.of(Part::MinorChannel);
    assert_eq!(status, "True");
    if newer.is_empty() {
        assert_eq!(reason, "Recommended");
        assert_eq!(message, "the subscription is on the recommended channel");
    } else {
        assert_eq!(reason, "UpgradeAvailable");
        let names = newer.join(", ");
        assert_eq!(
            message,
            format!("a newer version of the operator is available in channel(s): {names}")
        );
    }
}

fn merged(mut into: Value, from: Value) -> Value {
    merge(&mut into, from);
    into
}

#[tokio::test]
async fn op_13_newer_channel_counts_if_the_policy_says_so() {
    let config = json!({"minorChannelUpgradeAvailable": "NonCompliant"});
    let story = with_package(channels(&["stable-3.10"])).spec("complianceConfig", config);
    let ending = story.run().await;
    assert_eq!(ending.of(Part::MinorChannel).0, "False");
    let end = "a newer version of the operator is available in channel(s): stable-3.10";
    assert!(ending.reports[0].ends_with(end));
}

#[rstest]
#[case::no_package(Story::installed())]
#[case::upgrades_are_not_approved(with_package(json!({})).spec("upgradeApproval", json!("None")))]
#[case::mustnothave(with_package(json!({})).mustnothave())]
#[case::unknown_operator({ let mut story = with_package(json!({})); story.desired = Desired::default(); story })]
#[tokio::test]
async fn op_13_skipped(#[case] story: Story) {
    let ending = story.run().await;
    let message = "skipping check for minor channel upgrades";
    assert_eq!(ending.of(Part::MinorChannel), ("True", "Skipped", message));
}

fn status_with(namespaces: &[&str]) -> OperatorPolicyStatus {
    let related = namespaces.iter().map(|namespace| {
        json!({"object": {"kind": "Subscription", "metadata": {"name": "quay", "namespace": namespace}}})
    });
    let related: Vec<Value> = related.collect();
    serde_json::from_value(json!({"relatedObjects": related})).unwrap()
}

#[rstest]
#[case::all(json!({}), json!({}), &[],
    Ok(("stable-3.9", "catalog", "olm", Some("quay-system"))))]
#[case::namespace_of_status(json!({}), json!({}), &["known"],
    Ok(("stable-3.9", "catalog", "olm", Some("known"))))]
#[case::two_in_status(json!({}), json!({}), &["a", "b"],
    Ok(("stable-3.9", "catalog", "olm", Some("quay-system"))))]
#[case::no_suggestion(json!({"channel": "other"}), json!({}), &[],
    Ok(("other", "catalog", "olm", None)))]
#[case::no_catalog(json!({}), json!({"catalogSource": ""}), &[],
    Err("the subscription defaults could not be determined because the PackageManifest didn't specify a catalog"))]
#[case::other_catalog(json!({"source": "wrong"}), json!({}), &[],
    Err("the subscription defaults could not be determined because the catalog specified in the policy does not match what was found in the PackageManifest on the cluster"))]
#[case::no_channel(json!({}), json!({"defaultChannel": ""}), &[],
    Err("the default channel could not be determined because the PackageManifest didn't specify one"))]
fn op_5_4_defaults(
    #[case] given: Value,
    #[case] manifest: Value,
    #[case] namespaces: &[&str],
    #[case] expected: Result<(&str, &str, &str, Option<&str>), &str>,
) {
    let mut draft = draft(&merged(json!({"name": "quay"}), given)).unwrap();
    let filled = from_package(&mut draft, &package(manifest), &status_with(namespaces));
    let fields = ["channel", "source", "sourceNamespace"].map(|field| draft.field(field));
    let [channel, source, source_namespace] = fields;
    let found = filled.map(|()| {
        (
            channel,
            source,
            source_namespace,
            draft.namespace.as_deref(),
        )
    });
    assert_eq!(found, expected.map_err(str::to_owned));
}

#[test]
fn op_5_4_defaults_of_an_existing_subscription() {
    let mut draft = draft(&json!({"name": "quay", "channel": "own"})).unwrap();
    assert!(draft.needs_defaults());
    let spec = json!({"channel": "theirs", "source": "s", "sourceNamespace": "n"});
    from_existing(&mut draft, &json!({"spec": spec}), "operators");
    let fields = ["channel", "source", "sourceNamespace"].map(|field| draft.field(field));
    assert_eq!(fields, ["own", "s", "n"]);
    assert!(!draft.needs_defaults());
}
