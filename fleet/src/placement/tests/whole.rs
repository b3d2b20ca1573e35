//! Whole schedules: PLC-29 to PLC-59.

use serde_json::json;

use super::super::schedule::Verdict;
use super::fixture::{Case, bare, chosen, cluster, decision, score, scores_of, table};

fn filter_names(schedule: &super::super::schedule::Schedule) -> Vec<&str> {
    schedule
        .filters
        .iter()
        .map(|one| one.name.as_str())
        .collect()
}

#[test]
fn plc_59_all_clusters_of_one_set() {
    let schedule = Case::new(json!({}), bare(&["c1"])).run();
    assert_eq!(chosen(&schedule), ["c1"]);
    assert_eq!(scores_of(&schedule, "Balance"), table(&[("c1", 100)]));
    assert_eq!(scores_of(&schedule, "Steady"), table(&[("c1", 0)]));
    assert_eq!(schedule.unscheduled, 0);
    assert_eq!(
        filter_names(&schedule),
        ["Predicate", "Predicate,TaintToleration"]
    );
    assert!(schedule.filters.iter().all(|one| one.clusters == ["c1"]));
}

#[test]
fn plc_59_three_clusters_requested_one_exists() {
    let schedule = Case::new(json!({"numberOfClusters": 3}), bare(&["c1"])).run();
    assert_eq!(chosen(&schedule), ["c1"]);
    assert_eq!(schedule.unscheduled, 2);
}

#[test]
fn plc_44_toleration_without_key() {
    let spec = json!({"numberOfClusters": 3, "tolerations": [{"operator": "Equal", "value": "v"}]});
    let schedule = Case::new(spec, bare(&["c1"])).run();
    let wrong = Verdict::misconfigured(
        "TaintToleration",
        "If the key is empty, operator must be Exists.",
    );
    assert_eq!(schedule.verdict, wrong);
    assert_eq!(filter_names(&schedule), ["Predicate"]);
    assert!(schedule.prioritizers.is_empty());
    assert_eq!(schedule.unscheduled, 0);
    assert!(schedule.selected.is_empty());
}

#[test]
fn plc_52_2_chosen_clusters_stay() {
    let schedule = Case::new(json!({"numberOfClusters": 2}), bare(&["c1", "c2", "c3"]))
        .decided(&[decision("placement1", 1, &["c1", "c2"])])
        .run();
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
    let all = table(&[("c1", 100), ("c2", 100), ("c3", 100)]);
    assert_eq!(scores_of(&schedule, "Balance"), all);
    let steady = table(&[("c1", 100), ("c2", 100), ("c3", 0)]);
    assert_eq!(scores_of(&schedule, "Steady"), steady);
}

#[test]
fn plc_49_empty_mode_is_additive() {
    let spec = json!({"prioritizerPolicy": {"mode": ""}});
    let schedule = Case::new(spec, bare(&["c1"])).run();
    let prioritizers: Vec<_> = schedule
        .prioritizers
        .iter()
        .map(|one| (one.name.as_str(), one.weight, one.scores["c1"]))
        .collect();
    assert_eq!(prioritizers, [("Balance", 1, 100), ("Steady", 1, 0)]);
}

#[test]
fn plc_45_cluster_with_untolerated_taint_is_not_chosen() {
    let tainted = |name: &str, key: &str| {
        let taint = json!({"key": key, "value": "value1", "effect": "NoSelect"});
        cluster(name, json!({"spec": {"taints": [taint]}}))
    };
    let spec = json!({
        "numberOfClusters": 3,
        "tolerations": [{"key": "key1", "operator": "Equal", "value": "value1"}],
    });
    let clusters = vec![
        tainted("c1", "key1"),
        tainted("c2", "key2"),
        cluster("c3", json!({})),
    ];
    let schedule = Case::new(spec, clusters).run();
    assert_eq!(chosen(&schedule), ["c1", "c3"]);
    assert_eq!(schedule.unscheduled, 1);
    assert_eq!(schedule.filters[0].clusters, ["c1", "c2", "c3"]);
    assert_eq!(schedule.filters[1].clusters, ["c1", "c3"]);
}

fn with_memory(name: &str, allocatable: u32) -> std::sync::Arc<reeve_api::ocm::ManagedCluster> {
    let status = json!({
        "allocatable": {"memory": allocatable.to_string()},
        "capacity": {"memory": "100"},
    });
    cluster(name, json!({"status": status}))
}

fn memories() -> Vec<std::sync::Arc<reeve_api::ocm::ManagedCluster>> {
    vec![
        with_memory("c1", 100),
        with_memory("c2", 50),
        with_memory("c3", 0),
    ]
}

