//! The suites of the configuration policy controller.

mod apart;
mod configuration;
mod corpus;
mod guarantees;
mod olm;
mod operator;
mod process;

use std::process::ExitCode;

use reeve_scenarios::{Suite, run_suites};

fn main() -> ExitCode {
    run_suites(&[
        Suite::new("configuration", configuration::run),
        Suite::new("corpus", corpus::run),
        Suite::new("guarantees", guarantees::run),
        Suite::new("apart", apart::run),
        Suite::new("process", process::run),
        Suite::new("operator", operator::run),
        Suite::new("olm", olm::run),
    ])
}
