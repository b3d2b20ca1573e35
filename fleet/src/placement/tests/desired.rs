//! Desired decisions, and their writes: PLC-25, PLC-60 to PLC-76.

use std::sync::Arc;

use reeve_api::ocm::{ManagedCluster, PlacementDecision};
use serde_json::{Value, json};

use super::super::decide::{Decision, Observed, decide as decide_and_tell};
use super::super::events::{self, DecisionChange};
use super::super::membership::Availability;
use super::super::plan::Write;
use super::super::schedule::{Inputs, Placed, Scores};
use super::fixture::{bare, decision, labelled, named, now};

fn decide(observed: &Observed) -> Decision {
    decide_and_tell(observed, &mut |_| {})
}

fn observed(
    name: &str,
    spec: Value,
    clusters: Vec<Arc<ManagedCluster>>,
    decisions: Vec<Arc<PlacementDecision>>,
) -> Observed {
    let bound = vec!["s1".to_owned()];
    Observed {
        among: Availability {
            eligible: bound.clone(),
            bound,
            clusters: clusters.clone(),
            unusable: Vec::new(),
        },
        inputs: Inputs {
            placement: named(name, spec),
            clusters,
            placed: Placed::default(),
            scores: Arc::new(Scores::new()),
            now: now(),
        },
        decisions,
    }
}

fn decided(
    spec: Value,
    clusters: Vec<Arc<ManagedCluster>>,
    decisions: Vec<Arc<PlacementDecision>>,
) -> Decision {
    decide(&observed("placement1", spec, clusters, decisions))
}

fn amazon_and_azure(amazon: &[&str], azure: &[&str]) -> Vec<Arc<ManagedCluster>> {
    let of = |names: &[&str], cloud: &str| -> Vec<_> {
        names
            .iter()
            .map(|name| labelled(name, json!({"cloud": cloud})))
            .collect()
    };
    [of(amazon, "Amazon"), of(azure, "Azure")].concat()
}

fn group(name: &str, cloud: &str) -> Value {
    json!({"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": {"cloud": cloud}}}})
}

fn grouped(length: Value, groups: &[Value]) -> Value {
    json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": length, "decisionGroups": groups}}})
}

/// The groups of a status: index, name, names of the decisions less the placement's, number of clusters.
fn groups(decision: &Decision) -> Vec<(i32, String, Vec<String>, i32)> {
    let groups = decision.status.decision_groups.iter();
    let short = |name: &String| name.replace("placement1-decision-", "d");
    groups
        .map(|one| {
            let names = one.decisions.iter().map(short).collect();
            let index = one.decision_group_index;
            (
                index,
                one.decision_group_name.clone(),
                names,
                one.cluster_count,
            )
        })
        .collect()
}

fn expected(groups: &[(&str, &[&str], i32)]) -> Vec<(i32, String, Vec<String>, i32)> {
    let groups = groups.iter().zip(0..);
    groups
        .map(|((name, decisions, count), index)| {
            let decisions = decisions.iter().map(|one| (*one).to_owned()).collect();
            (index, (*name).to_owned(), decisions, *count)
        })
        .collect()
}

/// The decisions to create: group index, group name, clusters.
fn creates(decision: &Decision) -> Vec<(String, String, Vec<String>)> {
    let creates = decision.writes.iter().filter_map(|write| match write {
        Write::Create(desired) => Some(desired),
        _ => None,
    });
    creates
        .map(|one| {
            let label = |key: &str| {
                one.labels[&format!("cluster.open-cluster-management.io/{key}")].clone()
            };
            assert_eq!(label("placement"), "placement1");
            (
                label("decision-group-index"),
                label("decision-group-name"),
                one.clusters.clone(),
            )
        })
        .collect()
}

fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("c{number:04}")).collect()
}

fn many(count: usize) -> Vec<Arc<ManagedCluster>> {
    bare(
        &numbered(count)
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    )
}

fn bound(count: usize) -> Vec<Arc<PlacementDecision>> {
    let names = numbered(count);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let chunks = names.chunks(100).zip(1..);
    chunks
        .map(|(chunk, index)| decision("placement1", index, chunk))
        .collect()
}

