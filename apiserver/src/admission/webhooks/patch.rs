//! What a webhook changes.

use serde_json::Value;

use crate::patch::json_patch;
use crate::schema::json_kind;
use crate::status_error::StatusError;

/// The operations of a patch. The error follows `failed calling webhook "...": `.
pub(super) fn read(patch: &[u8]) -> Result<Vec<Value>, String> {
    let undecodable = |why: &str| format!("received undecodable patch in webhook response: {why}");
    match crate::json::parse(patch) {
        Ok(Value::Array(operations)) => Ok(operations),
        Ok(other) => Err(undecodable(&format!(
            "json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
            json_kind(&other)
        ))),
        Err(error) => Err(undecodable(&error.to_string())),
    }
}

/// Applies a patch to an object.
pub(super) fn patched(object: &Value, patch: &[Value]) -> Result<Value, StatusError> {
    let whole = Value::Array(patch.to_vec());
    json_patch(object, &whole).map_err(|_| StatusError::internal_because(&undone(object, patch)))
}

/// Which operation cannot be done, and why.
fn undone(object: &Value, patch: &[Value]) -> String {
    let mut so_far = object.clone();
    for operation in patch {
        match json_patch(&so_far, &Value::Array(vec![operation.clone()])) {
            Ok(next) => so_far = next,
            Err(_) => return why(&so_far, operation),
        }
    }
    "it cannot be done as a whole".to_owned()
}

/// Why one operation fails, in the words of Go's library for patches.
fn why(object: &Value, operation: &Value) -> String {
    let text = |field: &str| operation[field].as_str().unwrap_or_default();
    let (path, from) = (text("path"), text("from"));
    let parent = |path: &str| {
        path.rsplit_once('/')
            .map_or("", |(parent, _)| parent)
            .to_owned()
    };
    let key = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let has_parent = |path: &str| object.pointer(&parent(path)).is_some();
    match text("op") {
        "add" => {
            format!("add operation does not apply: doc is missing path: {path:?}: missing value")
        }
        "remove" if has_parent(path) => format!(
            "error in remove for path: '{path}': Unable to remove nonexistent key: {}: missing value",
            key(path)
        ),
        "move" if has_parent(from) => format!(
            "error in move for path: '{0}': Unable to remove nonexistent key: {0}: missing value",
            key(from)
        ),
        "copy" | "move" => format!(
            "{} operation does not apply: doc is missing from path: {from}: missing value",
            text("op")
        ),
        "test" if has_parent(path) => format!("testing value {path} failed: test failed"),
        "test" => format!("test operation does not apply: is missing path: {path}: missing value"),
        op @ ("remove" | "replace") => {
            format!("{op} operation does not apply: doc is missing path: {path}: missing value")
        }
        op => format!("Unexpected kind: {op}"),
    }
}
