//! Gatekeeper's policies through the addon. Most scenarios play Gatekeeper by a script, which is fast and exact; some
//! have the real one. Every scenario has kinds of its own, so that they play side by side.

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

use reeve_scenarios::{run_on_guarded, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

fn main() -> ExitCode {
    run_on_guarded(scenarios![
        case_c17a_two_policies_share_a_template: flows::shared,
        case_c17b_violations_are_told_in_one_message: flows::violations,
        case_c17c_enforced_constraints_deny: flows::enforced,
        case_c17d_templates_are_added_and_removed: flows::added_and_removed,
        case_c17e_what_gatekeeper_notes_fills_no_history: flows::notes,
        case_c17f_a_dependency_on_a_template: dependencies::template,
        case_c17g_a_dependency_on_a_constraint: dependencies::constraint,
        case_c17h_a_broken_template: broken::template,
        case_c17i_a_disabled_webhook: webhook::disabled,
        case_c17j_gatekeeper_is_reinstalled_and_rough_edge_33: presence::comes_and_goes,
        case_c17k_the_real_gatekeeper_audits_and_denies: process::audits,
        case_c17l_the_real_gatekeeper_finds_a_mistake: process::mistake,
        case_c17m_what_is_said_is_an_event_of_the_relay: flows::events,
        case_c17n_a_restart_tells_nothing_twice: presence::restarts,
        case_c17o_the_hub_itself_has_gatekeeper: presence::on_hub,
        case_c17p_a_constraint_of_another_policy: ownership::of_another_policy,
        case_c17q_the_shipped_rights_suffice: rights::suffice,
        case_c18_an_uninstallation_with_constraints: uninstall::lets_go,
        case_c19_without_the_integration: disabled::refused,
        guide_labels_of_namespaces: process::guide,
        rough_edge_02_a_foreign_template_survives: ownership::foreign,
        rough_edge_03a_another_kind_of_the_same_name: ownership::other_kind,
        rough_edge_03b_equally_named_policies_of_two_addons: ownership::two_addons,
        rough_edge_05a_a_failed_update_keeps_the_finalizer: ownership::failed_update,
        rough_edge_05b_the_finalizer_comes_first: ownership::finalizer_first,
        rough_edge_21a_a_template_that_is_not_read_yet: broken::not_yet,
        rough_edge_21b_a_template_that_is_never_read: broken::never,
        rough_edge_21c_a_foreign_template_does_not_flip: broken::foreign,
        rough_edge_21d_a_template_that_is_about_to_be_read: broken::hesitant,
        rough_edge_33_a_constraint_before_its_template: presence::constraint_first,
        rough_edge_37_the_webhook_is_watched: webhook::watched,
        rough_edge_38a_odd_violations: verdicts::odd,
        rough_edge_38b_no_list_at_all: verdicts::no_list,
        rough_edge_39_the_same_verdict_after_pending: verdicts::again,
        gatekeeper_g10_no_violations_after_some: verdicts::none_after_some,
        gatekeeper_g21_violations_that_are_not_listed: verdicts::not_listed,
    ])
}