fn satisfied(decision: &Decision) -> &str {
    let conditions = &decision.status.conditions;
    let found = conditions
        .iter()
        .find(|one| one.type_ == "PlacementSatisfied");
    &found.unwrap().reason
}

#[test]
fn plc_70_status_when_three_of_three_are_chosen() {
    let decision = decided(json!({}), bare(&["c1", "c2", "c3"]), vec![]);
    let all = ["c1", "c2", "c3"].map(str::to_owned).to_vec();
    assert_eq!(creates(&decision), [("0".to_owned(), String::new(), all)]);
    assert_eq!(decision.status.number_of_selected_clusters, 3);
    assert_eq!(groups(&decision), expected(&[("", &["d1"], 3)]));
}

#[test]
fn plc_70_status_when_three_of_four_are_chosen() {
    let decision = decided(
        json!({"numberOfClusters": 4}),
        bare(&["c1", "c2", "c3"]),
        vec![],
    );
    assert_eq!(decision.status.number_of_selected_clusters, 3);
    assert_eq!(groups(&decision), expected(&[("", &["d1"], 3)]));
    assert_eq!(satisfied(&decision), "NotAllDecisionsScheduled");
}

#[test]
fn plc_61_groups_of_one_cluster() {
    let clusters = amazon_and_azure(&["c1", "c2"], &["c3", "c4"]);
    let decision = decided(
        grouped(json!(1), &[group("canary", "Azure")]),
        clusters,
        vec![],
    );
    assert_eq!(decision.writes.len(), 4);
    let wanted: [(&str, &[&str], i32); 4] = [
        ("canary", &["d1"], 1),
        ("canary", &["d2"], 1),
        ("", &["d3"], 1),
        ("", &["d4"], 1),
    ];
    assert_eq!(groups(&decision), expected(&wanted));
}

#[test]
fn plc_61_two_named_groups_without_group_size() {
    let clusters = amazon_and_azure(&["c1", "c2"], &["c3"]);
    let strategy = json!({"decisionStrategy": {"groupStrategy": {
        "decisionGroups": [group("group1", "Amazon"), group("group2", "Azure")]}}});
    let decision = decided(strategy, clusters, vec![]);
    assert_eq!(
        groups(&decision),
        expected(&[("group1", &["d1"], 2), ("group2", &["d2"], 1)])
    );
}

#[test]
fn plc_61_group_size_of_a_quarter_of_three_clusters() {
    let decision = decided(
        grouped(json!("25%"), &[]),
        bare(&["c1", "c2", "c3"]),
        vec![],
    );
    let wanted: [(&str, &[&str], i32); 3] = [("", &["d1"], 1), ("", &["d2"], 1), ("", &["d3"], 1)];
    assert_eq!(groups(&decision), expected(&wanted));
}

fn nobody(change: impl FnOnce(&mut Observed)) -> Decision {
    let mut observed = observed("placement1", json!({}), vec![], vec![]);
    change(&mut observed);
    let decision = decide(&observed);
    assert_eq!(
        creates(&decision),
        [("0".to_owned(), String::new(), vec![])]
    );
    assert_eq!(decision.status.number_of_selected_clusters, 0);
    assert_eq!(groups(&decision), expected(&[("", &["d1"], 0)]));
    decision
}

#[test]
fn plc_73_no_bindings_is_not_satisfied() {
    let decision = nobody(|observed| observed.among = Availability::default());
    assert_eq!(satisfied(&decision), "NoManagedClusterSetBindings");
}

#[test]
fn plc_73_no_cluster_is_not_satisfied() {
    assert_eq!(satisfied(&nobody(|_| {})), "AllManagedClusterSetsEmpty");
}

#[test]
fn plc_73_no_matching_cluster_is_not_satisfied() {
    let decision = nobody(|observed| {
        let spec = json!({"predicates": [{"requiredClusterSelector": {
            "labelSelector": {"matchLabels": {"none": "has"}}}}]});
        observed.inputs.placement = named("placement1", spec);
        observed.inputs.clusters = bare(&["c1"]);
        observed.among.clusters = bare(&["c1"]);
    });
    assert_eq!(satisfied(&decision), "NoManagedClusterMatched");
}

