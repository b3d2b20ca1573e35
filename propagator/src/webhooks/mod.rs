//! The validating admission webhooks of policies and policy sets.
//!
//! They fail open (see the manifest), so the reconcilers must also cope with objects that no webhook has reviewed.

mod policy;
mod policy_set;
mod review;
mod server;

use std::fmt::Debug;

use kube::Resource;
use serde::de::DeserializeOwned;

pub use server::Webhooks;

/// The operation on the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is updated.
    Update,
}

/// The decision of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionDecision {
    /// Why the object must not be stored; `None` if it may be.
    pub denied: Option<String>,
    /// Warnings for the user; they do not deny the request.
    pub warnings: Vec<String>,
}

/// A kind with a validating webhook.
pub trait Admit: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned {
    /// Reviews the object. It reads no other object.
    fn admit(&self, operation: Operation) -> AdmissionDecision;
}
