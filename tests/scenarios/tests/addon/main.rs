//! The framework add-on between a hub and a managed cluster, in every mode. Every scenario has policies of its
//! own, so that they play side by side.

mod dependencies;
mod errors;
mod gatekeeper_disabled;
mod metrics;
mod on_hub;
mod secrets;
mod specs;
mod statuses;
mod templates;
mod uninstall;

use std::process::ExitCode;

use reeve_scenarios::{Agents, Mode, Scenario, run_on_agents, scenario};

/// Scenarios by name that are played in the default mode and, as `<name>_hosted`, in the hosted one.
macro_rules! in_both_modes {
    ($($name:ident: $play:path,)*) => {
        vec![$(
            scenario(stringify!($name), |world| Box::pin($play(world, Mode::Default))),
            scenario(concat!(stringify!($name), "_hosted"), |world| Box::pin($play(world, Mode::Hosted))),
        )*]
    };
}

/// Scenarios by name, with what else their functions take.
macro_rules! scenarios {
    ($($name:ident: $play:path $([$($argument:expr),*])?,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world $($(, $argument)*)?)))),*]
    };
}

fn main() -> ExitCode {
    let mut all = syncing();
    all.extend(templating());
    all.extend(elsewhere());
    run_on_agents(all)
}

fn syncing() -> Vec<Scenario<Agents>> {
    in_both_modes![
        case_c01_changes_of_the_copy_are_reverted: specs::reverted,
        case_c01_a_deleted_copy_is_made_again: specs::recreated,
        case_c01_statuses_that_others_write_are_reverted: specs::status_reverted,
        case_c07_the_copy_follows_the_hub: specs::follows,
        case_c07_specs_are_copied_word_for_word: specs::verbatim,
        case_c08_u4_rough_edge_26_the_key_is_copied: secrets::follows,
        rough_edge_24_a_refused_update_is_tried_again: specs::refused_update,
        rough_edge_25_labels_follow_and_finalizers_do_not: specs::labels,
        rough_edge_30_others_may_write_at_the_same_time: specs::others_write,
        case_c02_statuses_follow_events: statuses::follows_events,
        case_c02_a_cleared_status_on_the_hub_is_restored: statuses::hub_restored,
        case_c02_history_is_at_most_ten: statuses::ten_at_most,
        case_c03_events_of_unknown_templates_count_for_nothing: statuses::unknown_template,
        case_c03_all_templates_must_answer: statuses::all_must_answer,
        case_c03_removed_templates_are_forgotten: statuses::removed_template,
        case_c04_histories_are_merged: statuses::merges,
        case_c04_history_entries_have_the_names_of_events: statuses::event_names_of_history,
        case_c06_messages_are_cleaned_and_read: statuses::messages,
        case_c11_several_events_in_one_second: statuses::same_second,
        rough_edge_13_a_removed_violation_counts_no_more: statuses::not_sticky,
        rough_edge_14_events_that_are_counted_up: statuses::counted_up,
        rough_edge_16_equal_times_do_not_flap: statuses::no_flapping,
        rough_edge_22_events_without_last_timestamp: statuses::without_last_timestamp,
        case_c14_an_undecodable_template_is_counted: metrics::decode_error,
        case_c21_an_invalid_spec_is_the_users_error: metrics::invalid_spec,
    ]
}

