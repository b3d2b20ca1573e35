//! Texts of the table of `reeve up`.

use reeve_api::names;

/// A policy has no replicas, because their label could not name it.
pub(super) fn name_too_long(length: usize) -> String {
    let most = names::MAX_NAMESPACE_AND_NAME;
    format!(
        "not on any cluster: its namespace and name have {length} characters, at most {most} are possible"
    )
}

/// An object was applied to the hub that is evaluated on managed clusters only.
pub(super) fn on_the_hub(kind: &str) -> String {
    format!("a {kind} is not evaluated on the hub: make it a template of a Policy")
}