#[test]
fn plc_25_unchanged_decisions_are_not_written() {
    let clusters = bare(&["c1", "c2", "c3"]);
    let present = vec![decision("placement1", 1, &["c1", "c2", "c3"])];
    let first = decided(json!({}), clusters.clone(), present.clone());
    assert_eq!(first.writes, []);
    let mut again = observed("placement1", json!({}), clusters, present);
    let mut placement = (*again.inputs.placement).clone();
    placement.status = Some(first.status.clone());
    again.inputs.placement = Arc::new(placement);
    again.inputs.now = now() + jiff::SignedDuration::from_secs(60);
    assert_eq!(decide(&again).status, first.status);
}

#[test]
fn plc_19_disabled_placement_is_not_scheduled() {
    let mut placement = (*named("placement1", json!({}))).clone();
    let key = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    for (value, scheduled) in [("true", false), ("True", true), ("", true)] {
        placement.metadata.annotations = Some([(key.to_owned(), value.to_owned())].into());
        assert_eq!(placement.is_scheduled(), scheduled, "{value}");
    }
}

#[test]
fn plc_64_ten_clusters_are_one_decision() {
    let decision = decided(json!({}), many(10), vec![]);
    assert_eq!(
        creates(&decision),
        [("0".to_owned(), String::new(), numbered(10))]
    );
}

#[test]
fn plc_64_hundred_and_one_clusters_are_two_decisions() {
    let decision = decided(json!({}), many(101), vec![]);
    let names = numbered(101);
    let wanted = [
        ("0".to_owned(), String::new(), names[..100].to_vec()),
        ("0".to_owned(), String::new(), names[100..].to_vec()),
    ];
    assert_eq!(creates(&decision), wanted);
    assert_eq!(groups(&decision), expected(&[("", &["d1", "d2"], 101)]));
}

#[test]
fn plc_64_hundred_clusters_are_one_decision() {
    assert_eq!(creates(&decided(json!({}), many(100), vec![])).len(), 1);
}

#[test]
fn plc_64_no_cluster_is_one_empty_decision() {
    let decision = decided(json!({"numberOfClusters": 0}), many(10), vec![]);
    assert_eq!(
        creates(&decision),
        [("0".to_owned(), String::new(), vec![])]
    );
}

fn layout(decision: &Decision) -> Vec<(String, String, String)> {
    let creates = creates(decision).into_iter();
    creates
        .map(|(index, name, clusters)| (index, name, clusters.join(" ")))
        .collect()
}

fn laid_out(expected: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    let expected = expected.iter();
    expected
        .map(|(index, name, clusters)| {
            (
                (*index).to_owned(),
                (*name).to_owned(),
                (*clusters).to_owned(),
            )
        })
        .collect()
}

#[test]
fn plc_61_canary_group_and_quarters() {
    let clusters = amazon_and_azure(&["c1", "c2"], &["c3", "c4"]);
    let decision = decided(
        grouped(json!("25%"), &[group("canary", "Azure")]),
        clusters,
        vec![],
    );
    let wanted = [
        ("0", "canary", "c3"),
        ("1", "canary", "c4"),
        ("2", "", "c1"),
        ("3", "", "c2"),
    ];
    assert_eq!(layout(&decision), laid_out(&wanted));
}

#[test]
fn plc_61_canary_group_without_clusters() {
    let clusters = amazon_and_azure(&["c1", "c2", "c3"], &[]);
    let decision = decided(
        grouped(json!("100%"), &[group("canary", "Azure")]),
        clusters,
        vec![],
    );
    assert_eq!(layout(&decision), laid_out(&[("0", "", "c1 c2 c3")]));
}

#[test]
fn plc_61_two_named_groups() {
    let clusters = amazon_and_azure(&["c1", "c2"], &["c3"]);
    let strategy = grouped(
        json!("100%"),
        &[group("group1", "Amazon"), group("group2", "Azure")],
    );
    let decision = decided(strategy, clusters, vec![]);
    let wanted = [("0", "group1", "c1 c2"), ("1", "group2", "c3")];
    assert_eq!(layout(&decision), laid_out(&wanted));
}

#[test]
fn plc_61_quarters_of_three_clusters() {
    let decision = decided(
        grouped(json!("25%"), &[]),
        bare(&["c1", "c2", "c3"]),
        vec![],
    );
    let wanted = [("0", "", "c1"), ("1", "", "c2"), ("2", "", "c3")];
    assert_eq!(layout(&decision), laid_out(&wanted));
}

