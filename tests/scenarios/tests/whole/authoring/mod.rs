//! The commands for authors of policies, with what they meet in use: a real kustomize that runs the generator as its plugin, and
//! a real API server that dry runs and templates read.

mod clusters;
mod folder;
mod kustomize;
mod strict;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_plane, scenario};

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_plane(
        suite,
        vec![
            scenario(
                "gen_1_strict_generator_refuses_what_a_cluster_would",
                |_| Box::pin(async { strict::refused() }),
            ),
            scenario("gen_3_kustomize_runs_the_generator", |_| {
                Box::pin(kustomize::plugin())
            }),
            scenario("gen_3_kustomize_shows_errors_of_the_generator", |_| {
                Box::pin(kustomize::plugin_fails())
            }),
            scenario("gen_15_built_in_kustomize_builds_as_kustomize", |_| {
                Box::pin(kustomize::built_in())
            }),
            scenario("gen_15_installed_kustomize_builds_the_rest", |_| {
                Box::pin(kustomize::installed())
            }),
            scenario("dry_15_dry_run_reads_a_real_cluster", |plane| {
                Box::pin(clusters::dry_run(plane))
            }),
            scenario(
                "dry_25_constraints_are_evaluated_on_a_real_cluster",
                |plane| Box::pin(clusters::constraints(plane)),
            ),
            scenario("dry_24_kinds_of_a_real_cluster_are_mappings", |plane| {
                Box::pin(async move { clusters::mappings(&plane) })
            }),
            scenario("rsv_13_reads_of_a_real_cluster_replay", |plane| {
                Box::pin(clusters::replay(plane))
            }),
            scenario("rsv_13_denied_read_is_an_error", |plane| {
                Box::pin(clusters::denied(plane))
            }),
        ],
    )
}
