//! The building blocks: merging and equality.

use rstest::rstest;
use serde_json::{Value, json};

use super::{STRICT, list, map};
use crate::evaluate::compare::equal::{deep, lists};
use crate::evaluate::compare::merge::{merge_lists, merge_maps};
use crate::evaluate::compare::{AbsenceRules, EmptyListRule, Equality, ZeroRule, go_type};

const LAX: AbsenceRules = AbsenceRules {
    zero: ZeroRule::EqualsAbsent,
    ..STRICT
};
const EXACT: AbsenceRules = AbsenceRules {
    empty_list: EmptyListRule::EqualsAbsent,
    ..STRICT
};

#[test]
fn merging_maps_keeps_whole_numbers_whole() {
    let merged = merge_maps(
        &map(json!({"spec": {"replicas": 9_007_199_254_740_993_i64}})),
        &map(json!({"spec": {"replicas": 1, "paused": true}})),
        STRICT,
    );
    assert_eq!(
        Value::Object(merged),
        json!({"spec": {"replicas": 9_007_199_254_740_993_i64, "paused": true}})
    );
}

#[rstest]
#[case::map_over_scalar(json!({"a": {"b": 1}}), json!({"a": 2}), json!({"a": {"b": 1}}))]
#[case::list_over_scalar(json!({"a": [1]}), json!({"a": 2}), json!({"a": [1]}))]
#[case::list_over_empty_list(json!({"a": [1]}), json!({"a": []}), json!({"a": [1]}))]
#[case::null_does_not_care_about_a_map(json!({"a": null}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}))]
#[case::null_over_a_scalar(json!({"a": null}), json!({"a": 10}), json!({"a": null}))]
#[case::null_over_a_list(json!({"a": null}), json!({"a": [1]}), json!({"a": null}))]
#[case::absent(json!({"a": 1}), json!({}), json!({"a": 1}))]
#[case::deep(json!({"a": {"b": {"c": 1}}}), json!({"a": {"b": {"d": 2}, "e": 3}}), json!({"a": {"b": {"c": 1, "d": 2}, "e": 3}}))]
fn merging_maps(#[case] desired: Value, #[case] live: Value, #[case] expected: Value) {
    assert_eq!(
        Value::Object(merge_maps(&map(desired), &map(live), STRICT)),
        expected
    );
}

#[rstest]
#[case::subset(json!([80]), json!([80, 80, 90]), json!([80, 80, 90]))]
#[case::duplicates_must_be_there_that_often(json!([80, 80]), json!([80]), json!([80, 80]))]
#[case::named_items_merge(
    json!([{"name": "a", "image": "x"}]),
    json!([{"name": "b", "image": "y"}, {"name": "a", "image": "z", "ports": [80]}]),
    json!([{"name": "a", "image": "x", "ports": [80]}, {"name": "b", "image": "y"}])
)]
#[case::other_name_is_prepended(
    json!([{"image": "x", "name": "a"}]),
    json!([{"image": "x", "name": "b"}]),
    json!([{"image": "x", "name": "a"}, {"image": "x", "name": "b"}])
)]
#[case::number_for_a_quantity(
    json!([{"max": {"cpu": 0.5}}]),
    json!([{"max": {"cpu": "500m"}, "type": "Container"}]),
    json!([{"max": {"cpu": 0.5}, "type": "Container"}])
)]
#[case::list_in_the_same_order(
    json!([[2, 1]]),
    json!([[1, 2], [], [2, 1]]),
    json!([[2, 1], [1, 2], []])
)]
#[case::list_in_another_order(json!([[2, 1]]), json!([[1, 2]]), json!([[2, 1]]))]
#[case::empty_list_beside_null(json!([[]]), json!([null, []]), json!([[], null]))]
#[case::empty_text_that_was_dropped(
    json!([{"key": "a", "value": ""}]),
    json!([{"key": "b"}, {"key": "a", "effect": "e"}]),
    json!([{"key": "a", "value": "", "effect": "e"}, {"key": "b"}])
)]
#[case::partial_map(
    json!([{"kind": "User"}]),
    json!([{"kind": "Group", "name": "g"}, {"kind": "User", "name": "u"}]),
    json!([{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}])
)]
#[case::empty_wants_nothing(json!([]), json!([1, 2]), json!([1, 2]))]
#[case::container_port_is_not_a_name(
    json!([{"containerPort": 80, "protocol": "UDP"}]),
    json!([{"containerPort": 80, "protocol": "TCP"}]),
    json!([{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}])
)]
#[case::same_name_twice(
    json!([{"name": "a", "x": 1}, {"name": "a", "x": 2}]),
    json!([{"name": "a", "x": 2, "y": 0}]),
    json!([{"name": "a", "x": 1}, {"name": "a", "x": 2, "y": 0}])
)]
#[case::nothing_live(json!([1]), json!([]), json!([1]))]
fn merging_lists(#[case] desired: Value, #[case] live: Value, #[case] expected: Value) {
    assert_eq!(
        Value::Array(merge_lists(&list(desired), &list(live), STRICT)),
        expected
    );
}

