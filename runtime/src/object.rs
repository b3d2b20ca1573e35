//! Names of objects, and the reasons of the API server's errors.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};

/// Names an object of a known kind. Cluster-scoped objects have an empty namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// Names `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Names a live object.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::new(object.namespace().unwrap_or_default(), object.name_any())
    }

    /// Names the object that has this metadata.
    pub fn of_metadata(metadata: &ObjectMeta) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self::new(text(&metadata.namespace), text(&metadata.name))
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

/// What a failed API call means to a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusReason {
    /// The object does not exist, nor perhaps its kind.
    NotFound,
    /// It exists already.
    AlreadyExists,
    /// Somebody else wrote in between.
    Conflict,
    /// The object breaks its schema or an admission rule about its content.
    Invalid,
    /// We may not.
    Forbidden,
    /// Anything else, including that no answer came: nothing is known about the object.
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

/// The sentence the API server answered with, or the error's own text when none came: what users
/// are shown, without the client library's frame around it.
pub fn status_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

/// Whether a create failed because of its namespace: there is none (404 about `namespaces`), or it
/// is on its way out (403 with that cause). The watch of namespaces delivers the change after which a retry can succeed.
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

/// `Ok(None)` where the API server answers that the object does not exist; every other failure stays
/// one, because "could not read" is never "is absent".
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
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
