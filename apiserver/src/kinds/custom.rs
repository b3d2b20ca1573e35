//! The resources that a CRD serves.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use super::{Kind, Scale, Subresource, api_version, table_name};
use crate::schema::Types;

/// What a CRD defines for one version, besides the names.
#[derive(Clone, Debug)]
pub struct Custom {
    /// The CRD's name.
    pub crd: String,
    /// The columns that `kubectl get` shows, as in the CRD.
    pub columns: Vec<Value>,
    /// The schema as it was written, for `OpenAPI`.
    pub written: Value,
    /// Fields that may be selected by: JSON paths.
    pub selectable: Vec<String>,
    /// The deprecation warning of this version.
    pub deprecation: Option<String>,
    /// Whether fields that the schema does not know stay.
    pub preserve_unknown: bool,
}

/// Why a CRD serves nothing.
#[derive(Debug, thiserror::Error)]
#[error("CustomResourceDefinition {name}: {why}")]
pub struct CustomError {
    name: String,
    why: String,
}

impl CustomError {
    pub(super) fn taken(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            why: "its resource is built in".to_owned(),
        }
    }
}

/// What a CRD defines.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// The CRD's name.
    pub(super) name: String,
    /// The versions that it serves.
    pub(super) served: Vec<Arc<Kind>>,
    /// The version that its objects are kept in, served or not.
    pub(super) kept: Arc<Kind>,
}

pub(super) fn definition(crd: &Value) -> Result<Definition, CustomError> {
    let name = text(crd, "/metadata/name");
    let error = |why: String| CustomError {
        name: name.clone(),
        why,
    };
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let versions = versions.ok_or_else(|| error("spec.versions is missing".to_owned()))?;
    let storage = versions
        .iter()
        .find(|version| version.get("storage") == Some(&Value::Bool(true)))
        .ok_or_else(|| error("spec.versions: none is stored".to_owned()))?;
    let stored = text(storage, "/name");
    let mut served = Vec::new();
    for version in versions {
        if version.get("served") == Some(&Value::Bool(true)) {
            let kind = kind(crd, version, &stored).map_err(error)?;
            served.push(Arc::new(kind));
        }
    }
    let kept = served.iter().find(|kind| kind.version == stored);
    let kept = match kept {
        Some(kept) => Arc::clone(kept),
        None => Arc::new(kind(crd, storage, &stored).map_err(error)?),
    };
    Ok(Definition { name, served, kept })
}

fn kind(crd: &Value, version: &Value, stored: &str) -> Result<Kind, String> {
    let group = text(crd, "/spec/group");
    let number = text(version, "/name");
    let resource = text(crd, "/spec/names/plural");
    let kind = text(crd, "/spec/names/kind");
    let written = version
        .pointer("/schema/openAPIV3Schema")
        .cloned()
        .unwrap_or(Value::Null);
    let schema = if written.is_null() {
        None
    } else {
        let (types, id) = Types::from_crd(&written).map_err(|error| error.to_string())?;
        Some((Arc::new(types), id))
    };
    let scale = version.pointer("/subresources/scale").map(|scale| Scale {
        spec_replicas: path(scale, "/specReplicasPath"),
        status_replicas: path(scale, "/statusReplicasPath"),
        label_selector: scale
            .get("labelSelectorPath")
            .map(|_| path(scale, "/labelSelectorPath")),
    });
    let mut subresources = Vec::new();
    let verbs = || ["get", "patch", "update"].map(str::to_owned).to_vec();
    if version.pointer("/subresources/status").is_some() {
        subresources.push(Subresource {
            name: "status".to_owned(),
            kind: kind.clone(),
            of: None,
            verbs: verbs(),
        });
    }
    if scale.is_some() {
        subresources.push(Subresource {
            name: "scale".to_owned(),
            kind: "Scale".to_owned(),
            of: Some(("autoscaling".to_owned(), "v1".to_owned())),
            verbs: verbs(),
        });
    }
    let list = |path: &str| -> Vec<Value> {
        let list = version.pointer(path).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let deprecated = version.get("deprecated") == Some(&Value::Bool(true));
    let custom = Custom {
        crd: text(crd, "/metadata/name"),
        columns: list("/additionalPrinterColumns"),
        written,
        selectable: list("/selectableFields")
            .iter()
            .map(|field| path(field, "/jsonPath"))
            .collect(),
        deprecation: deprecated.then(|| match version.get("deprecationWarning") {
            Some(Value::String(text)) => text.clone(),
            _ => format!("{group}/{number} {kind} is deprecated"),
        }),
        preserve_unknown: crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)),
    };
    let or = |path: &str, default: String| match crd.pointer(path).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => default,
    };
    let verbs = [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ];
    Ok(Kind {
        list_kind: or("/spec/names/listKind", format!("{kind}List")),
        singular: or("/spec/names/singular", kind.to_lowercase()),
        namespaced: text(crd, "/spec/scope") == "Namespaced",
        verbs: verbs.map(str::to_owned).to_vec(),
        short_names: texts(crd, "/spec/names/shortNames"),
        categories: texts(crd, "/spec/names/categories"),
        subresources,
        table: table_name(&group, &resource),
        storage_version: api_version(&group, stored),
        schema,
        custom: Some(custom),
        scale,
        group,
        version: number,
        resource,
        kind,
    })
}

fn path(value: &Value, pointer: &str) -> String {
    text(value, pointer).trim_start_matches('.').to_owned()
}

fn text(value: &Value, path: &str) -> String {
    let text = value.pointer(path).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn texts(value: &Value, path: &str) -> Vec<String> {
    let list = value.pointer(path).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

/// The order of versions in discovery: stable ones first, then beta, then alpha, newest first, then by name.
pub(crate) fn version_order(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (2 stable, 1 beta, 0 alpha), major, minor.
fn rank(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (stability, word) in [(1, "beta"), (0, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
}
