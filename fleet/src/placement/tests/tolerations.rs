//! P113 to P142.

use std::sync::Arc;

use jiff::SignedDuration;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::schedule::Verdict;
use super::super::types::ManagedCluster;
use super::fixture::{Case, ago, chosen, cluster, decision, now};

fn tainted(name: &str, key: &str, value: &str, effect: &str) -> Arc<ManagedCluster> {
    let taint = json!({"key": key, "value": value, "effect": effect});
    cluster(name, json!({"spec": {"taints": [taint]}}))
}

/// Whether `c1` with the taint `key1=value1` of an effect passes.
fn passes(effect: &str, decided: &[&str], toleration: Option<Value>) -> bool {
    let tolerations: Vec<Value> = toleration.into_iter().collect();
    let taint = tainted("c1", "key1", "value1", effect);
    let schedule = Case::new(json!({"tolerations": tolerations}), vec![taint])
        .decided(&[decision("placement1", 1, decided)])
        .run();
    assert_eq!(schedule.verdict, Verdict::Success);
    !schedule.selected.is_empty()
}

#[rstest]
#[case::case_p113("NoSelect", &[], None, false)]
#[case::case_p114("NoSelect", &[], Some(json!({"key": "key1", "operator": "Equal", "value": "value1"})), true)]
#[case::case_p116("NoSelect", &[], Some(json!({"key": "key1", "operator": "Equal"})), false)]
#[case::case_p118("NoSelect", &[], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::case_p120("NoSelect", &[], Some(json!({"key": "key1", "operator": "Exists", "value": ""})), true)]
#[case::case_p121("NoSelect", &[], Some(json!({"key": "key2", "operator": "Exists"})), false)]
#[case::case_p122("NoSelectIfNew", &[], None, false)]
#[case::case_p123("NoSelectIfNew", &["c1"], None, true)]
#[case::case_p124("NoSelectIfNew", &[], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::case_p125("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::case_p126("NoSelectIfNew", &[], Some(json!({"key": "key2", "operator": "Exists"})), false)]
#[case::case_p127("NoSelectIfNew", &["c1"], Some(json!({"key": "key2", "operator": "Exists"})), true)]
#[case::case_p128("PreferNoSelect", &[], None, true)]
#[case::case_p129("PreferNoSelect", &[], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::case_p130("PreferNoSelect", &[], Some(json!({"key": "key2", "operator": "Exists"})), true)]
#[case::case_p132("NoSelect", &[], Some(json!({"key": "key1", "value": "value1", "effect": ""})), true)]
#[case::case_p133("NoSelect", &[], Some(json!({"key": "key1", "value": "value1", "effect": "NoSelectIfNew"})), false)]
#[case::case_p134("NoSelect", &[], Some(json!({"key": "key1", "value": "value1", "effect": "NoSelect"})), true)]
#[case::case_p135("NoSelectIfNew", &[], Some(json!({"key": "key1", "value": "value1", "effect": ""})), true)]
#[case::case_p136("NoSelectIfNew", &[], Some(json!({"key": "key1", "value": "value1", "effect": "NoSelectIfNew"})), true)]
#[case::case_p137("NoSelectIfNew", &[], Some(json!({"key": "key1", "value": "value2", "effect": "NoSelectIfNew"})), false)]
#[case::case_p138("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "value": "value2", "effect": ""})), true)]
#[case::case_p139("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "value": "value2", "effect": "NoSelectIfNew"})), true)]
#[case::case_p140("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "value": "value2", "effect": "NoSelect"})), true)]
#[case::any_taint("NoSelect", &[], Some(json!({"operator": "Exists"})), true)]
#[case::unknown_operator("NoSelect", &[], Some(json!({"key": "key1", "operator": "Like", "value": "value1"})), false)]
fn tolerated(
    #[case] effect: &str,
    #[case] decided: &[&str],
    #[case] toleration: Option<Value>,
    #[case] expected: bool,
) {
    assert_eq!(passes(effect, decided, toleration), expected);
}

#[rstest]
#[case::case_p115(
    json!({"operator": "Equal", "value": "value1"}), "If the key is empty, operator must be Exists."
)]
#[case::case_p119(
    json!({"operator": "Exists", "value": "value1"}),
    "If the operator is Exists, the value should be empty."
)]
fn misconfigured(#[case] toleration: Value, #[case] message: &str) {
    let taint = tainted("c1", "key1", "value1", "NoSelect");
    let schedule = Case::new(json!({"tolerations": [toleration]}), vec![taint]).run();
    assert_eq!(
        schedule.verdict,
        Verdict::misconfigured("TaintToleration", message)
    );
}

#[test]
fn plc_44_another_value_and_another_key() {
    let clusters = vec![
        tainted("c1", "key1", "value2", "NoSelect"),
        tainted("c2", "key2", "value1", "NoSelect"),
    ];
    let spec = json!({"tolerations": [{"key": "key1", "operator": "Equal", "value": "value1"}]});
    assert!(Case::new(spec, clusters).run().selected.is_empty());
}

#[test]
fn plc_44_two_taints_two_tolerations() {
    let taints = json!([
        {"key": "key1", "value": "value1", "effect": "NoSelect"},
        {"key": "key2", "value": "value2", "effect": "NoSelect"},
    ]);
    let clusters = ["c1", "c2"].map(|name| cluster(name, json!({"spec": {"taints": taints}})));
    let spec = json!({"tolerations": [
        {"key": "key1", "operator": "Equal", "value": "value1"},
        {"key": "key2", "operator": "Exists"},
    ]});
    assert_eq!(
        chosen(&Case::new(spec, clusters.to_vec()).run()),
        ["c1", "c2"]
    );
}

fn for_ten_seconds() -> Case {
    let clusters = [("c1", 8), ("c2", 9), ("c3", 10)].map(|(name, seconds)| {
        let taint = json!({
            "key": "key1", "value": "value1", "effect": "NoSelect", "timeAdded": ago(seconds).to_string(),
        });
        cluster(name, json!({"spec": {"taints": [taint]}}))
    });
    let toleration = json!({"key": "key1", "operator": "Exists", "tolerationSeconds": 10});
    Case::new(json!({"tolerations": [toleration]}), clusters.to_vec())
}

#[test]
fn plc_47_the_exact_instant_is_too_late() {
    let schedule = for_ten_seconds().run();
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
    assert_eq!(schedule.again_at, None);
}

#[test]
fn plc_47_the_first_to_expire_of_the_chosen() {
    let case = for_ten_seconds().decided(&[decision("placement1", 1, &["c1", "c2"])]);
    let schedule = case.run();
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
    assert_eq!(
        schedule.again_at,
        Some(now() + SignedDuration::from_secs(1))
    );
}

#[rstest]
#[case(json!(0), Some(ago(1)))]
#[case(json!(-5), Some(ago(1)))]
#[case(json!(60), None)]
fn no_time_is_left_without_seconds_or_a_start(
    #[case] seconds: Value,
    #[case] added: Option<jiff::Timestamp>,
) {
    let mut taint = json!({"key": "key1", "effect": "NoSelect", "timeAdded": null});
    if let Some(added) = added {
        taint["timeAdded"] = added.to_string().into();
    }
    let spec = json!({"tolerations": [{"key": "key1", "operator": "Exists", "tolerationSeconds": seconds}]});
    let clusters = vec![cluster("c1", json!({"spec": {"taints": [taint]}}))];
    assert!(Case::new(spec, clusters).run().selected.is_empty());
}
