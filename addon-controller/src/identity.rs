//! Objects in a work: their identity and location.

use std::fmt::Write as _;

use reeve_api::names::split_api_version;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Label or annotation: `hosting`, `managed` or `none`.
const LOCATION: &str = "addon.open-cluster-management.io/hosted-manifest-location";
/// Label or annotation of Pods and Jobs that run before the add-on is deleted.
const PRE_DELETE: &str = "addon.open-cluster-management.io/addon-pre-delete";
/// Annotation: the object stays when the add-on is deleted.
const ORPHAN: &str = "addon.open-cluster-management.io/deletion-orphan";

/// The identity of an object among those of one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Identity(Box<str>);

impl Identity {
    /// The identity of a manifest.
    pub fn of(object: &Value) -> Self {
        let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&object["apiVersion"]);
        let (group, _) = split_api_version(&api_version);
        let metadata = &object["metadata"];
        let mut name = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            name,
            "{group}/{}/{}/{}",
            text(&object["kind"]),
            text(&metadata["namespace"]),
            text(&metadata["name"])
        );
        Self(name.into())
    }
}

/// The cluster of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The managed cluster.
    Managed,
    /// The cluster that the agent runs on.
    Hosting,
}

/// The cluster of an object; `None` if it is not installed.
pub fn side(object: &Value, is_hosted: bool) -> Result<Option<Side>, String> {
    if !is_hosted {
        return Ok(Some(Side::Managed));
    }
    let metadata = &object["metadata"];
    let location = |map: &str| metadata[map][LOCATION].as_str();
    match location("annotations").or_else(|| location("labels")) {
        None | Some("managed") => Ok(Some(Side::Managed)),
        Some("hosting") => Ok(Some(Side::Hosting)),
        Some("none") => Ok(None),
        Some(other) => Err(format!(
            "{} {}: {LOCATION} is {other:?}, not hosting, managed or none",
            object["kind"], metadata["name"]
        )),
    }
}

/// Whether it is a hook, which runs before the add-on is deleted.
pub fn is_hook(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let marked = |map: &str| metadata[map].get(PRE_DELETE).is_some();
    matches!(object["kind"].as_str(), Some("Pod" | "Job"))
        && (marked("annotations") || marked("labels"))
}

/// Whether it stays when the add-on is deleted.
pub fn is_orphan(object: &Value) -> bool {
    object["metadata"]["annotations"].get(ORPHAN).is_some()
}

/// The reference to an object in the work's own spec.
pub fn resource(object: &Value) -> Map<String, Value> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, _) = split_api_version(api_version);
    let kind = object["kind"].as_str().unwrap_or_default();
    let mut resource = Map::new();
    resource.insert("group".to_owned(), json!(group));
    resource.insert("resource".to_owned(), json!(plural(kind)));
    resource.insert("name".to_owned(), object["metadata"]["name"].clone());
    if let Some(namespace) = object["metadata"].get("namespace") {
        resource.insert("namespace".to_owned(), namespace.clone());
    }
    resource
}

/// The plural of an installed kind.
fn plural(kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    }
}
