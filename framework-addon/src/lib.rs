//! The controllers of a managed cluster: policies from the hub, one object for each of their templates, and compliance back to
//! the hub.
//!
//! [`manager`] wires: it watches both clusters into the [`caches`] and enqueues what a change concerns. One folder a
//! reconciler, each named after its `controller` label in the metrics:
//!
//! - [`policy_spec_sync`] copies policies from the cluster's namespace on the hub, [`secret_sync`] the key of their
//!   encrypted values;
//! - [`policy_template_sync`] keeps one object for each policy template;
//! - [`gatekeeper_constraint_status_sync`] relays the results of Gatekeeper's audit of the constraints among them;
//! - [`policy_status_sync`] folds [`compliance_events`] into the statuses of policies, and [`hub_status_sync`] writes these
//!   statuses to the hub.
//!
//! Reconcilers share no state but the caches: each is a function of the objects of both clusters, so a process that is
//! killed anywhere and started again ends in the same state. [`trigger_uninstall`] is the command that a hook runs before
//! the add-on is removed.

mod args;
mod caches;
mod cluster;
mod compliance_events;
mod error;
mod gatekeeper;
mod gatekeeper_constraint_status_sync;
mod hub_outbox;
mod hub_status_sync;
mod kinds;
mod manager;
mod messages;
mod metrics;
mod pending_policies;
mod policy_spec_sync;
mod policy_status_sync;
mod policy_template_sync;
mod queues;
mod replica;
mod reporter;
mod secret_sync;
mod settings;
mod templates;
mod trigger_uninstall;
mod uninstalling;

use futures::future::BoxFuture;
use reeve_runtime::CancellationToken;

pub use args::Args;
use args::Command;
pub use error::Error;
pub use gatekeeper_constraint_status_sync::finding::{WebhookValidation, of as constraint_finding};
pub use metrics::METRICS;
pub use policy_template_sync::messages::constraint_template_created;
pub use reporter::Finding;

/// Runs the add-on until `stop`, or until one of its tasks fails; a sub-command until it is done.
pub fn run(mut args: Args, stop: CancellationToken) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(async move {
        match args.command.take() {
            None => manager::run(args, stop).await,
            Some(Command::TriggerUninstall(args)) => {
                Ok(Box::pin(trigger_uninstall::run(args, stop)).await?)
            }
        }
    })
}
