//! Patches.
use serde_json::Value;

use crate::failure::Failure;
use crate::schema::{TypeId, Types};

/// JSON patch.
pub fn json_patch(before: &Value, patch: &Value) -> Result<Value, Failure> {
    let _ = patch;
    Ok(before.clone())
}
/// Merge.
pub fn merge_patch(before: &Value, patch: &Value) -> Result<Value, Failure> {
    let mut new = before.clone();
    json_patch::merge(&mut new, patch);
    Ok(new)
}
/// Strategic.
pub fn strategic(_: &Types, _: TypeId, before: &Value, patch: &Value) -> Result<Value, Failure> {
    merge_patch(before, patch)
}
