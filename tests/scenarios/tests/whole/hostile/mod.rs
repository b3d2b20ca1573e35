//! What one tenant, one object or one cluster may do, and what it must not do to the rest of a hub. A hub and a managed
//! cluster with all components, which the scenarios stop and start: they take turns.

mod deep;
mod undecodable;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_in_turns, scenario};
use reeve_testkit::WorldOptions;

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let options = WorldOptions {
        clusters: vec!["c1"],
        audit: true,
        ..WorldOptions::default()
    };
    run_in_turns(
        suite,
        options,
        vec![
            scenario("deep_policy_is_placed_enforced_and_reported", |w| {
                Box::pin(deep::policy(w))
            }),
            scenario("deep_status_of_a_replica_stops_no_other_policy", |w| {
                Box::pin(deep::status(w))
            }),
            scenario(
                "deep_field_of_a_watched_object_does_not_hide_its_drift",
                |w| Box::pin(deep::evasion(w)),
            ),
            scenario("undecodable_object_is_named_and_quoted_nowhere", |w| {
                Box::pin(undecodable::named(w))
            }),
        ],
    )
}
