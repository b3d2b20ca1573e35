//! Keys of objects, and the reasons of the API server's errors.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};

/// The key of an object of a known kind. Cluster-scoped objects have an empty namespace.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// The key of `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of a live object.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::new(object.namespace().unwrap_or_default(), object.name_any())
    }

    /// The key in this metadata.
    pub fn of_metadata(metadata: &ObjectMeta) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self::new(text(&metadata.namespace), text(&metadata.name))
    }
}

/// As it is displayed: logs print keys of any type by `Debug`.
impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// The reason of a failed API call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusReason {
    /// The object does not exist, and its kind may not either.
    NotFound,
    /// The object exists already.
    AlreadyExists,
    /// Another client wrote in between.
    Conflict,
    /// The object violates its schema or an admission rule about its content.
    Invalid,
    /// The client has no access.
    Forbidden,
    /// Any other error, a missing response included: nothing is known about the object.
    Other,
}

impl StatusReason {
    /// Classifies a failed call.
    pub fn of(error: &kube::Error) -> Self {
        let kube::Error::Api(status) = error else {
            return Self::Other;
        };
        match (status.code, status.reason.as_str()) {
            (404, _) => Self::NotFound,
            (409, "AlreadyExists") => Self::AlreadyExists,
            (409, _) => Self::Conflict,
            (422, _) => Self::Invalid,
            (401 | 403, _) => Self::Forbidden,
            _ => Self::Other,
        }
    }
}

/// The message that the API server answered with, or the error's own text when none came: without the client
/// library's frame around it, for users.
pub fn status_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

/// Whether a create failed because of its namespace: it does not exist (404 about `namespaces`), or is terminating
/// (403 with that cause). The watch of namespaces delivers the change after which a retry can succeed.
pub fn is_about_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let Some(details) = &status.details else {
        return false;
    };
    match StatusReason::of(error) {
        StatusReason::NotFound => details.kind == "namespaces",
        StatusReason::Forbidden => details
            .causes
            .first()
            .is_some_and(|cause| cause.reason == "NamespaceTerminating"),
        _ => false,
    }
}

/// `Ok(None)` where the API server answers that the object does not exist; every other failure stays an error,
/// because "could not read" is never "is absent".
pub fn not_found_as_none<T>(result: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if StatusReason::of(&error) == StatusReason::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// An error with its causes.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let boxed = cause.downcast_ref::<Box<kube::Error>>().map(Box::as_ref);
        let answer = cause.downcast_ref::<kube::Error>().or(boxed);
        // The client library prints an answer of the API server with all of its fields, and again as the cause of itself.
        if let Some(answer @ kube::Error::Api(_)) = answer {
            text.push_str(": ");
            text.push_str(&status_message(answer));
            break;
        }
        // Some libraries print the cause as part of the error.
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot make a namespace")]
    struct Refused(#[source] Box<kube::Error>);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the file: {0}")]
    struct Unreadable(#[source] std::io::Error);

    #[test]
    fn error_chain_has_the_message_of_the_api_server_and_no_text_twice() {
        let status = kube::core::Status::failure("the name is invalid", "Invalid");
        let refused = Refused(Box::new(kube::Error::Api(Box::new(status))));
        assert_eq!(
            error_chain(&refused),
            "cannot make a namespace: the name is invalid"
        );
        let unreadable = Unreadable(std::io::Error::other("no such file"));
        assert_eq!(
            error_chain(&unreadable),
            "cannot read the file: no such file"
        );
    }
}
