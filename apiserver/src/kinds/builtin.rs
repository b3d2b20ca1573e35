//! The built-in resources, from what a kube-apiserver publishes: `data/groups.json` is its aggregated discovery,
//! `data/schemas.json.gz` the schemas of its `OpenAPI` v3 documents, `data/bootstrap.json` what it makes when it starts.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use flate2::read::GzDecoder;
use serde_json::{Map, Value};

use super::{Group, Kind, Scale, Subresource, api_version, table_name};
use crate::schema::Types;

static GROUPS: &str = include_str!("../../data/groups.json");
static SCHEMAS: &[u8] = include_bytes!("../../data/schemas.json.gz");
static BOOTSTRAP: &str = include_str!("../../data/bootstrap.json");

/// The kinds of all servers of this process: they differ in nothing.
static ALL: LazyLock<Vec<Group>> = LazyLock::new(read_groups);

/// The schemas by name, with their descriptions. They are read anew each time: few ask for them, and they are large.
pub fn openapi_schemas() -> Map<String, Value> {
    let mut text = String::new();
    // Committed data that tests read: what cannot be read is shown by the first of them.
    if GzDecoder::new(SCHEMAS).read_to_string(&mut text).is_err() {
        return Map::new();
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(schemas)) => schemas,
        _ => Map::new(),
    }
}

/// The objects that a fresh server has.
pub fn bootstrap_objects() -> Vec<Value> {
    serde_json::from_str(BOOTSTRAP).unwrap_or_default()
}

/// The description of a metadata field in the API.
pub fn described_metadata(field: &str) -> String {
    static DESCRIPTIONS: LazyLock<Value> = LazyLock::new(|| {
        let mut schemas = openapi_schemas();
        schemas
            .remove("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
            .unwrap_or_default()
    });
    text(&DESCRIPTIONS, &format!("/properties/{field}/description"))
}

pub(super) fn groups() -> Vec<Group> {
    ALL.clone()
}

fn read_groups() -> Vec<Group> {
    let schemas = openapi_schemas();
    let types = Arc::new(Types::from_openapi(&schemas));
    let names = names_of_kinds(&schemas);
    let all: Vec<Value> = serde_json::from_str(GROUPS).unwrap_or_default();
    all.iter()
        .map(|group| {
            let name = text(group, "/metadata/name");
            let versions = list(group, "versions").map(|version| {
                let number = text(version, "/version");
                let kinds = list(version, "resources")
                    .map(|resource| Arc::new(kind(&name, &number, resource, &types, &names)));
                (number.clone(), kinds.collect())
            });
            Group {
                versions: versions.collect(),
                name,
            }
        })
        .collect()
}

/// The schemas' names by group, version and kind.
fn names_of_kinds(schemas: &Map<String, Value>) -> BTreeMap<(String, String, String), String> {
    let mut names = BTreeMap::new();
    for (name, schema) in schemas {
        for of in list(schema, "x-kubernetes-group-version-kind") {
            let key = (text(of, "/group"), text(of, "/version"), text(of, "/kind"));
            names.insert(key, name.clone());
        }
    }
    names
}

fn kind(
    group: &str,
    version: &str,
    resource: &Value,
    types: &Arc<Types>,
    names: &BTreeMap<(String, String, String), String>,
) -> Kind {
    let name = text(resource, "/resource");
    let kind = text(resource, "/responseKind/kind");
    let key = (group.to_owned(), version.to_owned(), kind.clone());
    let schema = names.get(&key).and_then(|name| types.named(name));
    let subresources: Vec<Subresource> = list(resource, "subresources")
        .map(|part| {
            let of = (
                text(part, "/responseKind/group"),
                text(part, "/responseKind/version"),
            );
            Subresource {
                name: text(part, "/subresource"),
                kind: text(part, "/responseKind/kind"),
                of: (!of.1.is_empty()).then_some(of),
                verbs: texts(part, "verbs"),
            }
        })
        .collect();
    let scale = subresources
        .iter()
        .any(|part| part.name == "scale")
        .then(|| Scale {
            spec_replicas: "spec.replicas".to_owned(),
            status_replicas: "status.replicas".to_owned(),
            label_selector: Some("spec.selector".to_owned()),
        });
    let kept_version = match (group, name.as_str()) {
        ("events.k8s.io", "events") => "v1".to_owned(),
        ("autoscaling", _) => "autoscaling/v2".to_owned(),
        _ => api_version(group, version),
    };
    Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        list_kind: format!("{kind}List"),
        singular: text(resource, "/singularResource"),
        namespaced: text(resource, "/scope") == "Namespaced",
        verbs: texts(resource, "verbs"),
        short_names: texts(resource, "shortNames"),
        categories: texts(resource, "categories"),
        subresources,
        table: table_name(group, &name),
        storage_version: kept_version,
        schema: schema.map(|id| (Arc::clone(types), id)),
        custom: None,
        scale,
        resource: name,
        kind,
    }
}

fn text(value: &Value, path: &str) -> String {
    let text = value.pointer(path).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    let list = value.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    list(value, key)
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}
