//! Bindings: whether their set exists.

use crate::placement::status::ConditionState;

/// The condition `Bound`.
pub fn bound(set_exists: bool) -> ConditionState {
    ConditionState {
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