#[rstest]
#[case::same(json!([1, 2]), json!([1, 2]), Equality::Same)]
#[case::order(json!([1, 2]), json!([2, 1]), Equality::Same)]
#[case::length(json!([1, 2]), json!([1]), Equality::Different)]
#[case::counts(json!([1, 1, 2]), json!([1, 2, 2]), Equality::Different)]
#[case::rules(
    json!([{"verbs": ["get", "list"], "resources": ["pods"]}, {"verbs": ["watch"]}]),
    json!([{"verbs": ["watch"]}, {"resources": ["pods"], "verbs": ["list", "get"]}]),
    Equality::Same
)]
#[case::conditions(
    json!([{"type": "Ready", "status": "True", "nested": [{"a": 1}, {"b": 2}]}, {"type": "Seen", "status": "False"}]),
    json!([{"type": "Seen", "status": "False"}, {"type": "Ready", "status": "True", "nested": [{"b": 2}, {"a": 1}]}]),
    Equality::Same
)]
#[case::lists_in_lists_have_an_order(json!([[1, 2]]), json!([[2, 1]]), Equality::Different)]
#[case::map_and_text(json!([{}]), json!(["map[]"]), Equality::Different)]
fn list_equality(#[case] a: Value, #[case] b: Value, #[case] expected: Equality) {
    assert_eq!(lists(&list(a), &list(b), STRICT), expected);
}

#[rstest]
#[case::false_and_absent(json!({"a": {"b": false}}), json!({"a": {}}), STRICT, Equality::IfDefaulted)]
#[case::zero_and_absent(json!({"a": 0, "b": 1}), json!({"b": 1}), STRICT, Equality::IfDefaulted)]
#[case::one_and_absent(json!({"a": 1}), json!({}), STRICT, Equality::Different)]
#[case::empty_text_and_absent(json!({"a": ""}), json!({}), STRICT, Equality::Different)]
#[case::empty_map_and_absent(json!({"a": {}}), json!({}), STRICT, Equality::Different)]
#[case::empty_map_and_absent_lax(json!({"a": {}}), json!({}), LAX, Equality::IfDefaulted)]
#[case::empty_list_and_absent(json!({"a": []}), json!({}), STRICT, Equality::IfDefaulted)]
#[case::empty_list_and_absent_exact(json!({"a": []}), json!({}), EXACT, Equality::Same)]
#[case::empty_list_and_absent_in_an_item(json!({"l": [{"a": [], "b": 1}]}), json!({"l": [{"b": 1}]}), STRICT, Equality::IfDefaulted)]
#[case::empty_list_and_null_in_a_map(json!({"a": []}), json!({"a": null}), STRICT, Equality::Same)]
#[case::empty_list_and_number(json!({"a": []}), json!({"a": 1}), STRICT, Equality::Same)]
#[case::null_and_absent(json!({"a": null}), json!({}), STRICT, Equality::IfDefaulted)]
#[case::other_volume(json!({"emptyDir": {}}), json!({"s3": {"bucket": "b"}}), STRICT, Equality::Different)]
#[case::other_volume_lax(json!({"emptyDir": {}}), json!({"s3": {"bucket": "b"}}), LAX, Equality::IfServerAgrees)]
#[case::live_has_more(json!({"a": 1}), json!({"a": 1, "b": 2}), STRICT, Equality::Different)]
#[case::word_and_bool(json!({"a": "true"}), json!({"a": true}), STRICT, Equality::Same)]
#[case::bool_and_word(json!({"a": true}), json!({"a": "true"}), STRICT, Equality::Same)]
#[case::number_and_text(json!({"a": 1}), json!({"a": "1"}), STRICT, Equality::Same)]
#[case::text_and_number(json!({"a": "1"}), json!({"a": 1}), STRICT, Equality::Different)]
#[case::float_and_whole(json!({"a": 1.0}), json!({"a": 1}), STRICT, Equality::Same)]
#[case::quantity(json!({"a": "1024Mi"}), json!({"a": "1Gi"}), STRICT, Equality::IfDefaulted)]
#[case::number_for_a_quantity(json!({"a": 0.5}), json!({"a": "500m"}), STRICT, Equality::IfDefaulted)]
#[case::number_for_another_quantity(json!({"a": 0.5}), json!({"a": "600m"}), STRICT, Equality::Different)]
#[case::other_quantity(json!({"a": "1024Mi"}), json!({"a": "2Gi"}), STRICT, Equality::Different)]
#[case::map_and_list(json!({"a": {}}), json!({"a": [1]}), STRICT, Equality::Different)]
#[case::text_and_null(json!(""), json!(null), LAX, Equality::IfDefaulted)]
#[case::text_and_null_strict(json!(""), json!(null), STRICT, Equality::Different)]
#[case::null_and_false(json!(null), json!(false), LAX, Equality::IfDefaulted)]
#[case::null_and_true(json!(null), json!(true), LAX, Equality::Different)]
#[case::empty_list_and_null(json!([]), json!(null), STRICT, Equality::Same)]
#[case::list_and_null(json!([1]), json!(null), LAX, Equality::Different)]
fn equality(
    #[case] merged: Value,
    #[case] live: Value,
    #[case] absence: AbsenceRules,
    #[case] expected: Equality,
) {
    assert_eq!(deep(&merged, &live, absence), expected);
}

#[rstest]
#[case(json!(null), "<nil>")]
#[case(json!(1), "int64")]
#[case(json!(1.5), "float64")]
#[case(json!(true), "bool")]
#[case(json!("x"), "string")]
#[case(json!([]), "[]interface {}")]
#[case(json!({}), "map[string]interface {}")]
fn go_types(#[case] value: Value, #[case] expected: &str) {
    assert_eq!(go_type(&value), expected);
}
