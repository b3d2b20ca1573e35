//! What administrators install: the manifests and the chart, as the real kustomize and Helm render them, on a real API
//! server, and running.

mod documented;
mod installed;
mod rendered;

use std::process::ExitCode;

use reeve_scenarios::{run_on_plane, scenario};

fn main() -> ExitCode {
    run_on_plane(vec![
        scenario("the_base_is_what_clusteradm_installs", |_| {
            Box::pin(rendered::the_base_is_what_clusteradm_installs())
        }),
        scenario("the_deployments_are_those_of_clusteradm", |_| {
            Box::pin(rendered::the_deployments_are_those_of_clusteradm())
        }),
        scenario("the_chart_says_what_the_base_says", |_| {
            Box::pin(rendered::the_chart_reports_what_the_base_reports())
        }),
        scenario("the_chart_refuses_values_that_mean_nothing", |_| {
            Box::pin(rendered::the_chart_refuses_values_that_mean_nothing())
        }),
        scenario("one_image_reaches_all_four_components", |_| {
            Box::pin(rendered::one_image_reaches_all_four_components())
        }),
        scenario("documented_install_names_the_image_that_is_pushed", |_| {
            Box::pin(documented::install_names_the_image_that_is_pushed())
        }),
        scenario("another_namespace_reaches_all_objects", |_| {
            Box::pin(rendered::another_namespace_reaches_all_objects())
        }),
        scenario("addon_18_11_only_clients_of_the_hub_are_signed", |_| {
            Box::pin(rendered::only_clients_of_the_hub_are_signed())
        }),
        scenario("everything_is_accepted_by_an_api_server", |plane| {
            Box::pin(installed::everything_is_accepted(plane))
        }),
        scenario("the_installed_components_work_with_their_rights", |plane| {
            Box::pin(installed::the_components_work_with_their_rights(plane))
        }),
    ])
}
