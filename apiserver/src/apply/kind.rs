//! Field management of objects by their kind.

use serde_json::Value;

use super::{ApplyRequest, Conflicts, FieldManager, apply, track};
use crate::kinds::Kind;
use crate::pki::csr::REQUESTS;
use crate::schema::Types;
use crate::status_error::StatusError;

/// Records in the `managedFields` of `new` which fields differ from `old`. Both are in the stored version.
pub(crate) fn track_kind(
    kind: &Kind,
    old: Option<&Value>,
    new: &mut Value,
    manager: &FieldManager,
) {
    // A kube-apiserver records nothing for this kind.
    if *kind.table == *REQUESTS {
        return;
    }
    let none = Types::default();
    let (types, id) = schema(kind, &none);
    track(types, id, old, new, manager);
}

/// Why the `managedFields` of an object are invalid.
pub(crate) fn invalid_managed_fields(object: &Value) -> Option<&'static str> {
    let entries = object.pointer("/metadata/managedFields");
    let mut entries = entries.and_then(Value::as_array).into_iter().flatten();
    let operation = |entry: &Value| entry["operation"].as_str().map(str::to_owned);
    let known = |entry: &Value| matches!(operation(entry).as_deref(), Some("Apply" | "Update"));
    entries
        .any(|entry| !known(entry))
        .then_some("operation must be `Apply` or `Update`")
}

/// Applies an object of a kind to the live one.
pub(crate) fn apply_kind(
    kind: &Kind,
    live: &Value,
    desired: &Value,
    manager: &FieldManager,
    conflicts: Conflicts,
) -> Result<Value, StatusError> {
    let none = Types::default();
    let (types, id) = schema(kind, &none);
    let reset: &[&[&str]] = match (manager.subresource.as_str(), kind.has_status()) {
        ("", true) => &[&["status"]],
        ("status", _) => &[&["spec"]],
        _ => &[],
    };
    apply(&ApplyRequest {
        types,
        id,
        live,
        desired,
        manager,
        conflicts,
        reset,
    })
}

fn schema<'a>(kind: &'a Kind, none: &'a Types) -> (&'a Types, Option<crate::schema::TypeId>) {
    match &kind.schema {
        Some((types, id)) => (types, Some(*id)),
        None => (none, None),
    }
}