#[test]
fn plc_66_desired_decisions_are_not_written() {
    assert_eq!(decided(json!({}), many(128), bound(128)).writes, []);
}

#[test]
fn plc_66_missing_label_and_missing_decision_are_written() {
    let mut present = bound(128);
    present.pop();
    let first = Arc::make_mut(&mut present[0]);
    let labels = first.metadata.labels.as_mut().unwrap();
    let key = "cluster.open-cluster-management.io/decision-group-name";
    labels.insert(key.to_owned(), "wrong".to_owned());
    let decision = decided(json!({}), many(128), present);
    let [Write::Patch(patch), Write::Create(created)] = decision.writes.as_slice() else {
        panic!("{:?}", decision.writes)
    };
    assert!(patch.labels && !patch.clusters && patch.owners.is_none());
    assert_eq!(created.clusters, numbered(128)[100..]);
}

fn shrunk(to: i32) {
    let decision = decided(json!({"numberOfClusters": to}), many(128), bound(128));
    let [Write::Patch(patch), Write::Delete(deleted)] = decision.writes.as_slice() else {
        panic!("{:?}", decision.writes)
    };
    assert!(patch.clusters && !patch.labels);
    assert_eq!(
        patch.desired.clusters,
        numbered(usize::try_from(to).unwrap())
    );
    assert_eq!(
        deleted.metadata.name.as_deref(),
        Some("placement1-decision-2")
    );
}

#[test]
fn plc_66_decisions_shrink_to_ten_clusters() {
    shrunk(10);
}

#[test]
fn plc_66_decisions_shrink_to_no_cluster() {
    shrunk(0);
}

fn emitted(changes: &[DecisionChange], decision: &Decision) -> Vec<(&'static str, bool, String)> {
    let about = events::reference(&super::fixture::decision("placement1", 1, &[]));
    let changes: Vec<_> = changes.iter().map(|one| (*one, about.clone())).collect();
    let placement = named("placement1", json!({}));
    let events = events::events(&placement, &changes, &decision.schedule);
    events
        .into_iter()
        .map(|one| (one.reason, one.warning, one.note))
        .collect()
}

#[test]
fn plc_75_writes_emit_events() {
    let decision = decided(json!({}), bare(&["c1", "c2"]), vec![]);
    let created =
        "Decision placement1-decision-1 is created with placement placement1 in namespace ns1";
    let updated =
        "Decision placement1-decision-1 is updated with placement placement1 in namespace ns1";
    assert_eq!(
        emitted(&[DecisionChange::Created], &decision),
        [("DecisionCreate", false, created.to_owned())]
    );
    assert_eq!(
        emitted(&[DecisionChange::Updated], &decision),
        [
            ("DecisionUpdate", false, updated.to_owned()),
            ("ScoreUpdate", false, "c1:100 c2:100 ".to_owned()),
        ]
    );
    assert_eq!(emitted(&[], &decision), []);
}

#[test]
fn plc_75_3_warning_emits_event() {
    use super::super::schedule::{PluginStatus, Verdict};
    let mut decision = decided(json!({}), bare(&["c1"]), vec![]);
    let plugin_status = PluginStatus {
        plugin: "plugin".to_owned(),
        message: "message".to_owned(),
    };
    decision.schedule.verdict = Verdict::Warning(plugin_status);
    let emitted = emitted(&[DecisionChange::Updated], &decision);
    assert_eq!(emitted.len(), 2);
    assert!(
        emitted[0].1
            && emitted[0]
                .2
                .ends_with("in namespace ns1: message in plugin plugin")
    );
}

#[test]
fn plc_76_scores_are_one_event_with_limited_length() {
    let decision = decided(json!({}), many(200), vec![]);
    let emitted = emitted(&[DecisionChange::Updated; 2], &decision);
    let scores = emitted.iter().filter(|one| one.0 == "ScoreUpdate");
    let scores: Vec<_> = scores.collect();
    let [(_, _, note)] = scores.as_slice() else {
        panic!("{emitted:?}")
    };
    assert!(note.len() <= 1024 && note.ends_with(" ......"), "{note}");
}

