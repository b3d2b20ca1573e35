//! The types of everything that users write in YAML, and the well-known names. No I/O, no async.
//!
//! Fields that the API server restricts to a set of values stay strings here, because replicas must keep the user's
//! spelling (`Enforce`, `enforce`) and because one unexpected value in a stored object must not make that object
//! unreadable. The typed value is a method beside the field.

pub mod addon;
pub mod compliance;
pub mod configuration_policy;
pub mod crds;
pub mod dependency_graph;
pub mod names;
pub mod ocm;
pub mod operator_policy;
pub mod placement_binding;
pub mod policy;
pub mod policy_automation;
pub mod policy_set;
mod schema;
mod shared;
pub mod work;

pub use compliance::{Compliance, RemediationAction};
pub use configuration_policy::ConfigurationPolicy;
pub use operator_policy::OperatorPolicy;
pub use placement_binding::PlacementBinding;
pub use policy::Policy;
pub use policy_automation::PolicyAutomation;
pub use policy_set::PolicySet;

#[cfg(test)]
mod tests;
