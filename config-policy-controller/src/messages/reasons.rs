//! Reasons: the short texts that programs read.

/// Why an object complies or not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The object exists as the policy wants it.
    FoundAsExpected,
    /// It was missing and has been created.
    Created,
    /// It differed and has been updated.
    Updated,
    /// It should not exist and has been deleted.
    Deleted,
    /// It should exist.
    Missing,
    /// It exists but differs.
    Mismatched,
    /// It does not exist, as the policy wants it.
    AbsentAsExpected,
    /// It should not exist.
    Unexpected,
    /// Anything else, in the words of the condition's reason. The text of the event is shown as it is.
    Other(String),
}

impl Reason {
    /// A reason in words, with a text of its own.
    pub fn other(reason: impl Into<String>) -> Self {
        Self::Other(reason.into())
    }
}

/// The reason a condition gives.
pub fn condition_reason(reason: &Reason) -> &str {
    match reason {
        Reason::FoundAsExpected => "K8s `must have` object already exists",
        Reason::Created => "K8s creation success",
        Reason::Updated => "K8s update success",
        Reason::Deleted => "K8s deletion success",
        Reason::Missing | Reason::Mismatched => "K8s does not have a `must have` object",
        Reason::AbsentAsExpected => "K8s `must not have` object already missing",
        Reason::Unexpected => "K8s has a `must not have` object",
        Reason::Other(reason) => reason,
    }
}

/// The reason a related object gives.
pub fn related_reason(reason: &Reason) -> &str {
    match reason {
        Reason::FoundAsExpected => "Resource found as expected",
        Reason::Created => "K8s creation success",
        Reason::Updated => "K8s update success",
        Reason::Deleted => "K8s deletion success",
        Reason::Missing => "Resource not found but should exist",
        Reason::Mismatched => "Resource found but does not match",
        Reason::AbsentAsExpected => "Resource not found as expected",
        Reason::Unexpected => "Resource found but should not exist",
        Reason::Other(reason) => reason,
    }
}

/// What happened to the objects of a template; `None` where the events have words of their own.
pub fn phrase(reason: &Reason) -> Option<&'static str> {
    match reason {
        Reason::FoundAsExpected => Some("found as specified"),
        Reason::Created => Some("was created successfully"),
        Reason::Updated => Some("was updated successfully"),
        Reason::Deleted => Some("was deleted successfully"),
        Reason::Missing => Some("not found"),
        Reason::Mismatched => Some("found but not as specified"),
        Reason::AbsentAsExpected => Some("missing as expected"),
        Reason::Unexpected => Some("found"),
        Reason::Other(_) => None,
    }
}

/// Reason: the spec lacks something.
pub const INVALID_SPEC: &str = "Invalid spec";

/// Reason: a template cannot be processed.
pub const TEMPLATE_ERROR: &str = "Error processing template";

/// Reason: hub templates cannot be resolved.
pub const HUB_TEMPLATE_FAILURE: &str = "Hub template resolution failure";

/// Reason: the definition is not an object.
pub const DECODE_ERROR: &str = "K8s decode object definition error";

/// Reason: no namespace is known.
pub const MISSING_NAMESPACE: &str = "K8s missing namespace";

/// Reason: the namespace selector is wrong.
pub const NAMESPACE_SELECTOR_ERROR: &str = "namespaceSelector error";

/// Reason: the kind cannot be looked up.
pub const K8S_ERROR: &str = "K8s error";

/// Reason: the kind cannot be watched.
pub const UNWATCHABLE: &str = "unwatchable resource";

/// Reason: an object cannot be read.
pub const API_ERROR: &str = "api error";

/// Reason: an object could not be created.
pub const CREATION_ERROR: &str = "K8s creation error";

/// Reason: an object was created, its status is still to be seen.
pub const CREATED_STATUS_UNCHECKED: &str = "K8s creation success, status unchecked";

/// Reason: an object is deleted, and still exists.
pub const DELETION_PENDING: &str = "K8s deletion pending";

/// Reason: an object could not be deleted.
pub const DELETION_ERROR: &str = "K8s deletion error";

/// Reason: an object could not be updated, or compared.
pub const UPDATE_ERROR: &str = "K8s update template error";

/// Reason: the policy has no object templates.
pub const NO_TEMPLATES_REASON: &str = "No object templates";

/// Reason: the objects that a selector chooses cannot be listed.
pub const OBJECT_SELECTOR_ERROR: &str = "objectSelector error";

/// Reason: encrypted values cannot be decrypted.
pub const ENCRYPTION_ERROR: &str = "Template encryption configuration error";

/// Reason: objects could not be deleted with their policy.
pub const CLEANUP_ERROR: &str = "Error cleaning up child objects";
