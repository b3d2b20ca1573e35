//! The cases of a `ConfigurationPolicy` that need a controller of their own: with other flags, another
//! identity or another cluster, or one that is stopped and started.

mod definitions;
mod hosted;
mod hub;
mod identity;
mod readonly;
mod restarts;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_pair, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_pair(
        suite,
        scenarios![
            case14_namespace_created_while_controller_is_down: restarts::namespace_while_away,
            case18_a_kind_and_an_object_of_it: definitions::kind_and_object,
            case20_deleting_the_definition_of_policies: definitions::deleted,
            case21_a_cluster_managed_from_another: hosted::managed_from_another,
            case21_changed_kubeconfig_is_unhealthy: hosted::changed_kubeconfig,
            case43_without_a_hub: hub::without,
            case43_hub_templates: hub::templates,
            case43_secrets_of_the_hub: hub::secrets,
            case43_hub_is_unreachable: hub::away,
            cfg_151_failed_report_is_retried: identity::reported_later,
            read_only_verdicts_are_marked_unverified: readonly::looks,
            cfg_97_a_refused_list_is_not_absence: identity::refused,
            cfg_36_deletion_does_not_wait_for_the_hub: hub::deletion,
            cfg_47_hub_templates_are_resolved_once: hub::resolved_once,
        ],
    )
}
