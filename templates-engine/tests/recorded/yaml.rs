//! Reading and writing YAML against what go-yaml answers.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper that fails is a test that fails

use proptest::prelude::*;
use reeve_go_compat::value::Value;
use reeve_go_compat::yaml::{self, Quoting, TemplateStyle};
use serde_json::Value as Json;

use crate::tagged::{bytes_of, error_of, from_tagged, normalised, to_tagged};
use crate::tally::{Tally, cases};

fn outcome(result: Result<Value, yaml::YamlError>) -> String {
    match result {
        Ok(value) => to_tagged(&value).to_string(),
        Err(error) => format!("error {error}"),
    }
}

fn expectation(json: &Json) -> String {
    match error_of(json) {
        Some(error) => format!("error {error}"),
        None => normalised(json).to_string(),
    }
}

#[test]
fn documents_read_as_with_yaml_v3() {
    let mut tally = Tally::default();
    for case in cases("yaml_documents.json") {
        let text = bytes_of(&case, "in", "b64");
        let answer = outcome(yaml::decode(&text));
        tally.compare(&text, &expectation(&case["v3"]), &answer);
    }
    tally.finish("yaml.v3 documents");
}

#[test]
fn documents_read_as_with_sigs_yaml() {
    let mut tally = Tally::default();
    for case in cases("yaml_documents.json") {
        let text = bytes_of(&case, "in", "b64");
        let answer = outcome(yaml::decode_sigs(&text));
        tally.compare(&text, &expectation(&case["sigs"]), &answer);
    }
    tally.finish("sigs.k8s.io/yaml documents");
}

#[test]
fn values_are_written_as_with_yaml_v3() {
    let mut tally = Tally::default();
    for case in cases("yaml_values.json") {
        let value = from_tagged(&case["value"]);
        let input = case["value"].to_string();
        let expected = case["yaml"].as_str().unwrap();
        let expected_four = case.get("four").and_then(Json::as_str).unwrap_or(expected);
        for (indent, expected) in [(2, expected), (4, expected_four)] {
            let answer = yaml::encode_with_indent(&value, indent).unwrap();
            let answer = String::from_utf8_lossy(&answer).into_owned();
            tally.compare(input.as_bytes(), expected, &answer);
        }
    }
    tally.finish("yaml.v3 values");
}

#[test]
fn nesting_has_a_limit_and_costs_no_stack() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    for decode in [yaml::decode, yaml::decode_sigs] {
        let value = decode(&nested(10_000)).unwrap();
        let written = yaml::encode(&value).unwrap();
        assert!(written.starts_with(b"- - - "));
        let error = decode(&nested(10_001)).unwrap_err();
        assert_eq!(error.to_string(), "yaml: exceeded max depth of 10000");
        let blocks = [b"- ".repeat(10_001), b"a".to_vec()].concat();
        let error = decode(&blocks).unwrap_err();
        assert_eq!(error.to_string(), "yaml: exceeded max depth of 10000");
    }
    // A block that holds a flow collection, each within its own limit.
    let both = [b"- ".repeat(6000), nested(6000)].concat();
    assert!(yaml::decode(&both).is_err());
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let alias = format!("*a{}", level - 1);
        let items = vec![alias; 10].join(", ");
        let line = format!("a{level}: &a{level} [{items}]\n");
        text.push_str(&line);
    }
    for decode in [yaml::decode, yaml::decode_sigs] {
        let error = decode(text.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "yaml: document contains excessive aliasing"
        );
    }
}

#[test]
fn a_map_that_contains_itself_is_refused() {
    let value = Value::dict([("a", Value::Nil)]);
    let Value::Map(map) = &value else {
        unreachable!()
    };
    map.insert("a".into(), value.clone());
    assert!(yaml::encode(&value).is_err());
    map.remove(&"a".into());
}

/// Path, text in the document, and whether it is a key.
fn places(text: &str) -> Vec<(String, String, bool)> {
    let mut found = Vec::new();
    let value = yaml::decode_with_places(text.as_bytes(), &mut |place| {
        let path: Vec<_> = place
            .path
            .iter()
            .map(|segment| match segment {
                yaml::PathSegment::Key(key) => key.clone(),
                yaml::PathSegment::Index(index) => index.to_string(),
            })
            .collect();
        let source = text[place.range].to_owned();
        found.push((path.join("/"), source, place.is_key));
    });
    assert!(
        value
            .unwrap()
            .deep_equal(&yaml::decode(text.as_bytes()).unwrap())
    );
    found
}

#[test]
fn places_are_those_of_the_text() {
    let text = "é: 'x y'\nb:\n  - 1\n  - [\"z\", {k: v}]\n2: |\n  t\n";
    let expected = [
        ("é", "é", true),
        ("é", "'x y'", false),
        ("b", "b", true),
        ("b/0", "1", false),
        ("b/1/0", "\"z\"", false),
        ("b/1/1/k", "k", true),
        ("b/1/1/k", "v", false),
        ("2", "2", true),
        ("2", "|\n  t\n", false),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(path, source, is_key)| (path.to_owned(), source.to_owned(), is_key))
        .collect();
    assert_eq!(places(text), expected);
}

#[test]
fn places_of_aliases_and_merges_are_those_of_the_anchor() {
    let found = places("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n");
    let of = |path: &str| -> Vec<_> {
        let is_it = |place: &&(String, String, bool)| place.0 == path && !place.2;
        found
            .iter()
            .filter(is_it)
            .map(|place| place.1.as_str())
            .collect()
    };
    assert_eq!(of("a/x"), ["1"]);
    assert_eq!(of("b/x"), ["1"]);
    assert_eq!(of("c/x"), ["1"]);
    assert_eq!(of("c/y"), ["2"]);
}