fn templating() -> Vec<Scenario<Agents>> {
    in_both_modes![
        case_c09_objects_are_made_as_templates_say: templates::created,
        case_c09_the_parents_action_overrides: templates::parent_overrides,
        case_c10_without_the_parents_action_the_own_one_stays: templates::no_parent_action,
        case_c15_a_renamed_template_is_another_object: templates::renamed,
        case_c15_the_parent_label_is_restored: templates::label_restored,
        case_c16_the_owner_is_restored: templates::owner_restored,
        case_c20_inform_only: templates::inform_only,
        rough_edge_01_the_objects_of_others_are_left_alone: templates::others_objects,
        rough_edge_02_the_finalizer_spares_the_objects_of_others: templates::finalizer_spares_others,
        rough_edge_03_an_object_of_the_former_kind_is_removed: templates::kind_changes,
        rough_edge_03_object_is_kept_when_the_kind_of_its_template_becomes_unknown: templates::kind_becomes_unknown,
        rough_edge_04_no_templates_no_objects: templates::emptied,
        rough_edge_05_the_finalizer_stays_while_an_object_is_left: templates::finalizer_stays,
        rough_edge_05_a_name_too_long_for_a_label: templates::long_name,
        rough_edge_06_duplicate_names_do_not_hinder_deletion: templates::deleted_with_duplicates,
        rough_edge_07_an_unreadable_template_keeps_its_object: templates::unreadable_is_kept,
        rough_edge_35_cleanup_uses_a_served_version: templates::version_not_served,
        case_c10_names_must_be_unique: errors::duplicates,
        case_c10_a_kind_is_missing: errors::undecodable,
        case_c10_rough_edge_09_a_name_is_missing: errors::nameless,
        case_c10_a_kind_is_unknown: errors::unknown_kind,
        case_c10_a_name_is_invalid: errors::invalid_name,
        case_c10_rough_edge_10_a_kind_is_not_supported: errors::unsupported,
        case_c10_another_policy_has_the_object: errors::taken,
        case_c10_nobody_has_the_object: errors::taken_by_nobody,
        case_c10_others_are_made_around_an_error: errors::middle,
        case_c10_an_answer_is_asked_for_again_after_an_error: errors::asked_again,
        case_c10_an_error_of_hub_templates: errors::hub_error,
        case_c10_an_error_of_hub_templates_prunes_nothing: errors::hub_error_prunes_nothing,
        case_c10_pending_comes_before_errors_of_hub_templates: dependencies::before_hub_error,
        case_c10_specs_that_the_server_refuses: errors::refused_specs,
        case_c10_updates_that_the_server_refuses: errors::refused_update,
        case_c10_no_templates_no_error: errors::empty,
        case_c22_a_nested_kind_is_none: errors::nested_kind,
        case_c22_raw_templates_are_good: errors::raw_is_good,
        rough_edge_09_a_conflict_is_told_under_the_templates_name: errors::conflicting,
        rough_edge_11_a_template_without_a_version: errors::no_version,
        rough_edge_12_a_list_is_no_template: errors::list,
        rough_edge_18_templates_in_another_order: errors::reordered,
        rough_edge_20_long_texts_are_told: errors::long_texts,
        rough_edge_20_different_texts_are_different_events: errors::not_folded,
        case_c12_templates_wait_for_dependencies: dependencies::waits,
        case_c12_pending_can_be_ignored: dependencies::ignored,
        case_c12_an_unknown_group_is_waited_for: dependencies::unknown_group,
        case_c12_dependencies_of_both_levels: dependencies::both_levels,
        case_c12_dependencies_of_each_template: dependencies::of_each,
        case_c12_a_late_answer_does_not_win: dependencies::last_word,
        case_c12_an_answer_from_the_future_does_not_win: dependencies::word_from_the_future,
        case_c12_a_template_may_wait_for_its_sibling: dependencies::sibling,
        case_u8_namespaces_of_dependencies: dependencies::namespaces,
        rough_edge_08_what_waits_is_pruned_as_it_says: dependencies::prunes,
        rough_edge_23_what_waits_is_told_in_the_end: dependencies::told_in_the_end,
        rough_edge_31_what_is_watched_is_not_read: dependencies::at_rest,
    ]
}

fn elsewhere() -> Vec<Scenario<Agents>> {
    const ALL: [&str; 4] = [
        "secret-sync",
        "policy-spec-sync",
        "policy-status-sync",
        "policy-template-sync",
    ];
    scenarios![
        case_c13_reconciles_are_counted_from_the_start: metrics::reconciles[Mode::Default, &ALL],
        case_c13_reconciles_are_counted_from_the_start_hosted: metrics::reconciles[Mode::Hosted, &ALL],
        case_c13_reconciles_are_counted_from_the_start_on_hub: metrics::reconciles[Mode::OnHub, &ALL[2..]],
        case_c19_gatekeeper_is_disabled: gatekeeper_disabled::told[Mode::NoGatekeeper],
        case_c19_gatekeeper_is_disabled_hosted: gatekeeper_disabled::told[Mode::Hosted],
        rough_edge_03_add_ons_of_one_cluster_spare_each_others_objects: templates::equal_names,
        rough_edge_32_33_a_kind_that_arrives_late: dependencies::kind_arrives,
        rough_edge_34_a_group_that_cannot_be_asked_about: dependencies::group_cannot_be_asked,
        case_c18_an_uninstallation_removes_the_policies: uninstall::triggered,
        case_c18_an_uninstallation_gives_up_in_time: uninstall::gives_up,
        case_c18_wrong_flags_of_an_uninstallation: uninstall::wrong,
        case_c18_a_restart_does_not_end_an_uninstallation: uninstall::restarted,
        rough_edge_44_an_uninstallation_that_is_called_off: uninstall::left_again,
        on_hub_3_leaves_its_own_key_alone: secrets::own_is_left_alone,
        on_hub_1_works_locally: on_hub::works_locally,
        on_hub_2_asks_no_hub: on_hub::asks_no_hub,
        case_c02_statuses_follow_events_on_hub: statuses::follows_events[Mode::OnHub],
        case_c04_histories_are_merged_on_hub: statuses::merges[Mode::OnHub],
        case_c12_templates_wait_for_dependencies_on_hub: dependencies::waits[Mode::OnHub],
        case_c16_the_owner_is_restored_on_hub: templates::owner_restored[Mode::OnHub],
    ]
}
