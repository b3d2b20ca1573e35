//! Installs the policy add-ons on managed clusters from the hub: `governance-policy-addon-controller`.
//!
//! [`manager`] wires: it watches the hub into the [`caches`] and enqueues the installations that a change affects.
//! For each `ManagedClusterAddOn` of one of the three [add-ons](addon::Addon) the reconciler [`addon_deploy`] gives
//! the agent an identity and access on the hub ([`registration`]), renders the agent's objects ([`facts`] to
//! [`values`] to [`render`]), and writes them into `ManifestWork`s, which OCM's work agent applies. A finalizer keeps
//! the add-on until its agent has cleaned up. [`addon_csr_approval`] approves the agents' certificates, and
//! [`cma_config`] publishes the hashes of the configurations that apply.
//!
//! The role of the controller is in `deploy/rbac/governance-policy-addon-controller.yaml`.

mod addon;
mod addon_csr_approval;
mod addon_deploy;
mod args;
mod caches;
mod cma_config;
mod csr;
mod digest;
mod error;
mod facts;
mod hub;
mod identity;
mod manager;
mod messages;
mod queues;
mod registration;
mod render;
mod stored_config;
#[cfg(test)]
mod testing;
mod values;
mod work;
mod work_conditions;
mod work_report;

pub use args::{Args, with_hyphens};
pub use error::Error;
pub use manager::run;
