//! Admission: PLC-97 to PLC-100.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::admission::{Administrator, Denied, Right, Writer, admit_binding, admit_cluster};
use super::now;

const SET: &str = "cluster.open-cluster-management.io/clusterset";
const NOW: &str = "2026-08-01T12:00:00Z";
const THEN: &str = "2026-08-01T11:00:00Z";

/// A user with access to one set.
struct User(&'static str);

impl Writer for User {
    fn name(&self) -> &'static str {
        "alice"
    }

    fn may(&self, _: Right, set: &str) -> bool {
        set == self.0
    }
}

fn tainted(taints: Value) -> Value {
    json!({"metadata": {"name": "c1"}, "spec": {"taints": taints}})
}

fn taint(key: &str, effect: &str, time: Option<&str>) -> Value {
    json!({"key": key, "effect": effect, "timeAdded": time})
}

fn admitted(old: Option<Value>, mut new: Value) -> Result<Value, Denied> {
    admit_cluster(old.as_ref(), &mut new, now(), &Administrator).map(|()| new)
}

#[rstest]
#[case::plc_98_bare(json!({"name": "c1"}), "default")]
#[case::no_labels(json!({"name": "c1", "labels": null}), "default")]
#[case::plc_98_kept(json!({"labels": {SET: "s1"}}), "s1")]
#[case::plc_98_default_kept(json!({"labels": {SET: "default"}}), "default")]
#[case::plc_98_empty(json!({"labels": {SET: ""}}), "default")]
#[case::plc_98_others_kept(json!({"labels": {"a": "b"}}), "default")]
fn cluster_without_set_gets_default(#[case] metadata: Value, #[case] expected: &str) {
    for old in [
        None,
        Some(json!({"metadata": {"labels": {SET: "default"}}, "spec": {}})),
    ] {
        let new = json!({"metadata": metadata.clone(), "spec": {}});
        let admitted = admitted(old, new).unwrap();
        assert_eq!(admitted["metadata"]["labels"][SET], expected);
        assert_eq!(
            admitted["metadata"]["labels"].get("a"),
            metadata["labels"].get("a")
        );
    }
}

#[rstest]
#[case::plc_100_set_on_create(None)]
#[case::plc_100_replaced_on_create(Some("2020-01-01T00:00:00Z"))]
fn new_taints_get_current_time(#[case] given: Option<&str>) {
    let created = admitted(None, tainted(json!([taint("a", "NoSelect", given)]))).unwrap();
    assert_eq!(created["spec"]["taints"][0]["timeAdded"], NOW);
}

#[test]
fn plc_100_taint_with_other_effect_is_new() {
    let old = tainted(json!([
        taint("a", "NoSelect", Some(THEN)),
        taint("b", "NoSelect", Some(THEN))
    ]));
    let new = tainted(json!([
        taint("a", "NoSelectIfNew", None),
        taint("b", "NoSelect", Some(THEN))
    ]));
    let updated = admitted(Some(old), new).unwrap();
    assert_eq!(updated["spec"]["taints"][0]["timeAdded"], NOW);
    assert_eq!(updated["spec"]["taints"][1]["timeAdded"], THEN);
}

#[test]
fn plc_100_user_must_not_set_times() {
    let old = tainted(json!([
        taint("a", "NoSelect", Some(THEN)),
        taint("b", "NoSelect", Some(THEN))
    ]));
    let new = tainted(json!([
        taint("a", "NoSelect", Some(NOW)),
        taint("b", "NoSelect", None),
        taint("c", "NoSelect", Some(NOW)),
        taint("d", "NoSelect", None),
    ]));
    let denied = admitted(Some(old), new).unwrap_err();
    let message = "It is not allowed to set TimeAdded of Taint \"a,b,c\".";
    assert_eq!((denied.code, &*denied.message), (400, message));
}

#[test]
fn plc_100_taints_may_be_removed() {
    let old = tainted(json!([
        taint("a", "NoSelect", Some(THEN)),
        taint("b", "NoSelect", Some(THEN))
    ]));
    let new = tainted(json!([taint("b", "NoSelect", Some(THEN))]));
    assert_eq!(
        admitted(Some(old), new.clone()).unwrap()["spec"],
        new["spec"]
    );
    let none = json!({"metadata": {"name": "c1"}, "spec": {}});
    assert!(admitted(Some(new), none).is_ok());
}

#[test]
fn plc_100_two_taints_may_share_a_key() {
    let both = || {
        json!([
            taint("a", "NoSelect", Some(THEN)),
            taint("a", "NoSelectIfNew", Some(NOW))
        ])
    };
    assert!(admitted(Some(tainted(both())), tainted(both())).is_ok());
}

#[rstest]
#[case(Some("s1"), "s1", None)]
#[case(Some("s1"), "s2", Some("s2"))]
#[case(Some("s2"), "s1", Some("s2"))]
#[case(Some("s1"), "", Some("default"))]
#[case(None, "s1", None)]
#[case(None, "s2", Some("s2"))]
#[case(None, "", None)]
fn moving_cluster_needs_access_to_both_sets(
    #[case] from: Option<&str>,
    #[case] to: &str,
    #[case] denied: Option<&str>,
) {
    let of = |set: &str| json!({"metadata": {"labels": {SET: set}}, "spec": {}});
    let old = from.map(of);
    let answer = admit_cluster(old.as_ref(), &mut of(to), now(), &User("s1"));
    let expected = denied.map(|set| {
        let text = format!(
            "user \"alice\" cannot add/remove a ManagedCluster to/from ManagedClusterSet \"{set}\""
        );
        (403, text)
    });
    assert_eq!(answer.err().map(|one| (one.code, one.message)), expected);
}

#[rstest]
#[case::plc_97_created(None, "s1", "s1", None)]
#[case::plc_97_wrong_name(None, "s1", "s2", Some((400, "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet")))]
#[case::plc_97_no_right(None, "s2", "s2", Some((403, "user \"alice\" is not allowed to bind cluster set \"s2\"")))]
#[case::plc_97_updated(Some(json!({})), "s2", "s2", None)]
#[case::plc_97_wrongly_updated(Some(json!({})), "s2", "s1", Some((400, "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet")))]
fn binding_needs_name_of_set_and_access(
    #[case] old: Option<Value>,
    #[case] name: &str,
    #[case] set: &str,
    #[case] denied: Option<(u16, &str)>,
) {
    let new = json!({"metadata": {"name": name}, "spec": {"clusterSet": set}});
    let answer = admit_binding(old.as_ref(), &new, &User("s1"));
    let answer = answer.err().map(|one| (one.code, one.message));
    assert_eq!(
        answer,
        denied.map(|(code, message)| (code, message.to_owned()))
    );
}
