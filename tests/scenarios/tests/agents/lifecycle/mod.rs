//! The whole life of an installation: from an empty hub to governed clusters and back, and from what the Go components
//! leave to ours. Every component runs as Pods of the shipped manifests, with the shipped rights.

mod back;
mod fleet;
mod inventory;
mod shape;
mod upgrade;
mod whole;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_beside, scenario};

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    // The scenarios start their own fleets.
    run_beside(
        suite,
        async { Ok(()) },
        |_, _| Box::pin(async { String::new() }),
        vec![
            scenario("from_an_empty_hub_to_governed_clusters_and_back", |_| {
                Box::pin(whole::installed_used_and_removed())
            }),
            scenario("state_of_go_components_is_adopted", |_| {
                Box::pin(upgrade::in_place())
            }),
            scenario("go_components_take_over_state_of_reeve", |_| {
                Box::pin(back::handed_back())
            }),
        ],
    )
}
