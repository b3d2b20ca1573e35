//! Values as the trees that JSON patches work on, and how deep they may be.

use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::value::Value;
use serde_json::Value as Json;

use crate::error::Error;
use crate::messages;

/// The most values within values. What walks through them has a stack that ends.
pub(super) const MAX_DEPTH: usize = 1000;

/// The most values in all.
const MAX_VALUES: u64 = 10_000_000;

/// Refuses what is too deep to be walked through.
pub(super) fn check_depth(value: &Value) -> Result<(), Error> {
    let extent = value.extent(MAX_VALUES);
    let depth = extent.and_then(|extent| usize::try_from(extent.depth).ok());
    match depth {
        Some(depth) if depth <= MAX_DEPTH => Ok(()),
        _ => Err(Error::new(messages::too_deep(MAX_DEPTH))),
    }
}

/// The tree of a value.
pub(super) fn tree(value: &Value) -> Result<Json, Error> {
    check_depth(value)?;
    let text = json::encode(value, Escape::None).map_err(|error| Error::new(error.to_string()))?;
    json::tree(&text).map_err(|error| Error::new(error.to_string()))
}
