//! Package manifests. An aggregated API serves them, which cannot be watched, so they are cached for a while. A change
//! of their catalog ends that.

use crate::operator_policy::decide::object::{Object, Read};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use parking_lot::Mutex;
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::{ObjectKey, not_found_as_none, status_message};
use reeve_runtime::path::segment;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::evaluate::cluster::text;

/// How long a manifest is cached.
pub const TTL: Duration = Duration::from_mins(1);
/// The namespace in which the API serves the packages of global catalogs.
const NAMESPACE: &str = "default";

/// The package that a policy asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PackageQuery {
    pub name: String,
    /// The catalog, as far as the policy names it.
    pub source: String,
    pub source_namespace: String,
}

#[derive(Clone)]
struct Entry {
    at: Instant,
    manifest: Option<Object>,
    /// The version of the catalog at that time, if it is known.
    catalog_version: Option<String>,
}

/// The cache.
pub struct PackageManifests {
    client: Client,
    entries: Mutex<HashMap<PackageQuery, Entry>>,
}

/// A cached or fresh manifest.
pub struct Manifest {
    pub manifest: Read<Option<Object>>,
    /// The catalog has changed: what the API serves may lag behind it.
    pub is_fresh_after_change: bool,
}

impl PackageManifests {
    pub fn new(client: Client) -> Self {
        Self {
            client,
            entries: Mutex::default(),
        }
    }

    /// The catalog of a package, as far as it is known before the manifest is read.
    pub fn catalog(&self, query: &PackageQuery) -> Option<ObjectKey> {
        if !query.source.is_empty() && !query.source_namespace.is_empty() {
            return Some(ObjectKey::new(&query.source_namespace, &query.source));
        }
        let entries = self.entries.lock();
        catalog_of(entries.get(query)?.manifest.as_deref()?)
    }

    /// The manifest of a package, `None` if there is none. `catalog_version` is the version of its catalog now.
    pub async fn get(
        &self,
        kind: &ServedKind,
        query: &PackageQuery,
        catalog_version: Option<&str>,
    ) -> Manifest {
        let cached = self.entries.lock().get(query).cloned();
        let version = |entry: &Entry| entry.catalog_version.clone();
        let known = cached.as_ref().and_then(version);
        let has_changed = known.is_some() && known.as_deref() != catalog_version;
        if let Some(entry) = cached.filter(|entry| entry.at.elapsed() < TTL && !has_changed) {
            // The catalog of a first read becomes known with it.
            if known.is_none() {
                self.set_version(query, catalog_version);
            }
            return Manifest {
                manifest: Ok(entry.manifest),
                is_fresh_after_change: false,
            };
        }
        let manifest = self.fetch(kind, query).await;
        if let Ok(manifest) = &manifest {
            let mut entries = self.entries.lock();
            entries.retain(|_, entry| entry.at.elapsed() < TTL);
            let entry = Entry {
                at: Instant::now(),
                manifest: manifest.clone(),
                catalog_version: catalog_version.map(str::to_owned),
            };
            entries.insert(query.clone(), entry);
        }
        Manifest {
            manifest,
            is_fresh_after_change: has_changed,
        }
    }

    fn set_version(&self, query: &PackageQuery, version: Option<&str>) {
        if let Some(entry) = self.entries.lock().get_mut(query) {
            entry.catalog_version = version.map(str::to_owned);
        }
    }

    async fn fetch(&self, kind: &ServedKind, query: &PackageQuery) -> Read<Option<Object>> {
        let api: Api<AnyDepth<DynamicObject>> =
            Api::namespaced_with(self.client.clone(), NAMESPACE, &kind.resource);
        let failed = |error: kube::Error| status_message(&error);
        let found = not_found_as_none(api.get(&segment(&query.name)).await).map_err(failed)?;
        let found = found.map(|AnyDepth(object)| digest(&object));
        if found
            .as_ref()
            .is_none_or(|found| is_of_catalog(found, query))
        {
            return Ok(found.map(Arc::new));
        }
        // Several catalogs have the package, and the API returned that of another one.
        let labels = [
            ("catalog", &query.source),
            ("catalog-namespace", &query.source_namespace),
        ];
        let labels = labels.iter().filter(|(_, value)| !value.is_empty());
        let labels: Vec<String> = labels
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let of_catalog = ListParams::default().labels(&labels.join(","));
        let listed = api.list(&of_catalog).await.map_err(failed)?;
        let mut listed = listed.items.into_iter();
        let own = listed
            .find(|AnyDepth(object)| object.metadata.name.as_deref() == Some(query.name.as_str()));
        let own = own.map(|AnyDepth(object)| digest(&object));
        Ok(own.or(found).map(Arc::new))
    }
}

