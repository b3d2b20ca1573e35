//! Reading and writing JSON against what `encoding/json` answers.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper that fails is a test that fails

use proptest::prelude::*;
use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::value::Value;
use serde_json::Value as Json;

use crate::tagged::{bytes_of, from_tagged, normalised, to_tagged};
use crate::tally::{Tally, cases};

#[test]
fn documents_read_as_with_encoding_json() {
    let mut tally = Tally::default();
    for case in cases("json_documents.json") {
        let text = bytes_of(&case, "in", "b64");
        let (value, error) = json::decode_partly(&text);
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        let expected_error = case.get("error").and_then(Json::as_str).unwrap_or_default();
        let expected = format!("{} {expected_error}", normalised(&case["value"]));
        tally.compare(&text, &expected, &format!("{} {error}", to_tagged(&value)));
    }
    tally.finish("encoding/json documents");
}

#[test]
fn values_are_written_as_with_encoding_json() {
    let mut tally = Tally::default();
    for case in cases("json_values.json") {
        let value = from_tagged(&case["value"]);
        let input = case["value"].to_string();
        let member = |name: &str| case.get(name).and_then(Json::as_str);
        let compact = member("html").unwrap_or_default();
        let or_error = |text| member("error").or(text).unwrap_or(compact).to_owned();
        let answers = [
            (None, json::encode(&value, Escape::Html)),
            (member("raw"), json::encode(&value, Escape::None)),
            (
                member("indented"),
                json::encode_indented(&value, Escape::Html, ">", "  "),
            ),
        ];
        for (expected, answer) in answers {
            let answer = match answer {
                Ok(text) => String::from_utf8(text).unwrap(),
                Err(error) => error.to_string(),
            };
            tally.compare(input.as_bytes(), &or_error(expected), &answer);
        }
    }
    tally.finish("encoding/json values");
}

#[test]
fn nesting_has_go_s_limit_and_costs_no_stack() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    let deepest = nested(10_000);
    let value = json::decode(&deepest).unwrap();
    assert_eq!(json::encode(&value, Escape::Html).unwrap(), deepest);
    let error = json::decode(&nested(10_001)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid character '[' exceeded max depth"
    );
}

#[test]
fn a_map_that_contains_itself_is_refused() {
    let value = Value::dict([("a", Value::Nil)]);
    let Value::Map(map) = &value else {
        unreachable!()
    };
    map.insert("a".into(), value.clone());
    let error = json::encode(&value, Escape::Html).unwrap_err();
    assert_eq!(
        error.to_string(),
        "json: unsupported value: encountered a cycle via map[string]interface {}"
    );
    map.remove(&"a".into());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = json::decode_partly(&bytes);
    }

    #[test]
    fn any_text_reads_back(text in ".*") {
        let value = Value::str(text.as_str());
        for escape in [Escape::Html, Escape::None] {
            let encoded = json::encode(&value, escape).unwrap();
            prop_assert!(json::decode(&encoded).unwrap().deep_equal(&value));
        }
    }

    #[test]
    fn any_number_reads_back(number in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
        let encoded = json::encode(&Value::Float(number), Escape::Html).unwrap();
        prop_assert!(json::decode(&encoded).unwrap().deep_equal(&Value::Float(number)));
    }
}
