//! The hub's controllers: policies are replicated to the clusters that placements choose, and the compliance of the replicated
//! policies comes back into the statuses of root policies and policy sets.
//!
//! [`manager`] wires: it watches the hub into the [`cache`], whose handlers keep the [`index`] of who is bound where and
//! enqueue the keys that a change affects. One folder a reconciler, each named after its `controller` label in the metrics:
//! [`replicated_policy`] (with [`hub_templates`] and the [`confirmation`] before a deletion), [`root_policy_status`],
//! [`policy_set`], [`policy_encryption_keys`] and [`policy_automation`]. [`webhooks`] answer the API server.

mod args;
mod automation_mode;
mod cache;
mod confirmation;
mod error;
pub mod hub_templates;
mod index;
mod keys;
mod manager;
mod messages;
mod metrics;
mod policy_automation;
mod policy_encryption_keys;
mod policy_set;
mod queues;
mod replica;
mod replicated_policy;
mod root;
mod root_policy_status;
mod settings;
mod shards;
mod status_size;
mod status_window;
mod webhooks;

pub use args::Args;
pub use error::Error;
pub use manager::run;
pub use metrics::METRICS;
