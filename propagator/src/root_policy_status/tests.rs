//! Decisions about the statuses of root policies.

use reeve_api::policy::PolicyPlacement;
use rstest::rstest;
use serde_json::json;

use super::decide::{self, RootAction, RootLocation};
use crate::index::{ClusterReach, Reach};
use crate::root::StatusDigest;
use reeve_api::Compliance::{self, Compliant, NonCompliant, Pending, Terminating};

// By value, so that calls read as one literal.
#[test]
fn strays_in_cluster_namespaces_go_unless_somebody_binds_them() {
    let bound = Reach {
        placements: vec![PolicyPlacement::default()],
        ..Reach::default()
    };
    let stray = StatusDigest::default();
    let after = |location, reach| decide::root(&stray, location, reach);
    let nobody = Reach::default;
    assert_eq!(
        after(RootLocation::InClusterNamespace, nobody()),
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
        after(RootLocation::OutsideClusterNamespaces, nobody()),
        RootAction::Nothing
    );
    assert_eq!(after(RootLocation::Unknown, nobody()), RootAction::Wait);
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
fn case_u16_root_compliance(
    #[case] answers: &[Option<Compliance>],
    #[case] want: Option<Compliance>,
) {
    let clusters = answers
        .iter()
        .enumerate()
        .map(|(n, compliance)| (format!("c{n}"), placed_cluster(*compliance)))
        .collect();
    let reach = Reach {
        clusters,
        ..Reach::default()
    };
    let status = decide::status(&StatusDigest::default(), reach);
    assert_eq!(status.unwrap_or_default().compliance(), want);
}

#[test]
fn a_status_is_written_only_when_it_changes_and_ends_as_an_empty_object() {
    let placements = vec![PolicyPlacement {
        placement_binding: Some("b".to_owned()),
        placement: Some("pl".to_owned()),
        ..PolicyPlacement::default()
    }];
    let reach = Reach {
        placements,
        clusters: [("c1".to_owned(), placed_cluster(Some(Compliant)))].into(),
    };
    let absent = StatusDigest::default();
    let status = decide::status(&absent, reach.clone()).unwrap();
    assert_eq!(
        serde_json::to_value(&status).unwrap(),
        json!({
            "compliant": "Compliant",
            "placement": [{ "placement": "pl", "placementBinding": "b" }],
            "status": [{ "clustername": "c1", "clusternamespace": "c1", "compliant": "Compliant" }]
        })
    );
    let written = StatusDigest::of(&status);
    assert_eq!(decide::status(&written, reach.clone()), None);
    let unbound = decide::status(&written, Reach::default()).unwrap();
    assert_eq!(serde_json::to_value(&unbound).unwrap(), json!({}));
    assert_eq!(
        decide::status(&absent, Reach::default()),
        None,
        "rough edge 4"
    );
}

fn placed_cluster(compliance: Option<Compliance>) -> ClusterReach {
    ClusterReach {
        compliance,
        placed: true,
        remaining: Vec::new(),
    }
}

#[test]
fn rough_edge_01_excluded_clusters_are_listed_and_do_not_count() {
    let excluded = ClusterReach {
        placed: false,
        remaining: vec!["direct".to_owned()],
        ..ClusterReach::default()
    };
    let reach = |clusters: Vec<(&str, ClusterReach)>| {
        let clusters = clusters.into_iter();
        Reach {
            clusters: clusters.map(|(name, of)| (name.to_owned(), of)).collect(),
            ..Reach::default()
        }
    };
    let clusters = vec![
        ("c1", placed_cluster(Some(Compliant))),
        ("c2", excluded.clone()),
    ];
    let status = decide::status(&StatusDigest::default(), reach(clusters)).unwrap();
    assert_eq!(status.compliance(), Some(Compliant));
    assert_eq!(
        serde_json::to_value(&status.status).unwrap()[1],
        json!({
            "clustername": "c2", "clusternamespace": "c2",
            "remainingBindings": [{ "placementBinding": "direct" }]
        })
    );
    let none = reach(vec![("c2", excluded)]);
    let status = decide::status(&StatusDigest::default(), none).unwrap();
    assert_eq!(status.compliance(), None, "no cluster is meant to have it");
}
