//! The admission webhooks: what the API server asks before it stores a policy or a policy set.
//!
//! They fail open (see the manifest), so nothing here may be relied upon elsewhere: a policy that
//! was never asked about must be dealt with all the same.

mod policy;
mod policy_set;
mod review;
mod server;

use std::fmt::Debug;

use kube::Resource;
use serde::de::DeserializeOwned;

pub use server::Webhooks;

/// What is being done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It does not exist yet.
    Create,
    /// It exists.
    Update,
}

/// What a webhook answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionDecision {
    /// Why the object must not be stored; `None` if it may be.
    pub denied: Option<String>,
    /// What the user should know even so.
    pub warnings: Vec<String>,
}

/// A kind that is looked at before it is stored.
pub trait Admit: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned {
    /// Judges the object alone: no other object is read.
    fn admit(&self, operation: Operation) -> AdmissionDecision;
}
