//! The suites of the add-ons: syncing, constraints, installation.

mod addon;
mod addon_guarantees;
mod addon_process;
mod approvals;
mod gatekeeper;
mod install;
mod lifecycle;
mod unattended;

use std::process::ExitCode;

use reeve_scenarios::{Suite, run_suites};

fn main() -> ExitCode {
    run_suites(&[
        Suite::new("addon", addon::run),
        Suite::new("addon_guarantees", addon_guarantees::run),
        Suite::new("addon_process", addon_process::run),
        Suite::new("gatekeeper", gatekeeper::run),
        Suite::new("install", install::run),
        Suite::new("lifecycle", lifecycle::run),
        Suite::new("approvals", approvals::run),
        Suite::new("unattended", unattended::run),
    ])
}
