//! The managed cluster's controller: policies down from the hub, their template objects onto the
//! cluster, compliance back up.
//!
//! Five controllers share what [`world`] watches on both clusters. Each is read in the same order:
//! `mod`, `observe`, `decide`, `act`, `publish`, `messages`, `error`.
//!
//! - [`spec_sync`] copies policies from the cluster's namespace on the hub, [`secret_sync`] the key of their encrypted
//!   values;
//! - [`template_sync`] keeps one object for each policy template;
//! - [`gatekeeper`] passes on what Gatekeeper's audit finds about the constraints among them;
//! - [`status_sync`] folds what evaluators report into the policies' statuses, here and on the hub.
//!
//! [`process`] starts them, and [`uninstall`] ends them. They talk through the API server only: every one of them is a function of what the clusters
//! hold, so a process that is killed anywhere and started again comes to the same end.

pub mod args;
pub mod error;
pub mod gatekeeper;
pub mod kinds;
pub mod messages;
pub mod metrics;
pub mod process;
pub mod replica;
pub mod reports;
pub mod secret_sync;
pub mod spec_sync;
pub mod status_sync;
pub mod template_sync;
pub mod templates;
pub mod uninstall;
pub mod world;

use reeve_runtime::CancellationToken;

pub use args::Args;
use args::Command;
pub use error::Error;

/// Who the process is in the API servers' audit logs.
const USER_AGENT: &str = "governance-policy-framework-addon";

/// Runs until `stop`, or until something ends that must not; a sub-command until it is done.
pub async fn run(mut args: Args, stop: CancellationToken) -> Result<(), Error> {
    match args.command.take() {
        None => process::run(args, stop).await,
        Some(Command::TriggerUninstall(args)) => uninstall::trigger::run(args, stop).await,
    }
}
