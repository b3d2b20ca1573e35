//! Sets and bindings: PLC-85 to PLC-88.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reeve_api::ocm::{ManagedCluster, ManagedClusterSet};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::bindings::bound;
use super::super::sets::{BuiltInSetWrite, built_in_set_write, concerned, emptiness};
use super::cluster;

fn set(name: &str, metadata: Value, spec: Value) -> Arc<ManagedClusterSet> {
    let mut object = json!({"metadata": metadata, "spec": spec});
    object["metadata"]["name"] = name.into();
    Arc::new(serde_json::from_value(object).unwrap())
}

fn of(name: &str, labels: Value) -> Arc<ManagedCluster> {
    cluster(name, json!({"metadata": {"labels": labels}}))
}

const SET: &str = "cluster.open-cluster-management.io/clusterset";

#[rstest]
#[case::plc_85_empty_spec(json!({}), 1)]
#[case::plc_85_exclusive(json!({"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}), 1)]
#[case::plc_85_labels(
    json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"vendor": "openShift"}}}}), 2
)]
#[case::plc_85_all(json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}), 3)]
#[case::plc_85_no_selector(json!({"clusterSelector": {"selectorType": "LabelSelector"}}), 0)]
fn condition_counts_members(#[case] spec: Value, #[case] expected: usize) {
    let clusters = [
        of("c1", json!({SET: "s1"})),
        of("c2", json!({"vendor": "openShift"})),
        of("c3", json!({"vendor": "openShift", SET: "s2"})),
    ];
    let condition = emptiness(&set("s1", json!({}), spec), &clusters).unwrap();
    let (reason, message) = match expected {
        0 => ("NoClusterMatched", "No ManagedCluster selected".to_owned()),
        count => (
            "ClustersSelected",
            format!("{count} ManagedClusters selected"),
        ),
    };
    assert_eq!(
        (condition.holds, condition.reason, condition.message),
        (expected == 0, reason, message)
    );
}

#[test]
fn plc_85_exclusive_set_without_clusters_is_empty() {
    let condition = emptiness(
        &set("s9", json!({}), json!({})),
        &[of("c1", json!({SET: "s1"}))],
    );
    assert_eq!(condition.unwrap().reason, "NoClusterMatched");
}

#[test]
fn plc_86_unknown_selector_type_is_reported() {
    let spec = json!({"clusterSelector": {"selectorType": "other"}});
    let condition = emptiness(&set("s1", json!({}), spec), &[]);
    assert_eq!(
        condition,
        Err("selectorType is not right: other".to_owned())
    );
}

fn three() -> BTreeMap<String, Arc<ManagedClusterSet>> {
    let by = |key: &str| json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {key: "yes"}}}});
    let all = ["1", "2", "3"].map(|name| (name.to_owned(), set(name, json!({}), by(name))));
    BTreeMap::from(all)
}

fn labelled(keys: &[&str]) -> Arc<ManagedCluster> {
    let labels: Value = keys
        .iter()
        .map(|key| ((*key).to_owned(), json!("yes")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    of("c1", labels)
}

#[rstest]
#[case::plc_86_changed(Some(&["1", "2"][..]), Some(&["1", "3"][..]), &["2", "3"])]
#[case::plc_86_created(None, Some(&["1", "2"][..]), &["1", "2"])]
#[case::plc_86_deleted(Some(&["1", "2"][..]), None, &["1", "2"])]
#[case::plc_86_from_none(Some(&[][..]), Some(&["1"][..]), &["1"])]
#[case::plc_86_to_none(Some(&["1"][..]), Some(&[][..]), &["1"])]
fn change_of_cluster_affects_its_sets(
    #[case] old: Option<&[&str]>,
    #[case] new: Option<&[&str]>,
    #[case] expected: &[&str],
) {
    let (old, new) = (old.map(labelled), new.map(labelled));
    let found = concerned(old.as_deref(), new.as_deref(), &three());
    let expected: BTreeSet<String> = expected.iter().map(|one| (*one).to_owned()).collect();
    assert_eq!(found, expected);
}

fn right(name: &str) -> Value {
    match name {
        "default" => json!({"selectorType": "ExclusiveClusterSetLabel"}),
        _ => json!({"selectorType": "LabelSelector", "labelSelector": {}}),
    }
}

fn wrong() -> Value {
    json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": "b"}}})
}

#[rstest]
#[case::plc_87_intact(json!({}), None, None, false)]
#[case::plc_87_edited(json!({}), Some(wrong()), None, true)]
#[case::plc_87_terminating(json!({"deletionTimestamp": "2026-08-01T12:00:00Z"}), Some(wrong()), None, false)]
#[case::plc_87_auto_update_disabled(
    json!({"annotations": {"cluster.open-cluster-management.io/autoupdate": "false"}}), Some(wrong()), None, false
)]
#[case::other_annotation(
    json!({"annotations": {"cluster.open-cluster-management.io/autoupdate": "False"}}), Some(wrong()), None, true
)]
#[case::plc_87_namespaces(json!({}), None, Some(json!([{"name": "ns1"}])), false)]
#[case::plc_87_both(json!({}), Some(wrong()), Some(json!([{"name": "ns1"}])), true)]
fn selector_of_default_and_global_is_restored(
    #[case] metadata: Value,
    #[case] selector: Option<Value>,
    #[case] namespaces: Option<Value>,
    #[case] restored: bool,
    #[values("default", "global")] name: &str,
) {
    let mut spec = json!({"clusterSelector": selector.unwrap_or_else(|| right(name))});
    if let Some(namespaces) = namespaces {
        spec["managedNamespaces"] = namespaces;
    }
    match built_in_set_write(name, Some(&set(name, metadata, spec))) {
        BuiltInSetWrite::Nothing => assert!(!restored),
        BuiltInSetWrite::Restore(patch) => {
            assert!(restored);
            // Only the selector is changed, and nothing of the old one stays.
            assert_eq!(patch["spec"].as_object().unwrap().len(), 1);
            let kind = &patch["spec"]["clusterSelector"]["selectorType"];
            assert_eq!(*kind, right(name)["selectorType"]);
            let labels = &patch["spec"]["clusterSelector"]["labelSelector"];
            assert!(labels.is_null() || labels["matchLabels"].is_null());
        }
        BuiltInSetWrite::Create(set) => panic!("{set}"),
    }
}

#[rstest]
#[case::plc_87_default("default")]
#[case::plc_87_global("global")]
fn missing_set_is_created(#[case] name: &str) {
    let BuiltInSetWrite::Create(set) = built_in_set_write(name, None) else {
        panic!("it is not created")
    };
    assert_eq!(
        (&set["metadata"]["name"], &set["spec"]["clusterSelector"]),
        (&json!(name), &right(name))
    );
    assert_eq!(built_in_set_write("other", None), BuiltInSetWrite::Nothing);
}

#[test]
fn plc_88_binding_is_bound_when_its_set_exists() {
    let (missing, there) = (bound(false), bound(true));
    assert_eq!(
        (missing.holds, missing.reason, &*missing.message),
        (false, "ClusterSetNotFound", "")
    );
    assert_eq!(
        (there.holds, there.reason, &*there.message),
        (true, "ClusterSetBound", "")
    );
}
