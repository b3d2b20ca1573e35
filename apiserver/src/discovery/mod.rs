//! Discovery: versions, groups, resources, and their schemas.

mod openapi;
mod openapi_v2;

use base64::Engine as _;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::aggregation;
use crate::kinds::{Group, Kind, Kinds, api_version};
use crate::request::accept;
use crate::request::path::Route;
use crate::store::Store;

pub(crate) use openapi_v2::document as openapi_v2;

const JSON: &str = "application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The version that this server answers as.
pub const KUBERNETES: (&str, &str) = ("1", "36");
const PATCH: &str = "v1.36.1";

/// A document and its media type.
pub(crate) fn document(
    store: &Store,
    kinds: &Kinds,
    route: &Route,
    path: &str,
    headers: &HeaderMap,
) -> Option<(&'static str, Bytes)> {
    let groups = aggregation::discovered_groups(store, kinds);
    let plain = |value: Value| Some((JSON, Bytes::from(value.to_string())));
    match route {
        Route::CoreVersions if wants_aggregated(headers) => {
            Some(aggregated(&groups, str::is_empty))
        }
        Route::Groups if wants_aggregated(headers) => {
            Some(aggregated(&groups, |group| !group.is_empty()))
        }
        Route::CoreVersions => plain(json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443" }],
        })),
        Route::Groups => {
            let groups = groups.iter().filter(|group| !group.name.is_empty());
            plain(json!({
                "kind": "APIGroupList", "apiVersion": "v1", "groups": groups.map(group_document).collect::<Vec<_>>(),
            }))
        }
        Route::Group(name) => {
            let group = groups.iter().find(|group| group.name == *name)?;
            let mut document = group_document(group);
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            plain(document)
        }
        Route::Version(group, version) => plain(version_document(kinds, group, version)?),
        Route::Objects(_) | Route::Other => other(kinds, &groups, path),
    }
}

fn other(kinds: &Kinds, groups: &[Group], path: &str) -> Option<(&'static str, Bytes)> {
    let plain = |value: Value| Some((JSON, Bytes::from(value.to_string())));
    match path.trim_end_matches('/') {
        "" => plain(json!({ "paths": paths(groups) })),
        "/version" => plain(json!({
            "major": KUBERNETES.0, "minor": KUBERNETES.1, "emulationMajor": "1", "emulationMinor": "36",
            "minCompatibilityMajor": "1", "minCompatibilityMinor": "35", "gitVersion": PATCH,
            "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "",
            "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        })),
        "/openapi/v3" => plain(openapi::index(kinds)),
        path => {
            let rest = path.strip_prefix("/openapi/v3/")?;
            let (group, version) = match rest.strip_prefix("apis/") {
                Some(rest) => rest.split_once('/')?,
                None => ("", rest.strip_prefix("api/")?),
            };
            plain(openapi::third(kinds, group, version)?)
        }
    }
}

fn wants_aggregated(headers: &HeaderMap) -> bool {
    let clauses = accept::clauses(headers);
    let first = clauses.iter().find(|clause| {
        clause.media == JSON && (clause.parameter("as").is_empty() || clause.parameter("v") == "v2")
    });
    first.is_some_and(|clause| clause.parameter("as") == "APIGroupDiscoveryList")
}

fn paths(groups: &[Group]) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for group in groups {
        if !group.name.is_empty() {
            paths.push(format!("/apis/{}", group.name));
        }
        for (version, _) in &group.versions {
            paths.push(root_of(&group.name, version));
        }
    }
    paths.sort();
    paths
}

/// `/apis/apps/v1`, or `/api/v1`.
pub(crate) fn root_of(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    }
}

fn group_document(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(version, _)| json!({ "groupVersion": api_version(&group.name, version), "version": version }))
        .collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    json!({ "name": group.name, "versions": versions, "preferredVersion": preferred })
}

fn version_document(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let found = kinds.groups().iter().find(|one| one.name == group)?;
    let (_, resources) = found.versions.iter().find(|(name, _)| name == version)?;
    let mut all = Vec::new();
    for kind in resources {
        if !kind.verbs.is_empty() {
            all.push(resource(kind));
        }
        for part in &kind.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", kind.resource, part.name), "singularName": "",
                "namespaced": kind.namespaced, "kind": part.kind, "verbs": part.verbs,
            });
            if let Some((group, version)) = &part.of {
                entry["group"] = group.clone().into();
                entry["version"] = version.clone().into();
            }
            all.push(entry);
        }
    }
    let mut document = json!({ "kind": "APIResourceList", "groupVersion": api_version(group, version), "resources": all });
    if !group.is_empty() {
        document["apiVersion"] = "v1".into();
    }
    Some(document)
}

fn resource(kind: &Kind) -> Value {
    let mut entry = json!({
        "name": kind.resource, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        entry["categories"] = json!(kind.categories);
    }
    if kind.verbs.iter().any(|verb| verb == "watch") {
        entry["storageVersionHash"] = version_hash(kind).into();
    }
    entry
}

/// A short name for the version that objects are kept in.
fn version_hash(kind: &Kind) -> String {
    // These are kept in an older version than any that is served.
    let older = kind.is("apiextensions.k8s.io", "customresourcedefinitions")
        || kind.resource.starts_with("mutatingadmissionpolic");
    let kept = if older {
        format!("{}/v1beta1", kind.group)
    } else if kind.storage_version.contains('/') {
        kind.storage_version.clone()
    } else {
        format!("/{}", kind.storage_version)
    };
    let digest = Sha256::digest(format!("{kept}/{}", kind.kind));
    let first = digest.get(..8).unwrap_or_default();
    base64::engine::general_purpose::STANDARD.encode(first)
}

fn aggregated(groups: &[Group], wanted: impl Fn(&str) -> bool) -> (&'static str, Bytes) {
    let groups = groups.iter().filter(|group| wanted(&group.name));
    let items: Vec<Value> = groups.map(aggregated_group).collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    (AGGREGATED, Bytes::from(list.to_string()))
}

fn aggregated_group(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(version, resources)| {
            // Another server's, which cannot be asked.
            if resources.is_empty() {
                return json!({ "version": version, "freshness": "Stale" });
            }
            let resources: Vec<Value> = resources
                .iter()
                .map(|kind| aggregated_resource(kind))
                .collect();
            json!({ "version": version, "resources": resources, "freshness": "Current" })
        })
        .collect();
    let mut metadata = json!({});
    if !group.name.is_empty() {
        metadata["name"] = group.name.clone().into();
    }
    json!({ "metadata": metadata, "versions": versions })
}

fn aggregated_resource(kind: &Kind) -> Value {
    // The kinds of built-in resources are of the group and version that lists them, and not repeated.
    let of = |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let own = match &kind.custom {
        Some(_) => of(&kind.group, &kind.version, &kind.kind),
        None => of("", "", &kind.kind),
    };
    let mut entry = json!({
        "resource": kind.resource, "responseKind": own,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular, "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        entry["categories"] = json!(kind.categories);
    }
    let parts: Vec<Value> = kind
        .subresources
        .iter()
        .map(|part| {
            let own = match (&part.of, &kind.custom) {
                (Some((group, version)), _) => of(group, version, &part.kind),
                (None, Some(_)) => of(&kind.group, &kind.version, &part.kind),
                (None, None) => of("", "", &part.kind),
            };
            json!({ "subresource": part.name, "responseKind": own, "verbs": part.verbs })
        })
        .collect();
    if !parts.is_empty() {
        entry["subresources"] = parts.into();
    }
    entry
}
