//! What happens to every object that is to be kept, however it came.

use serde_json::{Map, Value};

use super::ObjectRequest;
use crate::kinds::Kind;
use crate::status_error::{FieldError, StatusError};
use crate::{builtin, meta, schema};

/// The part of an object that a request may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All but the status, if that is apart.
    Main,
    /// The status.
    Status,
    /// Something that only this part may write; the kind knows.
    Other,
}

impl ObjectRequest {
    pub(crate) fn part(&self) -> Part {
        match self.subresource.as_deref() {
            // What is scaled is the object itself.
            None | Some("scale") => Part::Main,
            Some("status") => Part::Status,
            Some(_) => Part::Other,
        }
    }

    /// Validates an object.
    pub(crate) fn wrong(
        kind: &Kind,
        part: Option<&str>,
        object: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let mut errors = meta::check(object, kind);
        if let Some(old) = old {
            errors.extend(meta::check_update(object, old));
            // A kube-apiserver validates this twice for built-in kinds, and reports it twice.
            if kind.custom.is_none() {
                errors.extend(errors.clone());
                // Both places validate these.
                let map_errors = meta::check_map(object);
                errors.extend(
                    map_errors
                        .iter()
                        .chain(&map_errors)
                        .cloned()
                        .collect::<Vec<_>>(),
                );
            }
        }
        match (&kind.custom, &kind.schema) {
            (Some(_), Some((types, id))) => {
                let whole = |object: &Value| {
                    let mut object = object.clone();
                    meta::put_type(&mut object, &kind.api_version(), &kind.kind);
                    object
                };
                let before = old.map(whole);
                let found =
                    schema::validate_after(types, *id, &whole(object), before.as_ref(), &errors);
                errors.extend(found);
            }
            _ => errors.extend(builtin::validate(kind, part, object, old)),
        }
        errors
    }

    /// Refuses an object with which something is wrong.
    pub(crate) fn refuse_wrong(
        &self,
        name: &str,
        errors: &[FieldError],
    ) -> Result<(), StatusError> {
        if errors.is_empty() {
            return Ok(());
        }
        Err(StatusError::invalid(&self.kind.group_kind(), name, errors))
    }
}

/// Replaces all but the metadata and the status by what was there, as a write of the status does.
pub(crate) fn keep_all_but_status(kind: &Kind, new: &mut Value, old: &Value) {
    let status = new.get("status").cloned();
    let (before, after) = (old.get("metadata").cloned(), new.get("metadata").cloned());
    let mut kept = old.clone();
    if let Some(object) = kept.as_object_mut() {
        match status {
            Some(status) => object.insert("status".to_owned(), status),
            None => object.remove("status"),
        };
    }
    let own_metadata = kind.custom.is_some();
    if let (Some(Value::Object(slot)), Some(Value::Object(after))) =
        (kept.get_mut("metadata"), after)
    {
        if own_metadata {
            // Of the metadata of a custom resource, a write of its status changes only who wrote what.
            if let Some(fields) = after.get("managedFields") {
                slot.insert("managedFields".to_owned(), fields.clone());
            }
        } else {
            *slot = after;
            let labels = before.as_ref().and_then(|before| before.get("labels"));
            if builtin::status_keeps_labels(kind) {
                put_or_remove(slot, "labels", labels);
            }
        }
    }
    *new = kept;
}

/// Replaces the status by what was there.
pub(crate) fn keep_status(new: &mut Value, old: &Value) {
    if let Some(object) = new.as_object_mut() {
        put_or_remove(object, "status", old.get("status"));
    }
}

fn put_or_remove(object: &mut Map<String, Value>, field: &str, value: Option<&Value>) {
    match value {
        Some(value) => {
            object.insert(field.to_owned(), value.clone());
        }
        None => {
            object.remove(field);
        }
    }
}

/// Whether what was asked for is another thing now.
pub(crate) fn asks_for_else(kind: &Kind, new: &Value, old: &Value) -> bool {
    if meta::is_deleted(new) != meta::is_deleted(old) {
        return true;
    }
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return false;
    };
    let rest = |object: &Map<String, Value>| {
        let mut rest = object.clone();
        rest.remove("metadata");
        if kind.custom.is_none() || kind.has_status() {
            rest.remove("status");
        }
        rest
    };
    rest(new) != rest(old)
}

/// Whether two states differ in nothing that anybody would notice: when fields were written counts for nothing.
pub(crate) fn is_same(new: &Value, old: &Value) -> bool {
    fn strip(object: &Value) -> Value {
        let mut plain = object.clone();
        if let Some(metadata) = meta::metadata(&mut plain) {
            metadata.remove("resourceVersion");
            let entries = metadata
                .get_mut("managedFields")
                .and_then(Value::as_array_mut);
            for entry in entries.into_iter().flatten() {
                if let Some(entry) = entry.as_object_mut() {
                    entry.remove("time");
                }
            }
        }
        plain
    }
    strip(new) == strip(old)
}
