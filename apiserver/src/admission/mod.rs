//! Admission: plugins of this process, admission policies, and webhooks.

mod matching;
pub(crate) mod pods;
mod policies;
mod versioned;
mod webhooks;

pub(crate) use policies::{AdmissionOutcome, Policies};
pub use webhooks::{InProcessWebhook, WebhookAnswer, WebhookHandler};
pub(crate) use webhooks::{WebhookRequest, Webhooks};

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::conversion;
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::meta;
use crate::status_error::StatusError;

/// The operation of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is updated.
    Update,
    /// The object is deleted.
    Delete,
}

impl Operation {
    /// Its name in rules and requests of admission.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The attributes of a write.
pub struct Attributes<'a> {
    /// The operation.
    pub operation: Operation,
    /// The kind of the object.
    pub kind: &'a Kind,
    /// The subresource, if the write is of one.
    pub subresource: Option<&'a str>,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The user of the request.
    pub user: &'a Identity,
    /// Whether a user has a right, by RBAC: verb, group, resource (with its subresource), name.
    pub allowed: &'a (dyn Fn(&str, &str, &str, &str) -> bool + Sync),
}

impl Attributes<'_> {
    /// The namespace in admission requests: that of a namespace is its own name.
    pub(crate) fn request_namespace(&self) -> &str {
        if self.kind.is("", "namespaces") {
            self.name
        } else {
            self.namespace
        }
    }

    /// The kind of the object or of the subresource in admission requests.
    fn request_kind(&self, kind: &Kind) -> Value {
        let (group, version, name) = kind.sent_kind(self.subresource);
        json!({ "group": group, "version": version, "kind": name })
    }
}

/// A resource in admission requests.
fn request_resource(kind: &Kind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "resource": kind.resource })
}

/// Whether objects of this kind configure admission: a webhook that refused their writes could not be removed.
fn is_exempt(kind: &Kind) -> bool {
    kind.group == "admissionregistration.k8s.io"
}

/// An object that is sent as one kind, as it is sent as another that is kept in the same place.
fn in_form<'a>(
    (from, to): (&Kind, &Kind),
    part: Option<&str>,
    object: &'a Value,
) -> Cow<'a, Value> {
    let same = (&from.group, &from.version) == (&to.group, &to.version);
    if same || object.is_null() || from.sent_kind(part).2 != from.kind {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    conversion::to_storage(from, &mut object);
    conversion::from_storage(to, &mut object);
    meta::put_type(&mut object, &to.api_version(), &to.kind);
    Cow::Owned(object)
}

/// An admission plugin of this process.
pub trait AdmissionPlugin: Send + Sync {
    /// Changes the object before it is stored, or refuses it. `new` is `null` for a deletion.
    fn admit(
        &self,
        of: &Attributes<'_>,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), StatusError>;
}
