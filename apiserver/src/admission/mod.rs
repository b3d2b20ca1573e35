//! Who may change or refuse objects on their way in: others in this process, the policies of the cluster, and webhooks.

mod matching;
pub(crate) mod pods;
mod policies;
mod seen;
mod webhooks;

pub(crate) use policies::{Outcome, Policies};
pub(crate) use webhooks::{Occasion, Webhooks};

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::conversion;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::meta;

/// What is being done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Action {
    /// Its name in rules and requests of admission.
    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Of a write.
pub struct Attributes<'a> {
    /// What is done.
    pub action: Action,
    /// To what kind of object.
    pub kind: &'a Kind,
    /// To which part, if not to the whole.
    pub subresource: Option<&'a str>,
    /// In which namespace; empty of cluster-scoped objects.
    pub namespace: &'a str,
    /// To which object.
    pub name: &'a str,
    /// By whom.
    pub user: &'a Identity,
    /// Whether somebody has a right, by RBAC: verb, group, resource (with its subresource), name.
    pub allowed: &'a (dyn Fn(&str, &str, &str, &str) -> bool + Sync),
}

impl Attributes<'_> {
    /// The namespace as requests of admission tell it: that of a namespace is its own name.
    pub(crate) fn told_namespace(&self) -> &str {
        if self.kind.is("", "namespaces") {
            self.name
        } else {
            self.namespace
        }
    }

    /// What is written, or the part of it, as requests of admission tell it of this kind.
    fn told_kind(&self, kind: &Kind) -> Value {
        let (group, version, name) = kind.sent_kind(self.subresource);
        json!({ "group": group, "version": version, "kind": name })
    }
}

/// A resource as requests of admission tell it.
fn told_resource(kind: &Kind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "resource": kind.resource })
}

/// Whether objects of this kind decide who is asked: whoever refuses that could not be taken back.
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
    conversion::to_kept(from, &mut object);
    conversion::from_kept(to, &mut object);
    meta::put_type(&mut object, &to.api_version(), &to.kind);
    Cow::Owned(object)
}

/// Looks at writes.
pub trait Admission: Send + Sync {
    /// Changes the object that is to be kept, or refuses. `new` is `null` of a deletion.
    fn admit(
        &self,
        of: &Attributes<'_>,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Failure>;
}
