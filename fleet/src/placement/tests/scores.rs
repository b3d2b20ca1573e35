//! Scores and weights of prioritizers: PLC-50 to PLC-56.

use std::sync::Arc;

use reeve_api::ocm::{ManagedCluster, PlacementDecision};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::schedule::Verdict;
use super::fixture::{Case, ago, bare, cluster, decision, now, score, scores_of, table};

const NAMES: [&str; 3] = ["cluster1", "cluster2", "cluster3"];

fn only(coordinate: Value) -> Value {
    json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate}]}})
}

fn add_on() -> Value {
    only(json!({"type": "AddOn", "addOn": {"resourceName": "test", "scoreName": "score1"}}))
}

fn built_in(name: &str) -> Value {
    only(json!({"builtIn": name}))
}

#[rstest]
#[case::plc_52_4_no_objects(&[], [0, 0, 0])]
#[case::plc_52_4_only_one(&[30], [30, 0, 0])]
#[case::plc_52_4_all(&[30, 40, 50], [30, 40, 50])]
fn add_on_scores_are_used(#[case] values: &[i32], #[case] expected: [i64; 3]) {
    let scores = NAMES.iter().zip(values);
    let scores = scores.map(|(name, value)| score(name, "test", &[("score1", *value)], None));
    let schedule = Case::new(add_on(), bare(&NAMES))
        .scored(scores.collect())
        .run();
    let expected: Vec<_> = NAMES.into_iter().zip(expected).collect();
    assert_eq!(scores_of(&schedule, "AddOn/test/score1"), table(&expected));
    assert_eq!(schedule.verdict, Verdict::Success);
}

#[test]
fn plc_52_4_expired_score_is_ignored() {
    let scores = vec![
        score("cluster1", "test", &[("score1", 30)], Some(ago(30))),
        score("cluster2", "test", &[("score1", 40)], None),
        score("cluster3", "test", &[("score1", 50)], Some(ago(-60))),
    ];
    let schedule = Case::new(add_on(), bare(&NAMES)).scored(scores).run();
    let expected = table(&[("cluster1", 0), ("cluster2", 40), ("cluster3", 50)]);
    assert_eq!(scores_of(&schedule, "AddOn/test/score1"), expected);
    let Verdict::Warning(warning) = &schedule.verdict else {
        panic!("{:?}", schedule.verdict)
    };
    assert_eq!(
        warning.message,
        "AddOnPlacementScores cluster1/test expired"
    );
    assert_eq!(schedule.selected.len(), 3);
}

#[test]
fn plc_56_expiry_of_a_score_requeues() {
    let scores = vec![score("cluster1", "test", &[("score1", 30)], Some(ago(-60)))];
    let case = Case::new(add_on(), bare(&NAMES)).scored(scores);
    let again = case.run().again_at.unwrap();
    assert!(again > ago(-60) && again <= ago(-61), "{again}");
    let mut later = case;
    later.inputs.now = again;
    assert!(matches!(later.run().verdict, Verdict::Warning(_)));
    later.inputs.now = ago(-60);
    assert_eq!(later.run().verdict, Verdict::Success);
}

fn with(resource: &str, values: &[(&str, &str)]) -> Vec<Arc<ManagedCluster>> {
    let of = |(allocatable, capacity): &(&str, &str)| json!({"allocatable": {resource: allocatable}, "capacity": {resource: capacity}});
    let clusters = NAMES.iter().zip(values);
    clusters
        .map(|(name, value)| cluster(name, json!({"status": of(value)})))
        .collect()
}

#[rstest]
#[case::plc_52_3_memory("memory", [("20", "100"), ("60", "100"), ("100", "100")], [-100, 0, 100])]
#[case::plc_52_3_same_memory("memory", [("50", "100"), ("50", "100"), ("50", "100")], [100, 100, 100])]
#[case::plc_52_3_no_free_memory("memory", [("0", "100"), ("0", "100"), ("0", "100")], [100, 100, 100])]
#[case::plc_52_3_cpu("cpu", [("10", "10"), ("6", "10"), ("2", "10")], [100, 0, -100])]
#[case::plc_52_3_same_cpu("cpu", [("5", "10"), ("5", "10"), ("5", "10")], [100, 100, 100])]
#[case::plc_52_3_no_free_cpu("cpu", [("0", "10"), ("0", "10"), ("0", "10")], [100, 100, 100])]
#[case::plc_52_3_truncated_and_not_rounded("memory", [("50", "100"), ("80", "100"), ("100", "100")], [-100, 19, 100])]
#[case::nine_of_seven_to_ten("cpu", [("7", "10"), ("9", "10"), ("10", "10")], [-100, 33, 100])]
#[case::eighty_of_fifty_to_ninety("memory", [("50", "100"), ("80", "100"), ("90", "100")], [-100, 50, 100])]
#[case::ninety_of_fifty_to_hundred("memory", [("50", "100"), ("90", "100"), ("100", "100")], [-100, 60, 100])]
fn allocatable_resources_are_scored(
    #[case] resource: &str,
    #[case] values: [(&str, &str); 3],
    #[case] expected: [i64; 3],
) {
    let name = match resource {
        "cpu" => "ResourceAllocatableCPU",
        _ => "ResourceAllocatableMemory",
    };
    let schedule = Case::new(built_in(name), with(resource, &values)).run();
    let expected: Vec<_> = NAMES.into_iter().zip(expected).collect();
    assert_eq!(scores_of(&schedule, name), table(&expected));
}

