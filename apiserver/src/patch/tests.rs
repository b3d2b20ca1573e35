use serde_json::{Value, json};

use super::{json_patch, merge_patch, strategic};
use crate::schema::Types;

/// Recorded by `tests/record/strategic`.
#[test]
fn strategic_patches_match_kubernetes() {
    let schemas: Value =
        serde_json::from_str(include_str!("../../tests/fixtures/schemas.json")).unwrap();
    let types = Types::from_openapi(schemas.as_object().unwrap());
    let mut wrong = Vec::new();
    for line in include_str!("../../tests/fixtures/strategic.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = types.named(case["type"].as_str().unwrap()).unwrap();
        let body = case["patch"].to_string();
        let got = match strategic(&types, id, &case["current"], &case["patch"]) {
            Ok(value) => json!({ "result": value }),
            Err(failure) => json!({ "error": failure.message }),
        };
        let expected = match case.get("error") {
            Some(error) => json!({ "error": error }),
            None => json!({ "result": case["result"] }),
        };
        if got != expected {
            wrong.push(format!("{body}\n  got      {got}\n  expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn object() -> Value {
    json!({ "data": { "a": "1", "b": "2" }, "list": [{ "x": 1 }, { "x": 2 }] })
}

fn json_patched(patch: &Value) -> Result<Value, (u16, String)> {
    json_patch(&object(), patch).map_err(|failure| (failure.code, failure.message))
}

#[test]
fn failing_json_patches_are_refused() {
    for operation in [
        json!({ "op": "test", "path": "/data/a", "value": "x" }),
        json!({ "op": "test", "path": "/data/nope", "value": "x" }),
        json!({ "op": "test", "path": "/nope/nope", "value": "x" }),
        json!({ "op": "remove", "path": "/data/z" }),
        json!({ "op": "add", "path": "/foo/z", "value": "1" }),
        json!({ "op": "move", "from": "/data/z", "path": "/data/y" }),
        json!({ "op": "bad", "path": "/data/y" }),
        json!({ "path": "/data/y" }),
        json!({ "op": "remove", "path": "/list/7" }),
        json!({ "op": "add", "path": "/list/7", "value": {} }),
        json!({ "op": "replace", "path": "/list/x", "value": {} }),
    ] {
        let (code, message) = json_patched(&json!([operation])).unwrap_err();
        assert_eq!(code, 422, "{operation}");
        assert_eq!(
            message,
            "the server rejected our request due to an error in our request"
        );
    }
}

#[test]
fn json_patches_follow_the_limits_of_kubernetes() {
    for (operation, pointer, value) in [
        (
            json!({ "op": "replace", "path": "/data/z", "value": "1" }),
            "/data/z",
            json!("1"),
        ),
        (
            json!({ "op": "copy", "from": "/data/z", "path": "/data/y" }),
            "/data/y",
            json!(null),
        ),
        (
            json!({ "op": "add", "path": "/data/y" }),
            "/data/y",
            json!(null),
        ),
        (
            json!({ "op": "add", "path": "data/y", "value": 1 }),
            "/y",
            json!(1),
        ),
        (
            json!({ "op": "test", "path": "/data/nope", "value": null }),
            "/data/a",
            json!("1"),
        ),
        (
            json!({ "op": "remove", "path": "/list/-1" }),
            "/list",
            json!([{ "x": 1 }]),
        ),
        (
            json!({ "op": "add", "path": "/list/-", "value": 3 }),
            "/list/2",
            json!(3),
        ),
        (
            json!({ "op": "move", "from": "/list/0", "path": "/list/1" }),
            "/list",
            json!([{ "x": 2 }, { "x": 1 }]),
        ),
    ] {
        let patched = json_patched(&json!([operation])).unwrap();
        assert_eq!(patched.pointer(pointer), Some(&value), "{operation}");
    }
}

#[test]
fn invalid_patch_bodies_are_reported() {
    let message_of = |result: Result<Value, crate::status_error::StatusError>| {
        let failure = result.unwrap_err();
        assert_eq!(failure.code, 400);
        failure.message
    };
    let o = object();
    assert_eq!(
        super::parse(b"x").unwrap_err(),
        "invalid character 'x' looking for beginning of value"
    );
    assert_eq!(
        super::parse(b"{").unwrap_err(),
        "unexpected end of JSON input"
    );
    for (result, what) in [
        (
            json_patch(&o, &json!([1])),
            "number into Go value of type handlers.jsonPatchOp",
        ),
        (
            json_patch(&o, &json!({})),
            "object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            merge_patch(&o, &json!([])),
            "array into Go value of type map[string]interface {}",
        ),
    ] {
        assert_eq!(
            message_of(result),
            format!("error decoding patch: json: cannot unmarshal {what}")
        );
    }
    assert_eq!(
        message_of(merge_patch(&o, &json!(null))),
        "Invalid JSON Patch"
    );
}

#[test]
fn merge_patches_remove_and_set_fields() {
    let patch = json!({ "data": { "a": null, "c": { "d": null } }, "list": [1] });
    assert_eq!(
        merge_patch(&object(), &patch).unwrap(),
        json!({ "data": { "b": "2", "c": {} }, "list": [1] })
    );
}
