//! Who wrote which field: between the writes of this server and the rules of server-side apply.

use serde_json::Value;

use crate::apply::{self, ApplyRequest, Conflicts};
use crate::certificates::REQUESTS;
use crate::failure::Failure;
use crate::kinds::Kind;
use crate::schema::Types;

/// Somebody who writes.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    /// The name that is noted.
    pub(crate) manager: String,
    /// The version that is written.
    pub(crate) api_version: String,
    /// The part that is written, if it is not the whole.
    pub(crate) subresource: String,
    /// The time that is noted.
    pub(crate) now: String,
}

impl Writer {
    fn of_apply(&self) -> apply::Writer<'_> {
        apply::Writer {
            manager: &self.manager,
            api_version: &self.api_version,
            subresource: &self.subresource,
            now: &self.now,
        }
    }
}

/// An object that somebody wants.
pub(crate) struct Applied<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) live: &'a Value,
    pub(crate) wanted: &'a Value,
    pub(crate) writer: &'a Writer,
    pub(crate) conflicts: Conflicts,
}

/// Notes in `new` who wrote what is not as in `old`. Both are as they are kept.
pub(crate) fn track(kind: &Kind, old: Option<&Value>, new: &mut Value, writer: &Writer) {
    // Of these a server notes nothing.
    if *kind.table == *REQUESTS {
        return;
    }
    let none = Types::default();
    let (types, id) = schema(kind, &none);
    apply::track(types, id, old, new, &writer.of_apply());
}

/// What is wrong with who is said to have written an object.
pub(crate) fn wrong_managers(object: &Value) -> Option<&'static str> {
    let entries = object.pointer("/metadata/managedFields");
    let mut entries = entries.and_then(Value::as_array).into_iter().flatten();
    let operation = |entry: &Value| entry["operation"].as_str().map(str::to_owned);
    let known = |entry: &Value| matches!(operation(entry).as_deref(), Some("Apply" | "Update"));
    entries
        .any(|entry| !known(entry))
        .then_some("operation must be `Apply` or `Update`")
}

/// The object that comes of applying.
pub(crate) fn apply(applied: &Applied<'_>) -> Result<Value, Failure> {
    let none = Types::default();
    let (types, id) = schema(applied.kind, &none);
    let reset: &[&[&str]] = match (
        applied.writer.subresource.as_str(),
        applied.kind.has_status(),
    ) {
        ("", true) => &[&["status"]],
        ("status", _) => &[&["spec"]],
        _ => &[],
    };
    apply::apply(&ApplyRequest {
        types,
        id,
        live: applied.live,
        wanted: applied.wanted,
        writer: applied.writer.of_apply(),
        conflicts: applied.conflicts,
        reset,
    })
}

fn schema<'a>(kind: &'a Kind, none: &'a Types) -> (&'a Types, Option<crate::schema::TypeId>) {
    match &kind.schema {
        Some((types, id)) => (types, Some(*id)),
        None => (none, None),
    }
}
