//! Tests of the decisions about root policies.

use reeve_api::Policy;
use reeve_api::policy::{PolicyPlacement, PolicyStatus};
use rstest::rstest;
use serde_json::{Value, json};

use super::decide::{self, CurrentStatus, RootAction, RootLocation};
use super::publish;

use crate::index::{ClusterSummary, PlacementSummary};
use crate::root::{CachedRoot, StatusDigest};
use crate::status_size::MAX_OBJECT_BYTES;
use reeve_api::Compliance::{self, Compliant, NonCompliant, Pending, Terminating};

#[test]
fn root_in_a_cluster_namespace_is_deleted_unless_a_binding_names_it() {
    let bound = PlacementSummary {
        placements: vec![PolicyPlacement::default()],
        ..PlacementSummary::default()
    };
    let current = CurrentStatus::default();
    let after = |location, summary| decide::root(&current, location, summary);
    let unbound_summary = PlacementSummary::default;
    assert_eq!(
        after(RootLocation::InClusterNamespace, unbound_summary()),
        RootAction::DeleteMisplaced
    );
    assert_eq!(
        after(RootLocation::InClusterNamespace, bound.clone()),
        RootAction::KeepMisplaced
    );
    assert!(matches!(
        after(RootLocation::OutsideClusterNamespaces, bound.clone()),
        RootAction::Write(_)
    ));
    assert_eq!(
        after(RootLocation::OutsideClusterNamespaces, unbound_summary()),
        RootAction::Nothing
    );
    assert_eq!(
        after(RootLocation::Unknown, unbound_summary()),
        RootAction::Wait
    );
    assert_eq!(
        after(RootLocation::Unknown, bound),
        RootAction::KeepMisplaced
    );
}

#[rstest]
#[case(&[], None)]
#[case(&[Some(Compliant), Some(Compliant)], Some(Compliant))]
#[case(&[Some(Compliant), Some(NonCompliant)], Some(NonCompliant))]
#[case(&[Some(Compliant), Some(Pending)], Some(Pending))]
#[case(&[Some(Compliant), None], None)]
#[case(&[Some(Compliant), Some(Terminating)], None)]
#[case(&[Some(NonCompliant), Some(Pending)], Some(NonCompliant))]
#[case(&[Some(Pending), None], Some(Pending))]
#[case(&[Some(Compliant), Some(Pending), Some(NonCompliant), None], Some(NonCompliant))]
fn prop_147_compliance_is_the_worst_of_the_clusters(
    #[case] answers: &[Option<Compliance>],
    #[case] want: Option<Compliance>,
) {
    let clusters = answers
        .iter()
        .enumerate()
        .map(|(n, compliance)| (format!("c{n}"), placed_cluster(*compliance)))
        .collect();
    let summary = PlacementSummary {
        clusters,
        ..PlacementSummary::default()
    };
    let status = decide::status(&CurrentStatus::default(), summary);
    assert_eq!(status.unwrap_or_default().compliance(), want);
}

#[test]
fn status_is_written_only_when_it_changes_and_ends_as_an_empty_object() {
    let placements = vec![PolicyPlacement {
        placement_binding: Some("b".to_owned()),
        placement: Some("pl".to_owned()),
        ..PolicyPlacement::default()
    }];
    let summary = PlacementSummary {
        placements,
        clusters: [("c1".to_owned(), placed_cluster(Some(Compliant)))].into(),
    };
    let absent = CurrentStatus::default();
    let status = decide::status(&absent, summary.clone()).unwrap();
    assert_eq!(
        serde_json::to_value(&status).unwrap(),
        json!({
            "compliant": "Compliant",
            "placement": [{ "placement": "pl", "placementBinding": "b" }],
            "status": [{ "clustername": "c1", "clusternamespace": "c1", "compliant": "Compliant" }]
        })
    );
    let written = CurrentStatus {
        digest: StatusDigest::of(&status),
        ..CurrentStatus::default()
    };
    assert_eq!(decide::status(&written, summary.clone()), None);
    let unbound = decide::status(&written, PlacementSummary::default()).unwrap();
    assert_eq!(serde_json::to_value(&unbound).unwrap(), json!({}));
    assert_eq!(
        decide::status(&absent, PlacementSummary::default()),
        None,
        "PROP-149"
    );
}

fn placed_cluster(compliance: Option<Compliance>) -> ClusterSummary {
    ClusterSummary {
        compliance,
        placed: true,
        remaining: Vec::new(),
    }
}

#[test]
fn prop_147_excluded_clusters_are_listed_and_do_not_count() {
    let excluded = ClusterSummary {
        placed: false,
        remaining: vec!["direct".to_owned()],
        ..ClusterSummary::default()
    };
    let summary = |clusters: Vec<(&str, ClusterSummary)>| {
        let clusters = clusters.into_iter();
        PlacementSummary {
            clusters: clusters.map(|(name, of)| (name.to_owned(), of)).collect(),
            ..PlacementSummary::default()
        }
    };
    let clusters = vec![
        ("c1", placed_cluster(Some(Compliant))),
        ("c2", excluded.clone()),
    ];
    let status = decide::status(&CurrentStatus::default(), summary(clusters)).unwrap();
    assert_eq!(status.compliance(), Some(Compliant));
    assert_eq!(
        serde_json::to_value(&status.status).unwrap()[1],
        json!({
            "clustername": "c2", "clusternamespace": "c2",
            "remainingBindings": [{ "placementBinding": "direct" }]
        })
    );
    let none = summary(vec![("c2", excluded)]);
    let status = decide::status(&CurrentStatus::default(), none).unwrap();
    assert_eq!(status.compliance(), None, "no cluster is placed");
}

