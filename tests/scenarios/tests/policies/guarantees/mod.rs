//! What a `config-policy-controller` promises whatever happens: it does not flap, it publishes no secret, no constraint
//! template stops it, and it may be killed at any moment.

mod churn;
mod kills;
mod secrets;
mod templates;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_evaluator, scenario};

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_evaluator(
        suite,
        vec![
            scenario("churn_two_minutes_of_writes_beside_a_policy", |world| {
                Box::pin(churn::beside_a_policy(world))
            }),
            scenario("gk_136_hostile_template_stops_no_other", |world| {
                Box::pin(templates::hostile(world))
            }),
            scenario("secrets_no_output_has_a_plaintext", |world| {
                Box::pin(secrets::nowhere(world))
            }),
            scenario("kills_fifty_while_enforcing_and_pruning", |world| {
                Box::pin(kills::fifty(world))
            }),
        ],
    )
}
