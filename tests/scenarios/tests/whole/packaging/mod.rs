//! What administrators install: the manifests and the chart, as the real kustomize and Helm render them, on a real API
//! server, and running.

mod bounded;
mod command;
mod documented;
mod installed;
mod rendered;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_plane, scenario};

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_plane(
        suite,
        vec![
            scenario("base_equals_clusteradm", |_| {
                Box::pin(rendered::base_equals_clusteradm())
            }),
            scenario(
                "addon_27_deployments_are_hardened_ones_of_clusteradm",
                |_| Box::pin(rendered::deployments_are_hardened_ones_of_clusteradm()),
            ),
            scenario("addon_27_all_containers_are_hardened", |_| {
                Box::pin(rendered::all_containers_are_hardened())
            }),
            scenario("chart_renders_same_objects_as_base", |_| {
                Box::pin(rendered::chart_renders_same_objects_as_base())
            }),
            scenario("chart_rejects_unknown_values", |_| {
                Box::pin(rendered::chart_rejects_unknown_values())
            }),
            scenario("one_image_reaches_all_four_components", |_| {
                Box::pin(rendered::image_is_set_on_all_components())
            }),
            scenario("documented_install_names_published_image", |_| {
                Box::pin(documented::install_page_names_published_image())
            }),
            scenario("another_namespace_reaches_all_objects", |_| {
                Box::pin(rendered::namespace_is_set_on_all_objects())
            }),
            scenario("addon_18_11_only_clients_of_the_hub_are_signed", |_| {
                Box::pin(rendered::only_client_signer_is_allowed())
            }),
            scenario(
                "addon_29_propagator_creates_only_allowed_secrets_and_tokens",
                |plane| {
                    Box::pin(bounded::propagator_creates_only_allowed_secrets_and_tokens(
                        plane,
                    ))
                },
            ),
            scenario("inst_1_components_are_replaced_in_place", |_| {
                Box::pin(command::replaces_components_in_place())
            }),
            scenario("inst_2_what_is_missing_is_named", |_| {
                Box::pin(command::names_what_is_missing())
            }),
            scenario("inst_4_only_what_was_installed_is_uninstalled", |_| {
                Box::pin(command::uninstalls_what_it_installed())
            }),
            scenario("everything_is_accepted_by_an_api_server", |plane| {
                Box::pin(installed::all_objects_are_accepted(plane))
            }),
            scenario("the_installed_components_work_with_their_rights", |plane| {
                Box::pin(installed::components_work_with_their_rights(plane))
            }),
        ],
    )
}
