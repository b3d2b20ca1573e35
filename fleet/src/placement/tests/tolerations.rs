//! Tolerations: PLC-44 to PLC-48.

use std::sync::Arc;

use jiff::SignedDuration;
use reeve_api::ocm::ManagedCluster;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::schedule::Verdict;
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
#[case::plc_45_no_toleration("NoSelect", &[], None, false)]
#[case::plc_46_equal_value("NoSelect", &[], Some(json!({"key": "key1", "operator": "Equal", "value": "value1"})), true)]
#[case::plc_46_other_value("NoSelect", &[], Some(json!({"key": "key1", "operator": "Equal"})), false)]
#[case::plc_46_key_exists("NoSelect", &[], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::plc_46_key_exists_with_empty_value("NoSelect", &[], Some(json!({"key": "key1", "operator": "Exists", "value": ""})), true)]
#[case::plc_46_other_key("NoSelect", &[], Some(json!({"key": "key2", "operator": "Exists"})), false)]
#[case::plc_45_new_no_toleration("NoSelectIfNew", &[], None, false)]
#[case::plc_45_chosen_no_toleration("NoSelectIfNew", &["c1"], None, true)]
#[case::plc_46_new_key_exists("NoSelectIfNew", &[], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::plc_46_chosen_key_exists("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::plc_46_new_other_key("NoSelectIfNew", &[], Some(json!({"key": "key2", "operator": "Exists"})), false)]
#[case::plc_45_chosen_other_key("NoSelectIfNew", &["c1"], Some(json!({"key": "key2", "operator": "Exists"})), true)]
#[case::plc_45_prefer_no_toleration("PreferNoSelect", &[], None, true)]
#[case::plc_45_prefer_key_exists("PreferNoSelect", &[], Some(json!({"key": "key1", "operator": "Exists"})), true)]
#[case::plc_45_prefer_other_key("PreferNoSelect", &[], Some(json!({"key": "key2", "operator": "Exists"})), true)]
#[case::plc_46_empty_effect("NoSelect", &[], Some(json!({"key": "key1", "value": "value1", "effect": ""})), true)]
#[case::plc_46_other_effect("NoSelect", &[], Some(json!({"key": "key1", "value": "value1", "effect": "NoSelectIfNew"})), false)]
#[case::plc_46_same_effect("NoSelect", &[], Some(json!({"key": "key1", "value": "value1", "effect": "NoSelect"})), true)]
#[case::plc_46_new_empty_effect("NoSelectIfNew", &[], Some(json!({"key": "key1", "value": "value1", "effect": ""})), true)]
#[case::plc_46_new_same_effect("NoSelectIfNew", &[], Some(json!({"key": "key1", "value": "value1", "effect": "NoSelectIfNew"})), true)]
#[case::plc_46_new_other_value("NoSelectIfNew", &[], Some(json!({"key": "key1", "value": "value2", "effect": "NoSelectIfNew"})), false)]
#[case::plc_45_chosen_other_value("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "value": "value2", "effect": ""})), true)]
#[case::plc_45_chosen_other_value_same_effect("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "value": "value2", "effect": "NoSelectIfNew"})), true)]
#[case::plc_45_chosen_other_value_other_effect("NoSelectIfNew", &["c1"], Some(json!({"key": "key1", "value": "value2", "effect": "NoSelect"})), true)]
#[case::plc_46_any_taint("NoSelect", &[], Some(json!({"operator": "Exists"})), true)]
#[case::plc_46_unknown_operator("NoSelect", &[], Some(json!({"key": "key1", "operator": "Like", "value": "value1"})), false)]
fn toleration_decides_whether_cluster_passes(
    #[case] effect: &str,
    #[case] decided: &[&str],
    #[case] toleration: Option<Value>,
    #[case] expected: bool,
) {
    assert_eq!(passes(effect, decided, toleration), expected);
}

#[rstest]
#[case::plc_44_empty_key_with_equal(
    json!({"operator": "Equal", "value": "value1"}), "If the key is empty, operator must be Exists."
)]
#[case::plc_44_exists_with_value(
    json!({"operator": "Exists", "value": "value1"}),
    "If the operator is Exists, the value should be empty."
)]
fn invalid_toleration_is_misconfigured(#[case] toleration: Value, #[case] message: &str) {
    let taint = tainted("c1", "key1", "value1", "NoSelect");
    let schedule = Case::new(json!({"tolerations": [toleration]}), vec![taint]).run();
    assert_eq!(
        schedule.verdict,
        Verdict::misconfigured("TaintToleration", message)
    );
}

#[test]
fn plc_44_two_tolerations_with_other_value_and_other_key() {
    let clusters = vec![
        tainted("c1", "key1", "value2", "NoSelect"),
        tainted("c2", "key2", "value1", "NoSelect"),
    ];
    let spec = json!({"tolerations": [{"key": "key1", "operator": "Equal", "value": "value1"}]});
    assert!(Case::new(spec, clusters).run().selected.is_empty());
}

#[test]
fn plc_44_two_tolerations_match_two_taints() {
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
fn plc_47_toleration_is_expired_at_its_exact_end() {
    let schedule = for_ten_seconds().run();
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
    assert_eq!(schedule.again_at, None);
}

#[test]
fn plc_47_requeue_is_at_first_expiry_of_chosen_clusters() {
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
fn zero_seconds_or_missing_time_added_never_tolerates(
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
