//! The suites of several components, of the tools and of what all components share.

mod authoring;
mod crashes;
mod crds;
mod flows;
mod hostile;
mod packaging;
mod runtime;

use std::process::ExitCode;

use reeve_scenarios::{Suite, run_suites};

fn main() -> ExitCode {
    run_suites(&[
        Suite::new("flows", flows::run),
        Suite::new("crashes", crashes::run),
        Suite::new("crds", crds::run),
        Suite::new("hostile", hostile::run),
        Suite::new("authoring", authoring::run),
        Suite::new("packaging", packaging::run),
        Suite::new("runtime", runtime::run),
    ])
}
