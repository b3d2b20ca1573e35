//! Who may change or refuse objects on their way in: what webhooks are to a real server, in the same process.

mod matching;
mod policies;

pub(crate) use policies::Policies;

use serde_json::Value;

use crate::auth::Identity;
use crate::failure::Failure;
use crate::kinds::Kind;

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
    pub allowed: &'a dyn Fn(&str, &str, &str, &str) -> bool,
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
