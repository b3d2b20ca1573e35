//! Gatekeeper's policies through the addon. Most scenarios play Gatekeeper by a script, which is fast and exact; some
//! have the real one. Every scenario has kinds of its own, so that they play side by side.

mod beside;
mod broken;
mod dependencies;
mod disabled;
mod flows;
mod ownership;
mod presence;
mod process;
mod rights;
mod uninstall;
mod verdicts;
mod webhook;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_guarded, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_guarded(
        suite,
        scenarios![
            gk_21_two_policies_share_a_template: flows::shared,
            gk_22_4_violations_are_reported_in_one_message: flows::violations,
            gk_24_enforced_constraints_deny: flows::enforced,
            gk_11_1_templates_are_added_and_removed: flows::added_and_removed,
            gk_13_status_changes_of_gatekeeper_add_no_history: flows::notes,
            gk_41_a_dependency_on_a_template: dependencies::template,
            gk_41_a_dependency_on_a_constraint: dependencies::constraint,
            gk_38_4_a_broken_template: broken::template,
            gk_29_a_disabled_webhook: webhook::disabled,
            gk_5_gatekeeper_is_reinstalled_and_rough_edge_33: presence::comes_and_goes,
            gk_9_the_real_gatekeeper_audits_and_denies: process::audits,
            gk_38_4_the_real_gatekeeper_finds_a_mistake: process::mistake,
            gk_33_relay_emits_observed_violations: flows::events,
            gk_34_a_restart_publishes_nothing_twice: presence::restarts,
            gk_3_the_hub_itself_has_gatekeeper: presence::on_hub,
            gk_18_a_constraint_of_another_policy: ownership::of_another_policy,
            gk_43_the_shipped_rights_suffice: rights::suffice,
            gk_42_an_uninstallation_with_constraints: uninstall::finalizers_are_removed,
            gk_4_without_the_integration: disabled::refused,
            guide_labels_of_namespaces: process::guide,
            fwk_120_a_foreign_template_survives: ownership::foreign,
            fwk_114_another_kind_of_the_same_name: ownership::other_kind,
            fwk_114_equally_named_policies_of_two_addons: ownership::two_addons,
            fwk_118_a_failed_update_keeps_the_finalizer: ownership::failed_update,
            fwk_118_the_finalizer_comes_first: ownership::finalizer_first,
            fwk_109_template_not_read_yet: broken::not_yet,
            fwk_109_template_never_read: broken::never,
            fwk_109_a_foreign_template_does_not_flip: broken::foreign,
            fwk_109_template_read_soon: broken::unread_template,
            gk_11_3_a_constraint_before_its_template: presence::constraint_first,
            gk_32_the_webhook_is_watched: webhook::watched,
            gk_26_odd_violations: verdicts::odd,
            gk_22_3_no_list_at_all: verdicts::no_list,
            gk_35_the_same_verdict_after_pending: verdicts::again,
            gatekeeper_g10_no_violations_after_some: verdicts::none_after_some,
            gatekeeper_g21_violations_that_are_not_listed: verdicts::not_listed,
            // The last one to start: two audits and their API servers take the processors for minutes.
            gk_160_audit_leaves_the_statuses_of_the_real_gatekeeper: beside::same_statuses,
        ],
    )
}
