use serde_json::{Value, json};

use super::{ApplyRequest, Conflicts, FieldManager, apply, track};
use crate::schema::{self, TypeId, Types};

struct Kinds {
    built_in: Types,
    custom: (Types, TypeId),
}

impl Kinds {
    fn read() -> Self {
        let schemas: Value =
            serde_json::from_str(include_str!("../../tests/fixtures/schemas.json")).unwrap();
        let thing: Value =
            serde_json::from_str(include_str!("../../tests/fixtures/thing.json")).unwrap();
        Self {
            built_in: Types::from_openapi(schemas.as_object().unwrap()),
            custom: Types::from_crd(&thing).unwrap(),
        }
    }

    fn of(&self, path: &str) -> (&Types, TypeId) {
        let named = |name| (&self.built_in, self.built_in.named(name).unwrap());
        match path {
            path if path.contains("/things") => (&self.custom.0, self.custom.1),
            path if path.contains("/deployments") => named("io.k8s.api.apps.v1.Deployment"),
            _ => named("io.k8s.api.core.v1.ConfigMap"),
        }
    }
}

/// Without what only the store writes.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    for key in [
        "resourceVersion",
        "uid",
        "creationTimestamp",
        "generation",
        "namespace",
    ] {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove(key);
        }
    }
    object
}

fn entries(object: &Value) -> &Value {
    &object["metadata"]["managedFields"]
}

/// The time of the newest entry.
fn now(object: &Value) -> String {
    let list = entries(object).as_array().cloned().unwrap_or_default();
    let times = list.iter().filter_map(|entry| entry["time"].as_str());
    times.max().unwrap_or("2030-01-01T00:00:00Z").to_owned()
}

/// What this server makes of a recorded request, and what the recorded one made of it.
fn replayed(kinds: &Kinds, case: &Value) -> (Value, Value) {
    let (path, query) = case["path"].as_str().unwrap().split_once('?').unwrap();
    let (types, id) = kinds.of(path);
    let now = now(&case["after"]);
    let manager = query
        .split('&')
        .find_map(|part| part.strip_prefix("fieldManager="));
    let status = path.ends_with("/status");
    let body = &case["body"];
    let live = match &case["before"] {
        Value::Null => {
            json!({ "apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": { "name": body["metadata"]["name"] } })
        }
        before => before.clone(),
    };
    let manager = FieldManager {
        name: manager.unwrap().to_owned(),
        api_version: live["apiVersion"].as_str().unwrap().to_owned(),
        subresource: if status { "status" } else { "" }.to_owned(),
        now: now.clone(),
    };
    let failed = case["after"]["kind"] == "Status";
    if case["type"] == "apply-patch+yaml" {
        let reset: &[&[&str]] = match (status, path.contains("configmaps")) {
            (true, _) => &[&["spec"], &["metadata"]],
            (_, true) => &[],
            _ => &[&["status"]],
        };
        let conflicts = if query.contains("force=true") {
            Conflicts::Force
        } else {
            Conflicts::Refuse
        };
        let request = ApplyRequest {
            types,
            id: Some(id),
            live: &live,
            desired: body,
            manager: &manager,
            conflicts,
            reset,
        };
        let got = match apply(&request) {
            Ok(object) if path.contains("deployments") => entries(&object).clone(),
            Ok(mut object) => {
                schema::decode(types, id, &mut object).unwrap();
                schema::default(types, id, &mut object);
                plain(&object)
            }
            Err(failure) => {
                json!({ "message": failure.message, "code": failure.code, "details": failure.details })
            }
        };
        let after = &case["after"];
        let expected = match path {
            _ if failed => {
                json!({ "message": after["message"], "code": after["code"], "details": after["details"] })
            }
            path if path.contains("deployments") => entries(after).clone(),
            _ => plain(after),
        };
        return (got, expected);
    }
    let mut new = case["after"].clone();
    let given = entries(body).clone();
    match &given {
        Value::Null => new["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields"),
        _ => new["metadata"]
            .as_object_mut()
            .unwrap()
            .insert("managedFields".to_owned(), given),
    };
    let before = Some(&case["before"]).filter(|before| !before.is_null());
    track(types, Some(id), before, &mut new, &manager);
    (entries(&new).clone(), entries(&case["after"]).clone())
}

/// Recorded by `tests/record/apply.sh`.
#[test]
fn sequence_of_applies_matches_kubernetes() {
    let kinds = Kinds::read();
    let mut wrong = Vec::new();
    for (number, line) in include_str!("../../tests/fixtures/apply.jsonl")
        .lines()
        .enumerate()
    {
        let case: Value = serde_json::from_str(line).unwrap();
        // Refused by what comes after applying.
        if case["after"]["code"] == 422 {
            continue;
        }
        let (got, expected) = replayed(&kinds, &case);
        if got != expected {
            wrong.push(format!(
                "{}: {} {} {}\n  got      {got}\n  expected {expected}",
                number + 1,
                case["method"],
                case["path"],
                case["body"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Recorded by `tests/record/orders`.
#[test]
fn merged_lists_keep_the_order_of_kubernetes() {
    let set =
        json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" });
    let schema = json!({ "type": "object", "properties": { "set": set } });
    let (types, id) = Types::from_crd(&schema).unwrap();
    let sets = super::typed::Typed::new(&types, Some(id));
    for line in include_str!("../../tests/fixtures/orders.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let live = json!({ "set": case["live"] });
        let merged = super::merge::merge(sets, Some(&live), &json!({ "set": case["wanted"] }));
        assert_eq!(merged, case["merged"], "{line}");
    }
}
