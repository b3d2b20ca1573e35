//! Objects on the cluster, and what is asked of any of them. Pure.

use std::sync::Arc;

use serde_json::Value;

use crate::evaluate::cluster::text;

/// The result of a read, or why it failed. "Could not be read" is never "is absent".
pub type Read<T> = Result<T, String>;

/// An object on the cluster.
pub type Object = Arc<Value>;

/// Name and namespace of an object.
pub fn location(object: &Value) -> (&str, &str) {
    (
        text(object, "/metadata/name"),
        text(object, "/metadata/namespace"),
    )
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// Whether an object is being deleted.
pub fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// The value of an annotation.
pub fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(key)?
        .as_str()
}

/// The value of a label.
pub fn label<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// Whether OLM made this version as a copy of one in another namespace.
pub fn is_copied(csv: &Value) -> bool {
    let namespace = text(csv, "/metadata/namespace");
    let owner = annotation(csv, "olm.operatorNamespace");
    text(csv, "/status/reason") == "Copied"
        || owner.is_some_and(|owner| owner != namespace)
        || label(csv, COPIED_FROM).is_some()
}

/// OLM's label of a copied version: the namespace of the original.
pub const COPIED_FROM: &str = "olm.copiedFrom";
