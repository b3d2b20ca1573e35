//! Bindings: whether their set is there.

use crate::placement::status::Stated;

/// `Bound`.
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
