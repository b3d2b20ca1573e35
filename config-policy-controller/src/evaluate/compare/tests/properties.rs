//! What holds for every object.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{STRICT, Verdict, compared, map, verdict_of};
use crate::evaluate::compare::ComplianceType::{self, MustHave, MustNotHave, MustOnlyHave};
use crate::evaluate::compare::equal::{deep, lists};
use crate::evaluate::compare::{
    DesiredContent, Equality, compare, is_quantity, matches, same_amount, sprint, without_noise,
};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3.0f64..3.0).prop_map(Value::from),
        prop::sample::select(vec![
            "", "a", "b", "true", "1", "1.0", "1Gi", "1024Mi", "k", "<nil>"
        ])
        .prop_map(Value::from),
    ]
}

/// Few keys and few values, so that lists and maps often nearly fit.
fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            3 => fields(inner).prop_map(Value::Object),
        ]
    })
}

fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let key = prop::sample::select(vec!["name", "a", "b", "c"]);
    prop::collection::btree_map(key, inner, 0..4).prop_map(|map| {
        map.into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    })
}

fn metadata() -> impl Strategy<Value = Value> {
    let texts = prop::collection::btree_map("[a-c]", "[01]?", 0..3);
    (prop::option::of(texts.clone()), prop::option::of(texts)).prop_map(|(labels, annotations)| {
        let mut metadata = json!({"name": "x"});
        if let Some(labels) = labels {
            metadata["labels"] = json!(labels);
        }
        if let Some(annotations) = annotations {
            metadata["annotations"] = json!(annotations);
        }
        metadata
    })
}

fn object() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec!["spec", "rules", "data", "type"]);
    (prop::collection::btree_map(keys, value(), 0..4), metadata()).prop_map(|(fields, metadata)| {
        let mut object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": metadata});
        for (key, value) in fields {
            object[key] = value;
        }
        object
    })
}

fn types() -> impl Strategy<Value = ComplianceType> {
    prop::sample::select(vec![MustHave, MustNotHave, MustOnlyHave])
}

/// Shuffles lists of maps and scalars everywhere, but not the lists directly inside lists: those have an order.
fn reversed(value: &Value, in_list: bool) -> Value {
    match value {
        Value::Array(items) if in_list => Value::Array(items.clone()),
        Value::Array(items) => items
            .iter()
            .rev()
            .map(|item| reversed(item, true))
            .collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), reversed(value, false)))
                .collect(),
        ),
        scalar => scalar.clone(),
    }
}

proptest! {
    #[test]
    fn what_enforce_writes_is_compliant(
        compliance in prop::sample::select(vec![MustHave, MustOnlyHave]),
        wanted in object(),
        live in object(),
    ) {
        let first = compared(compliance, &wanted, &live);
        prop_assume!(first.error.is_none());
        let written = first.to_write(&live);
        let second = compared(compliance, &wanted, &written);
        prop_assert_eq!(verdict_of(&second), Verdict::Compliant, "{:#?}", second);
        prop_assert_eq!(second.candidate, written);
    }

    #[test]
    fn object_complies_with_itself(compliance in types(), live in object()) {
        prop_assert_eq!(verdict_of(&compared(compliance, &live, &live)), Verdict::Compliant);
        let definition = map(live.clone());
        let desired = DesiredContent { definition: &definition, compliance, metadata_compliance: None };
        prop_assert!(matches(desired, &live));
    }

    #[test]
    fn list_order_never_matters(compliance in types(), wanted in object(), live in object()) {
        let straight = compared(compliance, &wanted, &live);
        let turned = compared(compliance, &wanted, &reversed(&live, false));
        prop_assert_eq!(verdict_of(&straight), verdict_of(&turned));
    }

    #[test]
    fn equality_is_reflexive(value in value()) {
        prop_assert_eq!(deep(&value, &value, STRICT), Equality::Same);
        prop_assert_eq!(deep(&value, &value, STRICT.in_list()), Equality::Same);
    }

    #[test]
    fn shuffled_lists_are_equal(items in prop::collection::vec(value(), 0..8).prop_shuffle()) {
        let mut other = items.clone();
        other.reverse();
        prop_assert_eq!(lists(&items, &other, STRICT), Equality::Same);
    }

    #[test]
    fn nothing_panics(
        compliance in types(),
        kind in prop::sample::select(vec!["Secret", "Namespace", "ServiceAccount", "Thing"]),
        mut wanted in fields(value()),
        live in value(),
        odd in value(),
    ) {
        wanted.insert("apiVersion".to_owned(), json!("v1"));
        wanted.insert("kind".to_owned(), json!(kind));
        wanted.insert("metadata".to_owned(), odd.clone());
        wanted.insert("stringData".to_owned(), odd.clone());
        let desired = DesiredContent { definition: &wanted, compliance, metadata_compliance: None };
        for live in [live, json!({"metadata": odd, "data": odd, "stringData": 1})] {
            let comparison = compare(desired, &live);
            let _ = (comparison.to_write(&live), matches(desired, &live), without_noise(&live), sprint(&live));
        }
    }

    #[test]
    fn quantity_equals_itself(text in "[-+]?[0-9.]{0,60}[eEKMGTPinumk+-]{0,3}[0-9]{0,12}") {
        prop_assert_eq!(same_amount(&text, &text), is_quantity(&text));
    }
}
