//! Sets and conditions: PLC-12, PLC-13, PLC-20, PLC-72, PLC-73.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_api::ocm::{ManagedCluster, ManagedClusterSet};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::membership::{Availability, available, bound, eligible};
use super::super::schedule::{PluginStatus, Schedule, Verdict};
use super::super::status::{misconfigured, satisfied};
use super::fixture::{bare, cluster, exclusive, labelled, placement, set};

fn sets(all: Vec<Arc<ManagedClusterSet>>) -> BTreeMap<String, Arc<ManagedClusterSet>> {
    let all = all.into_iter();
    all.map(|one| (one.metadata.name.clone().unwrap(), one))
        .collect()
}

#[rstest]
#[case::plc_20_set_without_binding(&["s1"], &[], &[])]
#[case::plc_20_binding_without_set(&[], &["s1"], &[])]
#[case::plc_20_both(&["s1"], &["s1"], &["s1"])]
fn bindings_with_existing_set_are_valid(
    #[case] present: &[&str],
    #[case] bindings: &[&str],
    #[case] expected: &[&str],
) {
    let present = sets(present.iter().map(|name| exclusive(name)).collect());
    assert_eq!(bound(bindings.iter().copied(), &present), expected);
}

#[rstest]
#[case::plc_20_no_bindings(json!(["s1"]), &[], &[])]
#[case::plc_20_names_none(json!([]), &["s1", "s2"], &["s1", "s2"])]
#[case::plc_20_both(json!(["s1", "s2"]), &["s2", "s3"], &["s2"])]
fn eligible_sets_are_bound_and_named(
    #[case] asked: Value,
    #[case] bound: &[&str],
    #[case] expected: &[&str],
) {
    let bound: Vec<String> = bound.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        eligible(&placement(json!({"clusterSets": asked})), &bound),
        expected
    );
}

fn member(name: &str, of: &str) -> Arc<ManagedCluster> {
    labelled(
        name,
        json!({"cluster.open-cluster-management.io/clusterset": of}),
    )
}

fn among(
    asked: &[&str],
    present: Vec<Arc<ManagedClusterSet>>,
    clusters: Vec<Arc<ManagedCluster>>,
) -> (Vec<String>, Vec<String>) {
    let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
    let clusters = clusters
        .into_iter()
        .map(|one| (one.name().to_owned(), one))
        .collect();
    let (found, unusable) = available(&asked, &sets(present), &clusters);
    (
        found.iter().map(|one| one.name().to_owned()).collect(),
        unusable,
    )
}

#[test]
fn plc_20_no_sets_no_clusters() {
    assert_eq!(
        among(&[], vec![exclusive("s1")], vec![member("c1", "s1")]).0,
        [""; 0]
    );
}

#[test]
fn plc_20_clusters_of_two_exclusive_sets_are_available() {
    let clusters = vec![member("c1", "s1"), member("c2", "s2"), member("c3", "s3")];
    let present = vec![exclusive("s1"), exclusive("s2"), exclusive("s3")];
    assert_eq!(among(&["s1", "s2"], present, clusters).0, ["c1", "c2"]);
}

#[test]
fn plc_20_terminating_cluster_is_not_available() {
    let going = cluster(
        "c2",
        json!({"metadata": {
            "labels": {"cluster.open-cluster-management.io/clusterset": "s1"},
            "deletionTimestamp": "2026-08-01T12:00:00Z",
        }}),
    );
    let clusters = vec![member("c1", "s1"), going];
    assert_eq!(among(&["s1"], vec![exclusive("s1")], clusters).0, ["c1"]);
}

#[rstest]
#[case::plc_12_no_type(json!({}), &["c1"])]
#[case::plc_12_empty_type(json!({"selectorType": ""}), &["c1"])]
#[case::plc_12_exclusive(json!({"selectorType": "ExclusiveClusterSetLabel"}), &["c1"])]
#[case::plc_12_by_labels(
    json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"vendor": "openShift"}}}), &["c2"]
)]
#[case::plc_12_all(json!({"selectorType": "LabelSelector", "labelSelector": {}}), &["c1", "c2", "c3"])]
#[case::without_selector(json!({"selectorType": "LabelSelector"}), &[])]
fn members_match_selector_of_set(#[case] selector: Value, #[case] expected: &[&str]) {
    let clusters = vec![
        member("c1", "s1"),
        labelled("c2", json!({"vendor": "openShift"})),
        member("c3", "s2"),
    ];
    assert_eq!(
        among(&["s1"], vec![set("s1", selector)], clusters).0,
        expected
    );
}