#[test]
fn plc_63_invalid_groups_are_in_status_and_events() {
    let present = vec![decision("placement1", 1, &["c1"])];
    for strategy in [
        grouped(json!("5"), &[]),
        grouped(
            json!(1),
            &[
                json!({"groupName": "g1", "groupClusterSelector": {"labelSelector": {
            "matchExpressions": [{"key": "a", "operator": "Like"}]}}}),
            ],
        ),
    ] {
        let decision = decided(strategy, bare(&["c1"]), present.clone());
        assert_eq!(decision.status.number_of_selected_clusters, 0);
        assert_eq!(groups(&decision), expected(&[("", &["d1"], 0)]));
        assert_eq!(satisfied(&decision), "NoManagedClusterMatched");
        let wrong = &decision.status.conditions[0];
        assert_eq!((&*wrong.status, &*wrong.reason), ("True", "Misconfigured"));
        assert!(wrong.message.starts_with(':'), "{}", wrong.message);
        let [Write::Patch(patch)] = decision.writes.as_slice() else {
            panic!("{:?}", decision.writes)
        };
        assert!(patch.desired.clusters.is_empty());
    }
}

#[test]
fn plc_30_name_too_long_for_label_is_misconfigured() {
    let name = "p".repeat(64);
    let decision = decide(&observed(&name, json!({}), bare(&["c1"]), vec![]));
    assert_eq!(decision.writes, []);
    assert_eq!(decision.status.number_of_selected_clusters, 0);
    let wrong = &decision.status.conditions[0];
    assert!(
        wrong.message.contains("no more than 63 bytes"),
        "{}",
        wrong.message
    );
}

#[test]
fn plc_60_percentages_are_rounded_as_upstream() {
    for (percent, total, first) in [
        ("7%", 100, 8),
        ("14%", 50, 8),
        ("25%", 4, 1),
        ("100%", 7, 7),
    ] {
        let decision = decided(grouped(json!(percent), &[]), many(total), vec![]);
        assert_eq!(
            decision.status.decision_groups[0].cluster_count, first,
            "{percent}"
        );
    }
}

#[test]
fn plc_67_adopted_decision_gets_owner_reference() {
    let mut present = decision("placement1", 1, &["c1"]);
    Arc::make_mut(&mut present).metadata.owner_references = None;
    let decision = decided(json!({}), bare(&["c1"]), vec![present]);
    let [Write::Patch(patch)] = decision.writes.as_slice() else {
        panic!("{:?}", decision.writes)
    };
    let owners = patch.owners.as_ref().unwrap();
    assert_eq!((&*owners[0].uid, owners.len()), ("u1", 1));
    assert!(!patch.clusters && !patch.labels);
}

#[test]
fn plc_83_two_reconciles_are_counted() {
    use super::super::metrics::PlacementMetrics;
    let registry = reeve_runtime::metrics::Metrics::default();
    let metrics = PlacementMetrics::new(&registry);
    let expression = json!({"celSelector": {"celExpressions": ["true"]}});
    let spec = json!({"predicates": [{ "requiredClusterSelector": expression }]});
    for _ in 0..2 {
        let observed = observed("placement1", spec.clone(), bare(&["c1"]), vec![]);
        decide_and_tell(&observed, &mut metrics.stopwatch());
        metrics.scheduled(std::time::Duration::from_micros(5));
        metrics.bound(std::time::Duration::from_millis(5));
    }
    let text = registry.text();
    let named = "{name=\"placement_scheduling\"} 2";
    for series in ["scheduling", "bind", "cel_runtime"] {
        let line = format!("scheduling_{series}_duration_seconds_count{named}");
        assert!(text.contains(&line), "{line}: {text}");
    }
    for (kind, plugin) in [
        ("filter", "Predicate"),
        ("filter", "TaintToleration"),
        ("prioritizer", "Balance"),
        ("prioritizer", "Steady"),
    ] {
        let labels = format!("plugin_type=\"{kind}\",plugin_name=\"{plugin}\"}} 2");
        let counts = text
            .lines()
            .filter(|line| line.contains("_count{") && line.contains(&labels));
        assert_eq!(counts.count(), 1, "{labels}: {text}");
    }
    assert!(
        text.contains("scheduling_bind_duration_seconds_bucket{le=\"0.01\""),
        "{text}"
    );
}
