//! The add-on controller as Open Cluster Management uses it: add-ons are enabled, configured and disabled on a hub that
//! manages itself and on two other clusters, and their agents run.

mod addon;
mod cluster_locks;
mod config_policy;
mod framework;
mod hosted;
mod on_hub;
mod placed;
mod rights;
mod site;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_beside, scenario};

use crate::install::on_hub::works;
use crate::install::site::Site;

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_beside(
        suite,
        Site::start(),
        |site, _| Box::pin(async move { site.dump().await }),
        vec![
            scenario(
                "addon_38_the_default_of_all_clusters_places_the_agents",
                |s| Box::pin(framework::elsewhere(s)),
            ),
            scenario(
                "fwk_42_the_default_of_all_clusters_places_the_agents",
                |s| Box::pin(config_policy::elsewhere(s)),
            ),
            scenario("addon_48_annotations_change_a_running_agent", |s| {
                Box::pin(framework::annotations(s))
            }),
            scenario("addon_78_enabled_and_disabled_on_all_clusters", |s| {
                Box::pin(config_policy::default(s))
            }),
            scenario("addon_71_13_hosted_for_an_openshift_cluster", |s| {
                Box::pin(hosted::framework(s))
            }),
            scenario("addon_51_a_hub_of_hubs_syncs_policies", |s| {
                Box::pin(on_hub::by_cluster(s))
            }),
            scenario("addon_71_enabled_and_disabled_with_defaults", |s| {
                Box::pin(framework::default(s))
            }),
            scenario("addon_87_hosted_for_an_openshift_cluster", |s| {
                Box::pin(hosted::config_policy(s))
            }),
            scenario("addon_83_standalone_templating_reaches_the_agent", |s| {
                Box::pin(config_policy::standalone(s))
            }),
            scenario("addon_50_values_mark_the_hub", |s| {
                Box::pin(on_hub::by_values(s))
            }),
            scenario("addon_48_annotations_and_metrics", |s| {
                Box::pin(config_policy::annotations(s))
            }),
            scenario("addon_49_5_hosted_with_a_configuration", |s| {
                Box::pin(hosted::framework_configured(s))
            }),
            scenario("addon_60_variables_of_a_configuration", |s| {
                Box::pin(framework::customized(s))
            }),
            scenario("fwk_38_hosted_with_a_secret_of_another_name", |s| {
                Box::pin(hosted::config_policy_configured(s))
            }),
            scenario("addon_58_3_resources_follow_the_configuration", |s| {
                Box::pin(framework::resources(s))
            }),
            scenario("addon_60_variables_of_a_configuration", |s| {
                Box::pin(config_policy::customized(s))
            }),
            scenario("addon_51_annotation_of_add_on_means_hub", |s| {
                Box::pin(on_hub::by_addon(s))
            }),
            scenario("fwk_36_nodes_of_the_configuration", |s| {
                Box::pin(config_policy::nodes(s))
            }),
            scenario("addon_58_1_nodes_of_the_configuration", |s| {
                Box::pin(framework::nodes(s))
            }),
            scenario("fwk_62_resources_follow_the_configuration", |s| {
                Box::pin(config_policy::resources(s))
            }),
            scenario("addon_121_changed_work_is_restored", |s| {
                Box::pin(works::reverted(s))
            }),
            scenario("addon_62_paused_add_on_is_not_changed", |s| {
                Box::pin(works::paused(s))
            }),
            scenario("addon_67_2_cluster_namespace_is_created_and_deleted", |s| {
                Box::pin(framework::cluster_namespace(s))
            }),
            scenario("addon_67_2_cluster_namespace_is_orphaned_on_request", |s| {
                Box::pin(framework::orphaned_namespace(s))
            }),
            scenario("addon_74_probes_suit_the_server", |s| {
                Box::pin(framework::probes(s))
            }),
            scenario("addon_47_2_metrics_on_openshift_are_served_by_tls", |s| {
                Box::pin(config_policy::openshift(s))
            }),
            scenario(
                "addon_126_crd_of_hub_is_marked_for_each_installation",
                |s| Box::pin(hosted::marked_again(s)),
            ),
            scenario(
                "addon_129_crd_applied_onto_terminating_one_is_applied_again",
                |s| Box::pin(framework::vanished_crd(s)),
            ),
            scenario("the_rights_of_installers_suffice", |s| {
                Box::pin(rights::suffice(s))
            }),
        ],
    )
}
