//! `OperatorPolicy` on a cluster with the kinds of OLM. The scenarios play OLM: they write the statuses, the install
//! plans and the versions that it would make. Each has a package and a namespace of its own, so that they play side by
//! side.

mod cluster;
mod hosted;
mod hub;
mod installing;
mod removing;
mod several;
mod specs;
mod workers;

use std::process::ExitCode;

use cluster::Cluster;
use reeve_scenarios::{SuiteRun, run_beside, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_beside(
        suite,
        Cluster::start(),
        |world, scenario| Box::pin(async move { world.dump(scenario).await }),
        scenarios![
            op_20_operator_is_installed: installing::from_nothing,
            op_24_1_settled_policy_is_left_alone: installing::settled,
            op_4_reset_status_is_reported_again: installing::reset,
            op_9_adopted_subscription_keeps_its_annotations: installing::adopted,
            op_10_unreferenced_version_is_repaired: installing::intervention,
            op_16_health_of_the_catalog_is_followed: installing::catalog,
            op_20_operator_is_removed: removing::everything,
            op_9_objects_with_finalizers_are_waited_for: removing::finalizers,
            op_24_41_operator_of_an_unknown_namespace_stays: removing::unknown_namespace,
            op_24_42_invalid_policy_removes_nothing: removing::invalid,
            op_24_35_nothing_is_removed_during_an_uninstallation: removing::uninstallation,
            op_6_overlapping_policies_wait: several::overlapping,
            op_11_install_plan_of_two_policies: several::shared_install_plan,
            op_7_operator_of_another_namespace_is_used: several::existing_installation,
            op_5_templates_are_followed: specs::templates,
            op_24_31_encrypted_values_are_decrypted: specs::encrypted,
            op_24_31_denied_function_fails: specs::denied_function,
            op_5_1_broken_template_is_reported: specs::broken_template,
            op_24_11_missing_versions_approve_nothing: specs::missing_versions,
            op_5_namespace_is_awaited: specs::namespace_awaited,
            op_5_package_manifest_is_missing: specs::no_package,
            op_22_operators_of_another_cluster: hosted::other_cluster,
            op_5_hub_templates_are_followed: hub::templates,
            op_24_32_stalled_policy_delays_no_other: workers::side_by_side,
        ],
    )
}