/// The catalog of a manifest.
fn catalog_of(manifest: &Value) -> Option<ObjectKey> {
    let name = text(manifest, "/status/catalogSource");
    let namespace = text(manifest, "/status/catalogSourceNamespace");
    (!name.is_empty() && !namespace.is_empty()).then(|| ObjectKey::new(namespace, name))
}

fn is_of_catalog(manifest: &Value, query: &PackageQuery) -> bool {
    let fits = |wanted: &str, field: &str| wanted.is_empty() || text(manifest, field) == wanted;
    fits(&query.source, "/status/catalogSource")
        && fits(&query.source_namespace, "/status/catalogSourceNamespace")
}

/// The parts of a manifest that policies need. Whole ones have icons, descriptions and examples.
fn digest(object: &DynamicObject) -> Value {
    let status = object.data.get("status");
    let pick = |from: Option<&Value>, fields: &[&str]| {
        let from = from.and_then(Value::as_object);
        let picked = from.into_iter().flatten();
        let picked = picked.filter(|(name, _)| fields.contains(&name.as_str()));
        picked
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Map<_, _>>()
    };
    let mut kept = pick(
        status,
        &[
            "packageName",
            "catalogSource",
            "catalogSourceNamespace",
            "defaultChannel",
            "deprecation",
        ],
    );
    let channels = status.and_then(|status| status.get("channels"));
    if let Some(channels) = channels.and_then(Value::as_array) {
        let channels = channels.iter().map(|channel| {
            let mut kept = pick(Some(channel), &["name", "deprecation"]);
            if let Some(entries) = channel.get("entries").and_then(Value::as_array) {
                let entries = entries.iter();
                let entries = entries.map(|entry| pick(Some(entry), &["name", "deprecation"]));
                let entries = entries.map(Value::Object).collect();
                kept.insert("entries".to_owned(), Value::Array(entries));
            }
            let annotations = channel.pointer("/currentCSVDesc/annotations");
            let annotations = pick(annotations, &["operatorframework.io/suggested-namespace"]);
            kept.insert(
                "currentCSVDesc".to_owned(),
                json!({"annotations": annotations}),
            );
            Value::Object(kept)
        });
        kept.insert("channels".to_owned(), Value::Array(channels.collect()));
    }
    json!({"status": kept})
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none_named("", "", true)]
    #[case::same("catalog", "olm", true)]
    #[case::same_without_namespace("catalog", "", true)]
    #[case::other("wrong", "olm", false)]
    #[case::other_namespace("catalog", "wrong", false)]
    fn op_24_10_manifest_of_another_catalog_is_told_apart(
        #[case] source: &str,
        #[case] source_namespace: &str,
        #[case] expected: bool,
    ) {
        let query = PackageQuery {
            name: "quay".to_owned(),
            source: source.to_owned(),
            source_namespace: source_namespace.to_owned(),
        };
        let status = json!({"catalogSource": "catalog", "catalogSourceNamespace": "olm"});
        assert_eq!(is_of_catalog(&json!({"status": status}), &query), expected);
    }

    #[test]
    fn op_24_9_manifest_is_kept_without_its_large_fields() {
        let object = json!({
            "apiVersion": "packages.operators.coreos.com/v1", "kind": "PackageManifest",
            "metadata": {"name": "quay"},
            "status": {
                "packageName": "quay", "provider": {"name": "x"}, "catalogSource": "c",
                "channels": [{
                    "name": "stable", "currentCSV": "quay.v1",
                    "currentCSVDesc": {"icon": [1], "annotations": {
                        "alm-examples": "[]", "operatorframework.io/suggested-namespace": "quay",
                    }},
                    "entries": [{"name": "quay.v1", "version": "1"}],
                }],
            },
        });
        let expected = json!({"status": {
            "packageName": "quay", "catalogSource": "c",
            "channels": [{
                "name": "stable",
                "currentCSVDesc": {"annotations": {"operatorframework.io/suggested-namespace": "quay"}},
                "entries": [{"name": "quay.v1"}],
            }],
        }});
        assert_eq!(digest(&serde_json::from_value(object).unwrap()), expected);
    }
}
