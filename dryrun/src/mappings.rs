//! Which kinds the cluster has.

use std::collections::HashSet;

use kube::core::{ApiResource, GroupVersionKind};
use reeve_config_policy_controller::dryrun::builtin;
use reeve_runtime::discovery::ServedKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::{from_yaml, text};
use crate::messages;

/// The verbs of an entry that names none.
pub(crate) const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// An entry of a mappings file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mapping {
    #[serde(default)]
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) singular: String,
    pub(crate) plural: String,
    pub(crate) scope: Scope,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) verbs: Vec<String>,
}

/// Whether objects of a kind are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// They are.
    Namespace,
    /// They are the cluster's.
    Root,
}

impl Mapping {
    fn served(&self) -> ServedKind {
        let kind = GroupVersionKind::gvk(&self.group, &self.version, &self.kind);
        ServedKind {
            resource: ApiResource::from_gvk_with_plural(&kind, &self.plural),
            namespaced: self.scope == Scope::Namespace,
            watchable: self.verbs.is_empty() || self.verbs.iter().any(|verb| verb == "watch"),
        }
    }
}

/// The kinds of Kubernetes, or those of a mappings file in their place; the policies' kinds in any case.
pub(crate) fn kinds(file: Option<&str>) -> Result<Vec<ServedKind>, String> {
    let standard = builtin();
    let Some(file) = file else {
        return Ok(standard);
    };
    let mut kinds: Vec<ServedKind> = read(file)?.iter().map(Mapping::served).collect();
    let of_policies =
        |kind: &ServedKind| kind.resource.group == "policy.open-cluster-management.io";
    kinds.extend(standard.into_iter().filter(of_policies));
    Ok(kinds)
}

/// Of each kind the first entry that can be watched, else the first: what upstream chooses.
pub(crate) fn chosen(kinds: Vec<ServedKind>) -> Vec<ServedKind> {
    let (watchable, others): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|kind| kind.watchable);
    let mut seen = HashSet::new();
    let kinds = watchable.into_iter().chain(others);
    let is_new = |kind: &ServedKind| {
        let resource = &kind.resource;
        seen.insert((resource.api_version.clone(), resource.kind.clone()))
    };
    kinds.filter(is_new).collect()
}

/// The kinds of a CRD; none of another object.
pub(crate) fn of_crd(object: &Value) -> Vec<ServedKind> {
    if text(object, "/kind") != "CustomResourceDefinition" {
        return Vec::new();
    }
    let versions = object.pointer("/spec/versions").and_then(Value::as_array);
    let versions = versions.into_iter().flatten();
    let served = versions.filter(|version| version["served"] != false);
    served
        .map(|version| {
            let group = text(object, "/spec/group");
            let kind = text(object, "/spec/names/kind");
            let kind = GroupVersionKind::gvk(group, text(version, "/name"), kind);
            let plural = text(object, "/spec/names/plural");
            ServedKind {
                resource: ApiResource::from_gvk_with_plural(&kind, plural),
                namespaced: text(object, "/spec/scope") != "Cluster",
                watchable: true,
            }
        })
        .collect()
}

fn read(file: &str) -> Result<Vec<Mapping>, String> {
    let entries = match from_yaml(file)? {
        Value::Array(entries) => entries,
        Value::Null => Vec::new(),
        _ => return Err(messages::wrong_value("mappings", "expected a list")),
    };
    let entries = entries.into_iter().enumerate();
    let entries = entries.map(|(index, entry)| {
        let entry = match entry {
            Value::Object(fields) => Value::Object(small(fields)),
            other => other,
        };
        let read = serde_json::from_value(entry);
        read.map_err(|error| messages::broken_mapping(index, &error.to_string()))
    });
    entries.collect()
}

/// Keys may be in any case.
fn small(fields: Map<String, Value>) -> Map<String, Value> {
    let fields = fields.into_iter();
    fields
        .map(|(key, value)| (key.to_lowercase(), value))
        .collect()
}
