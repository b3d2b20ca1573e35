//! Parts of a live object that are not compared.

use serde_json::{Map, Value};

/// The annotation in which `kubectl apply` keeps its own copy of the object.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A copy without `metadata.managedFields`, `metadata.generation`, the last-applied annotation, and annotations that are empty without
/// it.
pub fn without_noise(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(metadata) = out.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("generation");
        drop_last_applied(metadata);
        let is_empty = |annotations: &Value| annotations.as_object().is_some_and(Map::is_empty);
        if metadata.get("annotations").is_some_and(is_empty) {
            metadata.remove("annotations");
        }
    }
    out
}

/// Removes the last-applied annotation, and the annotations themselves if nothing else is left.
pub(crate) fn drop_last_applied(metadata: &mut Map<String, Value>) {
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return;
    };
    if annotations.remove(LAST_APPLIED).is_some() && annotations.is_empty() {
        metadata.remove("annotations");
    }
}
