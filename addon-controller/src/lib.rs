//! Installs the policy add-ons on managed clusters, on the hub: `governance-policy-addon-controller`.
//!
//! For each `ManagedClusterAddOn` of one of the three [add-ons](addon::Addon) it gives the agent an identity and rights on
//! the hub ([`registration`], [`approval`]), renders what the agent needs on its cluster ([`facts`] to [`values`] to
//! [`render`]), and keeps that in `ManifestWork`s, which OCM's work agent applies ([`deploy`]). A finalizer keeps the
//! add-on until its agent has cleaned up. OCM's addon-manager learns from it which configurations apply ([`configs`]).
//!
//! It works within the rights that `deploy/rbac/governance-policy-addon-controller.yaml` gives.

pub mod addon;
pub mod approval;
mod args;
pub mod configs;
pub mod deploy;
mod digest;
mod error;
pub mod facts;
mod hub;
mod messages;
mod process;
pub mod registration;
pub mod render;
#[cfg(test)]
mod testing;
pub mod values;
mod world;

pub use args::{Args, with_hyphens};
pub use error::Error;
pub use process::run;
