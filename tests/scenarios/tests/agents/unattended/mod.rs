//! The hub's side of add-ons on clusters that nobody attends to: what their work agents would say, the test reports.

mod cases;
mod hub;
mod namespaces;

use std::process::ExitCode;
use std::sync::Arc;

use reeve_scenarios::{SuiteRun, run_beside, scenario};

use hub::Hub;

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_beside(
        suite,
        Hub::start(),
        |hub: Arc<Hub>, _| Box::pin(async move { hub.logs() }),
        vec![
            scenario(
                "addon_98_own_case_a_first_deployment_takes_few_writes",
                |hub| Box::pin(cases::first(hub)),
            ),
            scenario(
                "addon_144_own_case_one_of_two_hosted_clusters_is_deleted",
                |hub| Box::pin(cases::two_hosted(hub)),
            ),
            scenario(
                "addon_103_own_case_rights_of_agents_outlive_the_definition",
                |_| Box::pin(cases::definition_deleted()),
            ),
            scenario("addon_38_own_case_namespaces_of_an_agent", |hub| {
                Box::pin(namespaces::namespaces(hub))
            }),
            scenario(
                "addon_144_own_case_a_cluster_goes_with_its_add_ons",
                |hub| Box::pin(namespaces::cluster_deleted(hub)),
            ),
            scenario("addon_52_hub_marked_late", |hub| {
                Box::pin(cases::marked_late(hub))
            }),
            scenario("addon_136_own_case_another_hosting_cluster", |hub| {
                Box::pin(cases::moved(hub))
            }),
            scenario("addon_137_own_case_from_hosted_to_default", |hub| {
                Box::pin(cases::to_default(hub))
            }),
            scenario(
                "addon_140_own_case_an_unreachable_cluster_and_a_forced_deletion",
                |hub| Box::pin(cases::unreachable(hub)),
            ),
            scenario(
                "addon_57_own_case_the_configuration_is_deleted_before_the_add_on",
                |hub| Box::pin(cases::without_configuration(hub)),
            ),
            scenario("addon_151_own_case_a_deletion_in_the_foreground", |hub| {
                Box::pin(cases::foreground(hub))
            }),
            scenario(
                "addon_47_4_own_case_standalone_templating_before_and_gone",
                |hub| Box::pin(cases::standalone(hub)),
            ),
        ],
    )
}
