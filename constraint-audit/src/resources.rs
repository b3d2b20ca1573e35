//! The resources of Gatekeeper's kinds, and what is read of any object.

use kube::core::{ApiResource, GroupVersionKind};
use reeve_gatekeeper::{CONSTRAINT_GROUP, TEMPLATE_GROUP};
use reeve_runtime::object::ObjectKey;
use serde_json::Value;

/// How many objects of a list are in memory at once.
pub(crate) const PAGE: u32 = 500;
/// The version that constraints are read and written in.
const VERSION: &str = "v1beta1";

/// The resource of the constraints of a kind.
pub(crate) fn constraints(kind: &str) -> ApiResource {
    let gvk = GroupVersionKind::gvk(CONSTRAINT_GROUP, VERSION, kind);
    ApiResource::from_gvk_with_plural(&gvk, &kind.to_lowercase())
}

/// The name of an object.
pub(crate) fn name_of(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str();
    name.unwrap_or_default().to_owned()
}

/// Namespace and name of an object.
pub(crate) fn key_of(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

/// The resource of constraint templates.
pub(crate) fn templates() -> ApiResource {
    let kind = GroupVersionKind::gvk(TEMPLATE_GROUP, "v1", "ConstraintTemplate");
    ApiResource::from_gvk_with_plural(&kind, "constrainttemplates")
}

/// What was loaded: a change of a status alone does not load an object again.
pub(crate) type Loaded = (String, i64);

/// The identity and generation of an object.
pub(crate) fn loaded(object: &Value) -> Loaded {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let generation = object["metadata"]["generation"].as_i64();
    (uid.to_owned(), generation.unwrap_or_default())
}

/// Whether an object is being deleted.
pub(crate) fn is_terminating(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}
