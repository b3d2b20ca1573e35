//! `OperatorPolicy` on clusters with the real Operator Lifecycle Manager (OLM): its controllers, its API server of
//! `PackageManifests`, and catalogs. Operators are Deployments whose Pods sleep.
//!
//! Each scenario has packages and namespaces of its own, so that they play side by side.

mod approvals;
mod catalog;
mod catalogs;
mod cluster;
mod groups;
mod installing;
mod kills;
mod life;
mod packages;
mod removing;
mod validity;

use std::process::ExitCode;

use cluster::Clusters;
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
        Clusters::start(),
        |world, _| Box::pin(async move { world.dump() }),
        scenarios![
            op_5_4_defaults_install_an_operator: installing::defaults,
            op_5_4_defaults_of_another_catalog_are_refused: installing::partial_defaults,
            op_8_operator_group_is_inferred: groups::unspecified,
            op_8_operator_group_of_the_policy_is_enforced: groups::specified,
            op_8_fields_of_the_policy_are_replaced: groups::replaced,
            op_9_subscription_waits_for_the_operator_group: groups::wrong_group,
            op_10_wrong_channel_is_reported: installing::wrong_channel,
            op_9_inform_ignores_the_approval: installing::inform_compares,
            op_20_failed_version_is_never_compliant: installing::failed_csv,
            op_15_deployment_that_never_gets_ready: installing::never_ready,
            op_11_dependencies_are_approved: installing::needing,
            op_5_templates_of_subscription_and_group: installing::templates,
            op_10_subscription_without_a_group: installing::without_group,
            op_7_copied_version_needs_no_installation: installing::preinstalled,
            op_7_one_of_three_policies_installs: installing::competing,
            op_16_health_of_the_catalog: catalogs::health,
            op_12_deprecations_are_reported: catalogs::deprecations,
            op_11_upgrades_wait_for_approval: approvals::upgrades,
            op_11_install_plan_of_two_policies: approvals::several,
            op_5_mistakes_are_mended: validity::mended,
            op_6_overlapping_policies_wait: validity::overlapping,
            op_5_7_removal_from_no_namespace: validity::no_namespace,
            op_20_removal_waits_for_finalizers: removing::finalizers,
            op_20_absent_operator_complies: removing::absent,
            op_14_removal_waits_for_the_definition: removing::crd_finalizer,
            op_8_unused_operator_groups_are_removed: removing::unused_groups,
            op_8_operator_groups_of_others_stay: removing::groups_of_others,
            op_20_whole_life: life::here,
            op_22_whole_life_on_another_cluster: life::hosted,
            op_12_deprecation_is_shown_on_the_hub: life::from_hub,
            op_4_killed_controller_ends_the_same: kills::at_random,
        ],
    )
}
