//! Evaluates `ConfigurationPolicy` objects: on a managed cluster as its controller, or over objects in memory by
//! [`evaluate()`].

mod args;
mod configuration_policy;
pub mod dryrun;
mod error;
mod evaluate;
mod manager;
mod messages;
mod metrics;
mod status;
mod uninstall;

pub use args::{Args, Command, ControllerArgs};
pub use configuration_policy::finalizer::FINALIZER;
pub use dryrun::{Report, evaluate};
pub use error::Error;
pub use evaluate::selectors::namespaces::TerminatingInclusion;
pub use manager::{ClusterClients, ReconcilerDeps, run, start_reconciler};
pub use metrics::PolicyMetrics;
pub use uninstall::UninstallWatch;
