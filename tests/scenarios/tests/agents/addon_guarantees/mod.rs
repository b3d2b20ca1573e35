//! What a `governance-policy-framework-addon` promises whatever happens: a hub may be away for as long as it likes, the
//! process may be killed at any moment, and its watches may be behind. Every scenario has clusters of its own.

mod kills;
mod partition;
mod slow_watch;
mod steps;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on, scenario};

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let start = async {
        // The library's parts that run in this process need one, as the program has.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(())
    };
    run_on(
        suite,
        start,
        vec![
            scenario("a_minute_without_the_hub", |_| {
                Box::pin(partition::refused())
            }),
            scenario("half_a_minute_without_answers_of_the_hub", |_| {
                Box::pin(partition::silent())
            }),
            scenario("killed_again_and_again", |_| Box::pin(kills::kills())),
            scenario(
                "invalid_change_of_an_object_that_the_watch_has_not_delivered",
                |_| Box::pin(slow_watch::invalid_change()),
            ),
        ],
    )
}
