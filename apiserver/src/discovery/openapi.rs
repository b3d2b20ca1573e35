//! Schemas for clients: what `kubectl explain`, `apply` and `diff` ask for. Paths have only what these read.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::root_of;
use crate::kinds::{Kind, Kinds, openapi_schemas};

pub(super) const VERSION: &str = "1.36";
const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Where the documents are.
pub(super) fn index(kinds: &Kinds) -> Value {
    let mut paths = Map::new();
    for group in kinds.groups() {
        for (version, resources) in &group.versions {
            let root = root_of(&group.name, version);
            let root = root.trim_start_matches('/');
            let mut hash = Sha256::new();
            for kind in resources {
                hash.update(&kind.resource);
                if let Some(custom) = &kind.custom {
                    hash.update(custom.written.to_string());
                }
            }
            let hash = crate::meta::hex(&hash.finalize()).to_uppercase();
            let url = format!("/openapi/v3/{root}?hash={hash}");
            paths.insert(root.to_owned(), json!({ "serverRelativeURL": url }));
        }
    }
    json!({ "paths": paths })
}

/// The document of one version of a group.
pub(super) fn third(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let found = kinds.groups().iter().find(|one| one.name == group)?;
    let (_, resources) = found.versions.iter().find(|(name, _)| name == version)?;
    let all = openapi_schemas();
    let mut schemas = Map::new();
    let mut paths = Map::new();
    for kind in resources {
        let name = schema_name(kind, &all);
        if kind.custom.is_some() {
            insert_custom(kind, &name, &all, &mut schemas);
            include(&all, METADATA, &mut schemas);
            include(&all, LIST_METADATA, &mut schemas);
        } else {
            include(&all, &name, &mut schemas);
            include(&all, &format!("{name}List"), &mut schemas);
        }
        insert_paths(kind, &name, &mut paths);
    }
    Some(json!({
        "openapi": "3.0.0", "info": { "title": "Kubernetes", "version": VERSION }, "paths": paths,
        "components": { "schemas": schemas },
    }))
}

/// All schemas by name, and all paths, in the form of version 3.
pub(super) fn everything(kinds: &Kinds) -> (Map<String, Value>, Map<String, Value>) {
    let all = openapi_schemas();
    let mut schemas = all.clone();
    let mut paths = Map::new();
    for group in kinds.groups() {
        for (_, resources) in &group.versions {
            for kind in resources {
                let name = schema_name(kind, &all);
                if kind.custom.is_some() {
                    insert_custom(kind, &name, &all, &mut schemas);
                }
                insert_paths(kind, &name, &mut paths);
            }
        }
    }
    (schemas, paths)
}

/// The name of a kind's schema.
fn schema_name(kind: &Kind, all: &Map<String, Value>) -> String {
    if kind.custom.is_some() {
        let mut parts: Vec<&str> = kind.group.split('.').collect();
        parts.reverse();
        return format!("{}.{}.{}", parts.join("."), kind.version, kind.kind);
    }
    let of = json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
    let found = all.iter().find(|(_, schema)| {
        let kinds = schema
            .get("x-kubernetes-group-version-kind")
            .and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.contains(&of))
    });
    found.map(|(name, _)| name.clone()).unwrap_or_default()
}

/// Puts in a schema and what it refers to.
fn include(all: &Map<String, Value>, name: &str, into: &mut Map<String, Value>) {
    let mut todo = vec![name.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(name) = todo.pop() {
        let Some(schema) = all.get(&name) else {
            continue;
        };
        if !seen.insert(name.clone()) || into.contains_key(&name) {
            continue;
        }
        references(schema, &mut todo);
        into.insert(name, schema.clone());
    }
}

fn references(schema: &Value, found: &mut Vec<String>) {
    let mut todo = vec![schema];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    found.extend(reference.rsplit('/').next().map(str::to_owned));
                }
                todo.extend(fields.values());
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
}

fn insert_custom(
    kind: &Kind,
    name: &str,
    all: &Map<String, Value>,
    schemas: &mut Map<String, Value>,
) {
    /// A kind whose own fields are described.
    const DESCRIBED: &str = "io.k8s.api.core.v1.ConfigMap";
    let Some(custom) = &kind.custom else {
        return;
    };
    let mut schema = custom.written.clone();
    if !schema.is_object() {
        schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    }
    let of = json!([{ "group": kind.group, "version": kind.version, "kind": kind.kind }]);
    schema["x-kubernetes-group-version-kind"] = of;
    let properties = &mut schema["properties"];
    if !properties.is_object() {
        *properties = json!({});
    }
    // Their descriptions are the same for all kinds.
    let description = |property: &str| {
        let pointer = format!("/properties/{property}/description");
        let of = all.get(DESCRIBED).and_then(|kind| kind.pointer(&pointer));
        of.cloned().unwrap_or_default()
    };
    for property in ["apiVersion", "kind"] {
        properties[property] = json!({ "type": "string", "description": description(property) });
    }
    properties["metadata"] = json!({
        "description": description("metadata"),
        "allOf": [{ "$ref": format!("#/components/schemas/{METADATA}") }],
    });
    schemas.insert(name.to_owned(), schema);
    let list = json!({
        "type": "object", "required": ["items"],
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "properties": {
            "apiVersion": { "type": "string" }, "kind": { "type": "string" },
            "items": { "type": "array", "items": { "$ref": format!("#/components/schemas/{name}") } },
            "metadata": { "allOf": [{ "$ref": format!("#/components/schemas/{LIST_METADATA}") }] },
        },
        "x-kubernetes-group-version-kind": [{ "group": kind.group, "version": kind.version, "kind": kind.list_kind }],
    });
    schemas.insert(format!("{name}List"), list);
}

fn insert_paths(kind: &Kind, schema: &str, paths: &mut Map<String, Value>) {
    let root = root_of(&kind.group, &kind.version);
    let place = if kind.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let list = format!("{root}{place}/{}", kind.resource);
    let one = format!("{list}/{{name}}");
    let of = json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
    let parameter = |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } });
    let writing = json!([
        parameter("dryRun"),
        parameter("fieldManager"),
        parameter("fieldValidation")
    ]);
    let operation = |action: &str| {
        let mut operation = json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": of,
            "responses": { "200": { "description": "OK", "content": { "application/json": {
                "schema": { "$ref": format!("#/components/schemas/{schema}") } } } } },
        });
        if ["post", "put", "patch"].contains(&action) {
            operation["parameters"] = writing.clone();
        }
        operation
    };
    paths.insert(
        list,
        json!({ "get": operation("list"), "post": operation("post") }),
    );
    paths.insert(
        one,
        json!({
            "get": operation("get"), "put": operation("put"), "patch": operation("patch"),
            "delete": operation("delete"),
        }),
    );
}
