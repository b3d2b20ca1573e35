//! Definitions of kinds, and objects by them.

use reeve_apiserver::schema::{Types, check_crd, decode, default, prune, validate};
use serde_json::{Value as Json, json};

/// A definition: whether it is in order, and what becomes of objects of its versions.
pub(crate) fn definition(input: &[u8]) {
    let Ok(definition) = serde_json::from_slice::<Json>(input) else {
        return;
    };
    let _ = check_crd(&definition);
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Json::as_array);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema") {
            // The definition itself, by its own schema: any object will do.
            live(schema, &object(), &changed());
            live(schema, &definition, &object());
        }
    }
}

/// A rule about an object with values of every type.
pub(crate) fn rule(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut schema = shape();
    let rule = json!([{ "rule": text, "messageExpression": text, "message": "broken" }]);
    if let Some(spec) = schema.pointer_mut("/properties/spec") {
        spec["x-kubernetes-validations"] = rule;
    }
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.fuzz.example.com" },
        "spec": {
            "group": "fuzz.example.com", "scope": "Namespaced", "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let _ = check_crd(&definition);
    live(&schema, &object(), &changed());
}

/// The life of an object.
fn live(schema: &Json, object: &Json, changed: &Json) {
    let Ok((types, id)) = Types::from_crd(schema) else {
        return;
    };
    let (mut object, mut changed) = (object.clone(), changed.clone());
    for one in [&mut object, &mut changed] {
        let _ = decode(&types, id, one);
        let _ = prune(&types, id, one);
        default(&types, id, one);
    }
    let _ = validate(&types, id, &object, None);
    let _ = validate(&types, id, &changed, Some(&object));
}

fn shape() -> Json {
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "text": { "type": "string" },
        "count": { "type": "integer" },
        "real": { "type": "number" },
        "flag": { "type": "boolean" },
        "at": { "type": "string", "format": "date-time" },
        "span": { "type": "string", "format": "duration" },
        "bytes": { "type": "string", "format": "byte" },
        "either": { "x-kubernetes-int-or-string": true },
        "list": { "type": "array", "items": { "type": "integer" } },
        "map": { "type": "object", "additionalProperties": { "type": "string" } },
        "objects": { "type": "array", "items": { "type": "object", "properties": {
            "name": { "type": "string" }, "value": { "type": "integer" },
        } } },
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    } } } })
}

fn object() -> Json {
    json!({ "apiVersion": "fuzz.example.com/v1", "kind": "Thing", "metadata": { "name": "a" }, "spec": {
        "text": "abcd,ab", "count": 3, "real": 1.5, "flag": true, "at": "2026-01-01T00:00:00Z", "span": "90m",
        "bytes": "YWJj", "either": "50%", "list": [1, 2, 3, 4, 5, -7, i64::MAX], "map": { "a": "ab", "b c": "" },
        "objects": [{ "name": "a", "value": 3 }, { "name": "ü" }], "free": { "x": [null, { "y": 0.5 }] },
    } })
}

fn changed() -> Json {
    json!({ "apiVersion": "fuzz.example.com/v1", "kind": "Thing", "metadata": { "name": "a" }, "spec": {
        "text": "", "count": i64::MIN, "list": [], "map": {}, "either": 0, "objects": [], "flag": false,
    } })
}
