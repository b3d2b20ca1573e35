//! Policies travel from a hub to clusters, and their compliance travels back: through the processes
//! that a user would start, on real API servers.

mod broken;
mod drift;
mod guide;
mod removal;
mod roles;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_world, scenario};
use reeve_testkit::WorldOptions;

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let options = WorldOptions {
        clusters: vec!["c1", "c2"],
        audit: true,
        ..WorldOptions::default()
    };
    let scenarios = vec![
        scenario("a_namespace_informed_then_enforced", |w| {
            Box::pin(guide::namespace(w))
        }),
        scenario("b_the_guides_pod_policy", |w| Box::pin(guide::pod(w))),
        scenario("c_role_musthave", |w| Box::pin(roles::must_have(w))),
        scenario("c_role_mustnothave", |w| Box::pin(roles::must_not_have(w))),
        scenario("c_role_mustonlyhave", |w| {
            Box::pin(roles::must_only_have(w))
        }),
        scenario("d_deleted_object_is_recreated_within_a_second", |w| {
            Box::pin(drift::deleted(w))
        }),
        scenario("d_an_edited_object_is_restored_within_a_second", |w| {
            Box::pin(drift::edited(w))
        }),
        scenario("e_removing_the_policy", |w| Box::pin(removal::policy(w))),
        scenario("e_removing_the_binding", |w| Box::pin(removal::binding(w))),
        scenario("e_removing_the_decision", |w| {
            Box::pin(removal::decision(w))
        }),
        scenario("e_disabling_the_policy", |w| Box::pin(removal::disabled(w))),
        scenario("f_a_cluster_added_and_removed", |w| {
            Box::pin(removal::cluster(w))
        }),
        scenario("g_undecodable_template", |w| {
            Box::pin(broken::undecodable(w))
        }),
        scenario("g_template_rejected_by_api_server", |w| {
            Box::pin(broken::refused(w))
        }),
        scenario("g_duplicate_template_names", |w| {
            Box::pin(broken::duplicates(w))
        }),
    ];
    run_on_world(suite, options, scenarios)
}
