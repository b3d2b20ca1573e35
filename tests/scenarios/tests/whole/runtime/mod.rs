//! What the runtime promises, on a real API server.

mod election;
mod kinds;
mod reading;
mod serving;
mod sharing;
mod writing;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_plane, scenario};

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_plane(
        suite,
        vec![
            scenario("reader_is_enqueued_only_by_objects_it_read", |p| {
                Box::pin(reading::enqueued(p))
            }),
            scenario("reader_is_enqueued_by_object_of_later_kind", |p| {
                Box::pin(reading::installed_later(p))
            }),
            scenario("many_readers_share_one_watch", |p| {
                Box::pin(reading::crowd(p))
            }),
            scenario("prop_119_fifty_namespaces_are_read_by_few_watches", |p| {
                Box::pin(sharing::many_namespaces(p))
            }),
            scenario("reader_without_cluster_access_reads_by_namespace", |p| {
                Box::pin(sharing::refused_everywhere(p))
            }),
            scenario("a_forbidden_read_is_an_error_and_not_absence", |p| {
                Box::pin(reading::forbidden(p))
            }),
            scenario("prop_101_reader_is_enqueued_when_kind_is_defined", |p| {
                Box::pin(kinds::come_and_go(p))
            }),
            scenario("an_undecodable_object_does_not_blind_a_watch", |p| {
                Box::pin(reading::undecodable(p))
            }),
            scenario("strict_writes_name_the_unknown_field", |p| {
                Box::pin(writing::strict(p))
            }),
            scenario("a_strict_dry_run_stores_nothing", |p| {
                Box::pin(writing::dry_run(p))
            }),
            scenario(
                "compliance_events_are_stored_with_their_long_messages",
                |p| Box::pin(writing::events(p)),
            ),
            scenario("one_of_two_candidates_leads_until_it_stops", |p| {
                Box::pin(election::two(p))
            }),
            scenario("secure_metrics_authorize_readers", |p| {
                Box::pin(serving::secure_metrics(p))
            }),
        ],
    )
}
