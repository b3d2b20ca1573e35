//! Evaluates `ConfigurationPolicy` objects: on a managed cluster as its controller, or over objects in memory by
//! [`evaluate()`].
//!
//! - `manager` is the process: clients, servers, leases, watches and the queue that they feed, and the command
//!   `trigger-uninstall`. `args` are its flags, `uninstall` watches for an uninstallation.
//! - `configuration_policy` reconciles one policy: what triggers an evaluation, schedule, finalizer, selected
//!   namespaces.
//! - `operator_policy` reconciles one `OperatorPolicy`.
//! - `hub_templates` and `throttle` are for policies of both kinds, as are `go_types`, the fields of types that Go decodes.
//! - `evaluate` is one evaluation: `spec` reads the policy, `desired` determines its objects (with `selectors` and
//!   `templates`), `evaluator` drives the pure `decide` (with `compare`, `diff` and `memo`) against a `cluster`, and
//!   `prune` deletes objects that the policy no longer names.
//! - `status` is the way from a `finding` to the user: `summary` words it, `update` computes the new status,
//!   `publisher` writes status and events.
//! - [`dryrun`] is the same evaluation, once and without a write.
//!
//! `messages` has every text that a user can see, `metrics` the series.

mod args;
mod configuration_policy;
pub mod dryrun;
mod error;
mod evaluate;
#[rustfmt::skip]
mod go_types;
mod hub_templates;
mod manager;
mod messages;
mod metrics;
mod operator_policy;
mod status;
mod throttle;
mod uninstall;

pub use args::{Args, Command, ControllerArgs};
pub use configuration_policy::finalizer::FINALIZER;
pub use dryrun::{Report, evaluate};
pub use error::Error;
pub use evaluate::selectors::namespaces::TerminatingInclusion;
pub use manager::{ClusterClients, OperatorPolicies, ReconcilerDeps, run, start_reconcilers};
pub use metrics::{METRICS, PolicyMetrics};
pub use reeve_templates_engine::hints::hint as template_hint;
pub use uninstall::UninstallWatch;
