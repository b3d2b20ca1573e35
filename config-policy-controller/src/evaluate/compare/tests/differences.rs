//! Rules in which this comparison differs from upstream.

use serde_json::json;

use super::{STRICT, Verdict, compared, list, map, verdict_of};
use crate::evaluate::compare::ComplianceType::{MustHave, MustOnlyHave};
use crate::evaluate::compare::equal::{deep, lists};
use crate::evaluate::compare::merge::merge_lists;
use crate::evaluate::compare::{DesiredContent, Equality, matches};

#[test]
fn cfg_130_unnamed_objects_follow_the_same_rules() {
    let definition =
        map(json!({"apiVersion": "v1", "kind": "RoleBinding", "roleRef": {"name": "r"}}));
    let mut live = json!({"apiVersion": "v1", "kind": "RoleBinding", "roleRef": {"name": "r"}});
    let exactly = DesiredContent {
        definition: &definition,
        compliance: MustOnlyHave,
        metadata_compliance: None,
    };
    assert!(matches(exactly, &live));
    live["subjects"] = json!([{"name": "u"}]);
    assert!(!matches(exactly, &live));

    let secret = map(json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "text"}}));
    let wanted = DesiredContent {
        definition: &secret,
        compliance: MustHave,
        metadata_compliance: None,
    };
    let more_keys =
        json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "dGV4dA==", "b": "eA=="}});
    assert!(matches(wanted, &more_keys));
}

#[test]
fn cfg_127_equal_quantities_need_a_dry_run() {
    let config_map =
        |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"version": value}});
    assert_eq!(
        verdict_of(&compared(MustHave, &config_map("1.0"), &config_map("1"))),
        Verdict::AskServer
    );
    assert_eq!(
        verdict_of(&compared(MustHave, &config_map("1.0"), &config_map("1.0"))),
        Verdict::Compliant
    );
    // A word is no amount, although Kubernetes would read both as zero.
    assert_eq!(
        verdict_of(&compared(MustHave, &config_map("k"), &config_map("m"))),
        Verdict::NonCompliant
    );
}

#[test]
fn cfg_117_list_merge_finds_the_perfect_assignment() {
    // The general item comes first and fits both live items; only one choice leaves one for the special item.
    let desired = list(json!([{"kind": "User"}, {"kind": "User", "id": 1}]));
    let live = list(json!([{"kind": "User", "id": 1}, {"kind": "User", "id": 2}]));
    let merged = merge_lists(&desired, &live, STRICT);
    assert_eq!(lists(&merged, &live, STRICT), Equality::Same);

    // Two items of the same name: the live one that already fits is taken.
    let desired = list(json!([{"name": "a", "x": 1}]));
    let live = list(json!([{"name": "a", "x": 2}, {"name": "a", "x": 1}]));
    assert_eq!(
        lists(&merge_lists(&desired, &live, STRICT), &live, STRICT),
        Equality::Same
    );
}

#[test]
fn cfg_117_list_equality_finds_the_perfect_assignment() {
    // Sorted by their text these would be paired crosswise.
    let a = list(json!([{"z": 1}, {"a": 0, "z": 2}]));
    let b = list(json!([{"z": 2}, {"a": 0, "z": 1}]));
    assert_eq!(lists(&a, &b, STRICT), Equality::Different);
    let b = list(json!([{"a": 0, "z": 1}, {"a": 0, "z": 2}]));
    assert_eq!(lists(&a, &b, STRICT), Equality::IfDefaulted);
}

#[test]
fn cfg_109_zero_value_in_any_list_item_needs_a_dry_run() {
    let pod = |items: serde_json::Value| json!({"apiVersion": "v1", "kind": "Pod", "spec": {"items": items}});
    // The first item needs the server, the last one does not.
    let wanted = pod(json!([{"id": 1, "flag": false}, {"id": 2}]));
    let live = pod(json!([{"id": 1}, {"id": 2}]));
    assert_eq!(
        verdict_of(&compared(MustHave, &wanted, &live)),
        Verdict::AskServer
    );
}

#[test]
fn cfg_109_identical_items_do_not_collide() {
    let texts = [
        (json!([{"a": "1 b:2"}]), json!([{"a": "1", "b": "2"}])),
        (json!([["a b"]]), json!([["a", "b"]])),
        (json!(["map[a:1]"]), json!([{"a": 1}])),
        (json!(["[1]"]), json!([[1]])),
    ];
    for (a, b) in texts {
        assert_eq!(
            lists(&list(a.clone()), &list(b.clone()), STRICT),
            Equality::Different,
            "{a} {b}"
        );
    }
}

#[test]
fn cfg_125_keys_of_the_live_object_only_are_compared() {
    let strict = |a, b| deep(&a, &b, STRICT);
    assert_eq!(
        strict(json!({"a": 0}), json!({"b": 5})),
        Equality::Different
    );
    // In a list item of an object found by content there is no dry run, so it is no match.
    let definition =
        map(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": [{"emptyDir": {}}]}}));
    let live =
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": [{"s3": {"bucket": "b"}}]}});
    let exactly = DesiredContent {
        definition: &definition,
        compliance: MustOnlyHave,
        metadata_compliance: None,
    };
    assert!(!matches(exactly, &live));
}

#[test]
fn cfg_103_status_is_never_written() {
    let wanted = json!({"apiVersion": "v1", "kind": "X", "spec": {"a": 1}, "status": {"ok": true}});
    let live = json!({"apiVersion": "v1", "kind": "X", "spec": {"a": 2}});
    let comparison = compared(MustHave, &wanted, &live);
    assert_eq!(comparison.candidate["status"], json!({"ok": true}));
    assert_eq!(
        comparison.to_write(&live),
        json!({"apiVersion": "v1", "kind": "X", "spec": {"a": 1}})
    );
}

#[test]
fn cfg_122_first_invalid_label_in_order_is_reported() {
    let wanted =
        json!({"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"z": 1, "b": 2, "c": 3}}});
    let live = json!({"apiVersion": "v1", "kind": "X", "metadata": {}});
    let error = compared(MustHave, &wanted, &live)
        .error
        .unwrap()
        .to_string();
    assert!(error.contains("under key \"b\""), "{error}");
}
