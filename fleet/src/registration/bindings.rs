//! Bindings: whether their set exists.

use crate::placement::status::Stated;

/// The condition `Bound`.
pub fn bound(set_exists: bool) -> Stated {
    Stated {
        kind: "Bound",
        holds: set_exists,
        reason: if set_exists {
            "ClusterSetBound"
        } else {
            "ClusterSetNotFound"
        },
        message: String::new(),
    }
}