/// The lists of a status with this compliance.
fn live_status(compliance: &str) -> Value {
    let mut status = json!({
        "placement": [{ "placement": compliance }],
        "status": [{ "clustername": compliance }],
    });
    if !compliance.is_empty() {
        status["compliant"] = json!(compliance);
    }
    status
}

fn with_condition(mut status: Value) -> Value {
    status["conditions"] = json!([{ "type": "ClustersOmitted" }]);
    status
}

#[rstest]
#[case::another_compliance(live_status("Compliant"), live_status("NonCompliant"), true)]
#[case::no_compliance_any_more(live_status("Compliant"), live_status(""), true)]
#[case::the_first_compliance(live_status(""), live_status("Compliant"), true)]
#[case::the_first_status(json!({}), live_status("Pending"), false)]
#[case::a_list_goes(live_status("Compliant"), json!({ "placement": [{}] }), false)]
#[case::conditions_begin(
    live_status("Compliant"),
    with_condition(live_status("Compliant")),
    true
)]
#[case::conditions_end(
    with_condition(live_status("Compliant")),
    live_status("Compliant"),
    true
)]
#[case::everything_goes(live_status("Compliant"), json!({}), false)]
fn prop_149_json_patch_results_in_what_the_merge_patch_does(
    #[case] mut live: Value,
    #[case] desired: Value,
    #[case] has_json_patch: bool,
) {
    live["details"] = json!([{ "compliant": "kept" }]);
    let policy = json!({ "metadata": {}, "spec": { "disabled": false, "policy-templates": [] }, "status": live });
    let mut merged = policy.clone();
    let mut patched = policy.clone();
    let current = CachedRoot::of(serde_json::from_value::<Policy>(policy).unwrap());
    let desired: PolicyStatus = serde_json::from_value(desired).unwrap();
    json_patch::merge(&mut merged, &publish::merge_patch(&desired));
    assert_eq!(merged["status"]["details"], live["details"]);
    let patch = publish::json_patch(&current, &desired);
    assert_eq!(patch.is_some(), has_json_patch);
    if let Some(patch) = patch {
        let patch: json_patch::Patch = serde_json::from_value(json!(patch)).unwrap();
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(patched, merged);
    }
}

/// Clusters with names as long as names may be, of which every hundredth violates the policy.
fn large_summary(count: usize) -> PlacementSummary {
    let cluster = |number: usize| {
        let compliance = if number.is_multiple_of(100) {
            NonCompliant
        } else {
            Compliant
        };
        let name = format!("{number:05}-{}", "c".repeat(57));
        (name, placed_cluster(Some(compliance)))
    };
    PlacementSummary {
        clusters: (0..count).map(cluster).collect(),
        ..PlacementSummary::default()
    }
}

#[test]
fn prop_193_status_of_too_many_clusters_fits_and_counts_all() {
    let mut current = CurrentStatus {
        length_without_status: 100_000,
        ..CurrentStatus::default()
    };
    let status = decide::status(&current, large_summary(12_000)).unwrap();
    let length = serde_json::to_vec(&status).unwrap().len();
    assert!(length + 100_000 <= MAX_OBJECT_BYTES, "{length}");
    assert!(length + 101_500 > MAX_OBJECT_BYTES, "{length}");
    let listed = status.status.as_ref().unwrap();
    let violating = listed
        .iter()
        .filter(|one| one.compliant.as_deref() == Some("NonCompliant"));
    assert_eq!(violating.count(), 120);
    let condition = &status.conditions.as_ref().unwrap()[0];
    let message = condition.message.clone().unwrap();
    assert_eq!(
        message,
        format!(
            "The status lists {} of 12000 clusters, because an object must fit into etcd. All clusters: 120 NonCompliant, 11880 Compliant",
            listed.len()
        )
    );
    current.digest = StatusDigest::of(&status);
    current.omission = Some(message);
    assert_eq!(decide::status(&current, large_summary(12_000)), None);
}

#[test]
fn prop_193_condition_counts_a_cluster_that_was_not_listed() {
    let mut summary = large_summary(12_000);
    let status = decide::status(&CurrentStatus::default(), summary.clone()).unwrap();
    let mut conditions = status.conditions.clone().unwrap();
    let current = CurrentStatus {
        digest: StatusDigest::of(&status),
        omission: conditions.remove(0).message,
        ..CurrentStatus::default()
    };
    // What is not known is listed, in place of a cluster that complies.
    summary.clusters.values_mut().last().unwrap().compliance = None;
    let changed = decide::status(&current, summary).unwrap();
    let message = changed.conditions.unwrap()[0].message.clone().unwrap();
    assert!(
        message.ends_with("120 NonCompliant, 1 not known, 11879 Compliant"),
        "{message}"
    );
}

#[test]
fn prop_193_condition_goes_when_all_clusters_fit() {
    let current = CurrentStatus {
        omission: Some("The status lists 1 of 2 clusters".to_owned()),
        ..CurrentStatus::default()
    };
    let status = decide::status(&current, large_summary(10)).unwrap();
    assert_eq!(status.conditions, None);
}