fn style() -> TemplateStyle {
    TemplateStyle {
        start_delimiter: "{{".to_owned(),
        stop_delimiter: "}}".to_owned(),
    }
}

#[test]
fn quoted_actions_keep_what_their_author_wrote() {
    let json = serde_json::json!({
        "double": "{{ upper \"v1\" }} \n {{ `a\\b` }} \t",
        "literal": "{{ \"x\" }}\n",
        "single": "{{ \"it's\" }} isn't {{ '}' }} {{ \"}} '\" }}",
        "untouched": "{{ .x }} 🎉",
    });
    let yaml = yaml::encode_json_with_actions(&json, &style()).unwrap();
    assert_eq!(yaml.text, yaml::encode_json_for_template(&json).unwrap());
    let text = String::from_utf8(yaml.text).unwrap();
    let found: Vec<_> = yaml
        .actions
        .iter()
        .map(|action| {
            (
                &text[action.range.clone()],
                action.quoting,
                action.source.as_str(),
            )
        })
        .collect();
    let expected = [
        (
            "{{ upper \\\"v1\\\" }}",
            Quoting::Double,
            "{{ upper \"v1\" }}",
        ),
        ("{{ `a\\\\b` }}", Quoting::Double, "{{ `a\\b` }}"),
        ("{{ \"it''s\" }}", Quoting::Single, "{{ \"it's\" }}"),
        ("{{ ''}'' }}", Quoting::Single, "{{ '}' }}"),
        ("{{ \"}} ''\" }}", Quoting::Single, "{{ \"}} '\" }}"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn json_becomes_yaml_with_the_numbers_that_yaml_reads() {
    let json = serde_json::json!({"a": 1.0, "b": 1e6, "c": 5, "d": u64::MAX, "e": [], "f": {}});
    let yaml = yaml::encode_json_for_template(&json).unwrap();
    let expected = "a: 1\nb: 1e+06\nc: 5\nd: 18446744073709551615\ne: []\nf: {}\n";
    assert_eq!(String::from_utf8(yaml).unwrap(), expected);
}

/// Values that reading gives back as they were.
fn plain_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        // Not so texts over several lines that begin with a space or a break: go-yaml writes some of
        // them as blocks that do not read back.
        "[^\n\r\u{85}\u{2028}\u{2029}]{0,12}".prop_map(Value::from),
        "[!-~][ -~\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            proptest::collection::btree_map("[a-z0-9 :#'-]{0,6}", inner, 0..4)
                .prop_map(Value::dict),
        ]
    })
}

/// Values whose texts and keys may begin with spaces, tabs and breaks, over several lines.
fn awkward_values() -> impl Strategy<Value = Value> {
    const TEXT: &str = "[ \t\n\u{85}\u{2028}a#:-]{0,6}";
    let leaf = prop_oneof![
        TEXT.prop_map(Value::from),
        "[ \n]{0,2}[a-c \n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(Value::list),
            proptest::collection::btree_map(TEXT, inner, 1..4).prop_map(Value::dict),
        ]
    })
}

/// A value with texts over several lines, in a map and in a list, that go-yaml writes as blocks that read back.
fn readable_blocks() -> impl Strategy<Value = Value> {
    let text = "[a-c][a-c \n]{0,8}[a-c]\n{0,2}".prop_map(Value::from);
    proptest::collection::vec(text, 1..4).prop_map(|texts| {
        Value::dict([
            ("list", Value::list(texts.clone())),
            ("map", Value::dict([("a", texts[0].clone())])),
        ])
    })
}

proptest! {
    #[test]
    fn what_is_written_to_be_readable_reads_back(value in awkward_values(), indent in 2_usize..=9) {
        let written = yaml::encode_readable(&value, indent).unwrap();
        let back = yaml::decode(&written);
        prop_assert!(
            back.as_ref().is_ok_and(|back| back.deep_equal(&value)),
            "{} gave {back:?}",
            String::from_utf8_lossy(&written)
        );
    }

    #[test]
    fn what_reads_back_is_written_as_go_yaml_writes_it(value in prop_oneof![awkward_values(), readable_blocks()], indent in 2_usize..=9) {
        let written = yaml::encode_with_indent(&value, indent).unwrap();
        if yaml::decode(&written).is_ok_and(|back| back.deep_equal(&value)) {
            prop_assert_eq!(yaml::encode_readable(&value, indent).unwrap(), written);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..96)) {
        let _ = yaml::decode(&bytes);
        let _ = yaml::decode_sigs(&bytes);
    }

    #[test]
    fn any_soup_of_indicators_is_read_or_refused(
        text in "[-?:,\\[\\]{}#&*!|>'\"%@` \\\\ntab01.~<\n\r\t\u{feff}\u{2028}é]{0,48}"
    ) {
        let value = yaml::decode(text.as_bytes());
        let _ = yaml::decode_sigs(text.as_bytes());
        if let Ok(value) = value {
            let _ = yaml::encode(&value).unwrap();
        }
    }

    #[test]
    fn what_is_written_reads_back(value in plain_values()) {
        let written = yaml::encode(&value).unwrap();
        let back = yaml::decode(&written);
        prop_assert!(
            back.as_ref().is_ok_and(|back| back.deep_equal(&value)),
            "{} gave {back:?}",
            String::from_utf8_lossy(&written)
        );
    }
}
