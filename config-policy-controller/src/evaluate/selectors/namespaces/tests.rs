//! Namespace selection, case by case.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Namespace, TerminatingInclusion, select_namespaces};

fn cluster() -> Vec<Namespace> {
    [
        ("default", "", false),
        ("kube-public", "", false),
        ("kube-system", "", false),
        ("range1", "a", false),
        ("range2", "b", false),
        ("range3", "", true),
    ]
    .into_iter()
    .map(|(name, label, terminating)| Namespace {
        name: name.to_owned(),
        labels: [("box", label)]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        terminating,
    })
    .collect()
}

fn chosen(selector: Value) -> Result<String, String> {
    let selector = serde_json::from_value(selector).unwrap();
    select_namespaces(&selector, &cluster(), TerminatingInclusion::IfMatch)
        .map(|names| names.join(" "))
        .map_err(|error| error.to_string())
}

#[rstest]
#[case::nothing(json!({}), "")]
#[case::exclusion_alone(json!({"exclude": ["kube-*"]}), "")]
#[case::pattern(json!({"include": ["range*"]}), "range1 range2 range3")]
#[case::class(json!({"include": ["range[2-3]"]}), "range2 range3")]
#[case::negated(json!({"include": ["range[^2]"]}), "range1 range3")]
#[case::one(json!({"include": ["range?"], "exclude": ["range2"]}), "range1 range3")]
#[case::all_but(json!({"include": ["*"], "exclude": ["kube-*", "range?"]}), "default")]
#[case::empty_labels(json!({"matchLabels": {}, "exclude": ["*e*"]}), "")]
#[case::empty_expressions(json!({"matchExpressions": [], "exclude": ["kube-*", "range*"]}), "default")]
#[case::label(json!({"matchLabels": {"box": "a"}}), "range1")]
#[case::no_such_label(json!({"matchLabels": {"box": "z"}}), "")]
#[case::exists(json!({"matchExpressions": [{"key": "box", "operator": "Exists"}]}), "range1 range2")]
#[case::does_not_exist(json!({"matchExpressions": [{"key": "box", "operator": "DoesNotExist"}], "include": ["range*"]}), "range3")]
#[case::within(json!({"matchExpressions": [{"key": "box", "operator": "In", "values": ["b", "c"]}]}), "range2")]
#[case::not_within(json!({"matchExpressions": [{"key": "box", "operator": "NotIn", "values": ["b"]}], "include": ["range*"]}), "range1 range3")]
#[case::no_terminating(json!({"include": ["range*"], "terminatingInclusion": "Never"}), "range1 range2")]
#[case::escaped(json!({"include": ["range\\1"]}), "range1")]
fn selections(#[case] selector: Value, #[case] expected: &str) {
    assert_eq!(chosen(selector).as_deref(), Ok(expected));
}

#[rstest]
#[case(json!({"include": ["[a"]}), "error parsing 'include' pattern '[a': syntax error in pattern")]
#[case(json!({"include": ["*"], "exclude": ["[]"]}), "error parsing 'exclude' pattern '[]': syntax error in pattern")]
#[case(json!({"include": ["a\\"]}), "error parsing 'include' pattern 'a\\': syntax error in pattern")]
#[case(json!({"matchExpressions": [{"key": "a", "operator": "Seriously"}]}), r#"error parsing namespace LabelSelector: "Seriously" is not a valid label selector operator"#)]
#[case(json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}), "error parsing namespace LabelSelector: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")]
fn selectors_that_make_no_sense(#[case] selector: Value, #[case] expected: &str) {
    assert_eq!(chosen(selector), Err(expected.to_owned()));
}

#[test]
fn terminating_inclusion_flag_is_the_default() {
    let selector = serde_json::from_value(json!({"include": ["range*"]})).unwrap();
    let dropped = select_namespaces(&selector, &cluster(), TerminatingInclusion::Drop).unwrap();
    assert_eq!(dropped.join(" "), "range1 range2");
}