#[test]
fn plc_13_unknown_selector_type_excludes_only_its_set() {
    let present = vec![
        exclusive("s1"),
        set("s2", json!({"selectorType": "errorType"})),
    ];
    let (found, unusable) = among(&["s1", "s2"], present, vec![member("c1", "s1")]);
    assert_eq!(found, ["c1"]);
    let wrong =
        "failed to get clusters from ClusterSet \"s2\": selectorType is not right: errorType";
    assert_eq!(unusable, [wrong]);
    let condition = misconfigured(&Verdict::Success, &unusable);
    assert_eq!(
        (condition.holds, condition.message),
        (true, format!(":{wrong}"))
    );
}

#[test]
fn plc_20_clusters_of_deleted_set_are_not_available() {
    assert_eq!(
        among(&["s1"], vec![], vec![member("c1", "s1")]),
        (vec![], vec![])
    );
}

struct Given {
    bound: &'static [&'static str],
    eligible: &'static [&'static str],
    available: usize,
    selected: usize,
    unscheduled: usize,
}

#[rstest]
#[case::plc_73_no_bindings(
    Given { bound: &[], eligible: &[], available: 0, selected: 0, unscheduled: 0 },
    "NoManagedClusterSetBindings", "No valid ManagedClusterSetBindings found in placement namespace"
)]
#[case::plc_73_no_intersection(
    Given { bound: &["s3"], eligible: &[], available: 0, selected: 0, unscheduled: 0 },
    "NoIntersection", "None of ManagedClusterSets [s2,s1] is bound to placement namespace"
)]
#[case::plc_73_empty_sets(
    Given { bound: &["s1", "s2"], eligible: &["s1", "s2"], available: 0, selected: 0, unscheduled: 0 },
    "AllManagedClusterSetsEmpty", "All ManagedClusterSets [s1,s2] have no member ManagedCluster"
)]
#[case::plc_73_no_matching_cluster(
    Given { bound: &["s1"], eligible: &["s1"], available: 1, selected: 0, unscheduled: 0 },
    "NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate"
)]
#[case::plc_73_all_scheduled(
    Given { bound: &["s1"], eligible: &["s1"], available: 1, selected: 1, unscheduled: 0 },
    "AllDecisionsScheduled", "All cluster decisions scheduled"
)]
#[case::plc_73_not_all_scheduled(
    Given { bound: &["s1"], eligible: &["s1"], available: 1, selected: 1, unscheduled: 1 },
    "NotAllDecisionsScheduled", "1 cluster decisions unscheduled"
)]
fn placement_satisfied_has_reason_and_message(
    #[case] given: Given,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let clusters = |count: usize| bare(&["c1"; 1][..count]);
    let among = Availability {
        bound: owned(given.bound),
        eligible: owned(given.eligible),
        clusters: clusters(given.available),
        unusable: Vec::new(),
    };
    let schedule = Schedule {
        selected: clusters(given.selected),
        unscheduled: given.unscheduled,
        ..Schedule::default()
    };
    let condition = satisfied(
        &placement(json!({"clusterSets": ["s2", "s1"]})),
        &among,
        &schedule,
    );
    assert_eq!((condition.reason, &*condition.message), (reason, message));
    assert_eq!(condition.holds, reason == "AllDecisionsScheduled");
}

fn plugin_status() -> PluginStatus {
    PluginStatus {
        plugin: "plugin".to_owned(),
        message: "reasons".to_owned(),
    }
}

#[rstest]
#[case::plc_72_success(Verdict::Success, false, "Placement configurations check pass")]
#[case::plc_72_error(
    Verdict::Error(plugin_status()),
    false,
    "Placement configurations check pass"
)]
#[case::plc_72_misconfigured(Verdict::Misconfigured(plugin_status()), true, "plugin:reasons")]
#[case::warning(
    Verdict::Warning(plugin_status()),
    false,
    "Placement configurations check pass"
)]
fn placement_misconfigured_has_reason_and_message(
    #[case] verdict: Verdict,
    #[case] holds: bool,
    #[case] message: &str,
) {
    let condition = misconfigured(&verdict, &[]);
    assert_eq!((condition.holds, &*condition.message), (holds, message));
    let reason = if holds {
        "Misconfigured"
    } else {
        "Succeedconfigured"
    };
    assert_eq!(condition.reason, reason);
}