#[test]
fn plc_49_additive_weights() {
    let spec = json!({"numberOfClusters": 2, "prioritizerPolicy": {"mode": "Additive", "configurations": [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance"}, "weight": 3},
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableMemory"}, "weight": 1},
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "demo", "scoreName": "demo"}}, "weight": 1},
    ]}});
    let scores = ["c1", "c2", "c3"].iter().zip([30, 40, 50]);
    let scores = scores.map(|(name, value)| score(name, "demo", &[("demo", value)], None));
    let schedule = Case::new(spec, memories()).scored(scores.collect()).run();
    let memory = table(&[("c1", 100), ("c2", 0), ("c3", -100)]);
    assert_eq!(scores_of(&schedule, "ResourceAllocatableMemory"), memory);
    assert_eq!(
        schedule.totals,
        table(&[("c1", 430), ("c2", 340), ("c3", 250)])
    );
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
    assert_eq!(scores_of(&schedule, "AddOn/demo/demo")["c3"], 50);
}

#[test]
fn plc_49_exact_weights() {
    let spec = json!({"numberOfClusters": 2, "prioritizerPolicy": {"mode": "Exact", "configurations": [
        {"scoreCoordinate": {"builtIn": "Balance"}, "weight": 3},
        {"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}, "weight": 1},
    ]}});
    let schedule = Case::new(spec, memories()).run();
    assert!(schedule.prioritizers.iter().all(|one| one.name != "Steady"));
    assert_eq!(
        schedule.totals,
        table(&[("c1", 400), ("c2", 300), ("c3", 200)])
    );
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
}

#[test]
fn plc_59_four_clusters_requested_of_two_sets() {
    let schedule = Case::new(json!({"numberOfClusters": 4}), bare(&["c1", "c2"]))
        .decided(&[decision("placement1", 1, &["c1"])])
        .run();
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
    assert_eq!(
        scores_of(&schedule, "Steady"),
        table(&[("c1", 100), ("c2", 0)])
    );
    assert_eq!(schedule.unscheduled, 2);
}

#[test]
fn plc_52_1_balance_avoids_clusters_of_other_placements() {
    let schedule = Case::new(json!({"numberOfClusters": 1}), bare(&["c1", "c2", "c3"]))
        .decided(&[decision("others", 1, &["c1", "c2"])])
        .run();
    let balance = table(&[("c1", -100), ("c2", -100), ("c3", 100)]);
    assert_eq!(scores_of(&schedule, "Balance"), balance);
    assert_eq!(chosen(&schedule), ["c3"]);
    assert_eq!(schedule.filters[1].clusters, ["c3", "c1", "c2"]);
}

#[test]
fn plc_52_1_steady_outweighs_balance() {
    let schedule = Case::new(json!({"numberOfClusters": 1}), bare(&["c1", "c2", "c3"]))
        .decided(&[
            decision("others", 1, &["c2", "c3"]),
            decision("more", 1, &["c1", "c2"]),
            decision("placement1", 1, &["c3"]),
        ])
        .run();
    let balance = table(&[("c1", 0), ("c2", -100), ("c3", 0)]);
    assert_eq!(scores_of(&schedule, "Balance"), balance);
    assert_eq!(chosen(&schedule), ["c3"]);
}

#[test]
fn plc_29_negative_number_is_misconfigured() {
    let schedule = Case::new(json!({"numberOfClusters": -1}), bare(&["c1"])).run();
    let wrong = "numberOfClusters must not be negative: -1";
    assert_eq!(schedule.verdict, Verdict::misconfigured("", wrong));
    assert!(schedule.selected.is_empty());
}

#[test]
fn plc_32_invalid_placement_is_reported_without_clusters() {
    let spec = json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {
        "matchExpressions": [{"key": "a", "operator": "Has"}]}}}]});
    let schedule = Case::new(spec, Vec::new()).run();
    let wrong = "\"Has\" is not a valid label selector operator";
    assert_eq!(schedule.verdict, Verdict::misconfigured("Predicate", wrong));
    let spec = json!({"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]});
    let schedule = Case::new(spec, Vec::new()).run();
    assert!(schedule.verdict.aborts());
}

#[test]
fn no_cluster_is_chosen_when_none_are_requested() {
    let schedule = Case::new(json!({"numberOfClusters": 0}), bare(&["c1"])).run();
    assert!(schedule.selected.is_empty());
    assert_eq!(
        (schedule.unscheduled, schedule.verdict),
        (0, Verdict::Success)
    );
}