#[rstest]
#[case::plc_52_3_memory("ResourceAllocatableMemory")]
#[case::plc_52_3_cpu("ResourceAllocatableCPU")]
fn clusters_without_resources_have_no_scores(#[case] name: &str) {
    let schedule = Case::new(built_in(name), bare(&NAMES)).run();
    assert_eq!(scores_of(&schedule, name), table(&[]));
    assert_eq!(schedule.totals.len(), 3);
}

#[rstest]
#[case::plc_52_1_no_decisions(vec![], [100, 100, 100])]
#[case::plc_52_1_own(vec![decision("placement1", 1, &["cluster1"])], [100, 100, 100])]
#[case::plc_52_1_other(vec![decision("other", 1, &["cluster1"])], [-100, 100, 100])]
#[case::plc_52_1_others(
    vec![decision("other", 1, &["cluster1", "cluster2"]), decision("more", 1, &["cluster1", "cluster3"])],
    [-100, 0, 0]
)]
fn balance_prefers_clusters_with_few_decisions(
    #[case] decisions: Vec<Arc<PlacementDecision>>,
    #[case] expected: [i64; 3],
) {
    let schedule = Case::new(built_in("Balance"), bare(&NAMES))
        .decided(&decisions)
        .run();
    let expected: Vec<_> = NAMES.into_iter().zip(expected).collect();
    assert_eq!(scores_of(&schedule, "Balance"), table(&expected));
}

#[rstest]
#[case(1, &[-100])]
#[case(2, &[0, -100])]
#[case(3, &[32, -32, -100])]
#[case(4, &[50, 0, -50, -100])]
#[case(7, &[70, 42, 14, -14, -42, -70, -100])]
fn balance_is_relative_to_busiest_cluster(#[case] most: usize, #[case] expected: &[i64]) {
    let names: Vec<String> = (1..=most).map(|count| format!("c{count}")).collect();
    let mut decisions = Vec::new();
    for round in 0..most {
        let busy: Vec<&str> = names[round..].iter().map(String::as_str).collect();
        decisions.push(decision(&format!("other{round}"), 1, &busy));
    }
    let clusters: Vec<&str> = names.iter().map(String::as_str).collect();
    let schedule = Case::new(built_in("Balance"), bare(&clusters))
        .decided(&decisions)
        .run();
    let scores = scores_of(&schedule, "Balance");
    assert_eq!(
        names.iter().map(|name| scores[name]).collect::<Vec<_>>(),
        expected
    );
}

#[rstest]
#[case::plc_52_2_no_decisions(vec![], [0, 0, 0])]
#[case::plc_52_2_one(vec![decision("placement1", 1, &["cluster1"])], [100, 0, 0])]
#[case::plc_52_2_two(
    vec![decision("placement1", 1, &["cluster1"]), decision("placement1", 2, &["cluster3"])],
    [100, 0, 100]
)]
fn steady_prefers_chosen_clusters(
    #[case] decisions: Vec<Arc<PlacementDecision>>,
    #[case] expected: [i64; 3],
) {
    let schedule = Case::new(built_in("Steady"), bare(&NAMES))
        .decided(&decisions)
        .run();
    let expected: Vec<_> = NAMES.into_iter().zip(expected).collect();
    assert_eq!(scores_of(&schedule, "Steady"), table(&expected));
}

#[rstest]
#[case(json!({"mode": "Any"}), "incorrect prioritizer policy mode: Any")]
#[case(json!({"configurations": [{"weight": 1}]}), "scoreCoordinate field is required")]
#[case(json!({"configurations": [{"scoreCoordinate": {"type": "AddOn"}}]}), "addOn should not be empty")]
#[case::plc_51_first_by_name(
    json!({"configurations": [
        {"scoreCoordinate": {"builtIn": "Spread"}}, {"scoreCoordinate": {"builtIn": "ResourceRatioCPU"}}]}),
    "incorrect builtin prioritizer: ResourceRatioCPU"
)]
fn invalid_prioritizer_policy_is_misconfigured(#[case] policy: Value, #[case] message: &str) {
    let case = Case::new(json!({"prioritizerPolicy": policy}), bare(&NAMES));
    assert_eq!(case.run().verdict, Verdict::misconfigured("", message));
}

#[test]
fn weight_zero_disables_prioritizer_and_its_checks() {
    let policy = json!({"configurations": [
        {"scoreCoordinate": {"builtIn": "Balance"}, "weight": 0},
        {"scoreCoordinate": {"builtIn": "Spread"}, "weight": 0},
        {"scoreCoordinate": {"builtIn": "Steady"}, "weight": 2},
        {"scoreCoordinate": {"builtIn": "Steady"}, "weight": -3},
    ]});
    let schedule = Case::new(json!({"prioritizerPolicy": policy}), bare(&["c1"])).run();
    let prioritizers: Vec<_> = schedule
        .prioritizers
        .iter()
        .map(|one| (&*one.name, one.weight))
        .collect();
    assert_eq!(prioritizers, [("Steady", -3)]);
}

#[test]
fn plc_50_entries_are_compared_by_value() {
    let of_add_on = json!({"resourceName": "test", "scoreName": "score1"});
    let policy = json!({"configurations": [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance", "addOn": of_add_on}, "weight": 5},
        {"scoreCoordinate": {"type": "AddOn", "addOn": of_add_on}, "weight": 1},
        {"scoreCoordinate": {"type": "AddOn", "addOn": of_add_on}, "weight": 1},
    ]});
    let schedule = Case::new(json!({"prioritizerPolicy": policy}), bare(&["c1"]))
        .scored(vec![score("c1", "test", &[("score1", 7)], Some(now()))])
        .run();
    assert_eq!(schedule.totals["c1"], 5 * 100 + 7);
}
