//! The suites of the propagator.

mod automation;
mod hub;
mod hub_guarantees;
mod propagator_process;

use std::process::ExitCode;

use reeve_scenarios::{Suite, run_suites};

fn main() -> ExitCode {
    run_suites(&[
        Suite::new("hub", hub::run),
        Suite::new("hub_guarantees", hub_guarantees::run),
        Suite::new("automation", automation::run),
        Suite::new("propagator_process", propagator_process::run),
    ])
}
