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

use reeve_scenarios::{Agents, Mode, Scenario, SuiteRun, run_on_agents, scenario};

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

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let mut all = syncing();
    all.extend(templating());
    all.extend(elsewhere());
    run_on_agents(suite, all)
}

fn syncing() -> Vec<Scenario<Agents>> {
    in_both_modes![
        fwk_42_changes_of_the_copy_are_reverted: specs::reverted,
        fwk_42_a_deleted_copy_is_made_again: specs::recreated,
        fwk_42_foreign_status_writes_are_reverted: specs::status_reverted,
        fwk_42_the_copy_follows_the_hub: specs::follows,
        fwk_42_specs_are_copied_word_for_word: specs::verbatim,
        fwk_50_the_key_is_copied: secrets::follows,
        fwk_45_a_refused_update_is_tried_again: specs::refused_update,
        fwk_46_labels_follow_and_finalizers_do_not: specs::labels,
        fwk_45_concurrent_writes_are_retried: specs::others_write,
        fwk_36_statuses_follow_events: statuses::follows_events,
        fwk_36_a_cleared_status_on_the_hub_is_restored: statuses::hub_restored,
        fwk_36_history_is_at_most_ten: statuses::ten_at_most,
        fwk_36_events_of_unknown_templates_are_ignored: statuses::unknown_template,
        fwk_36_all_templates_must_answer: statuses::all_must_answer,
        fwk_36_removed_templates_are_forgotten: statuses::removed_template,
        fwk_62_histories_are_merged: statuses::merges,
        fwk_62_history_entries_have_the_names_of_events: statuses::event_names_of_history,
        fwk_38_messages_are_cleaned_and_read: statuses::messages,
        fwk_63_several_events_in_one_second: statuses::same_second,
        fwk_64_a_removed_violation_counts_no_more: statuses::not_sticky,
        fwk_63_events_that_are_counted_up: statuses::counted_up,
        fwk_63_equal_times_do_not_flap: statuses::no_flapping,
        fwk_40_events_without_last_timestamp: statuses::without_last_timestamp,
        fwk_24_an_undecodable_template_is_counted: metrics::decode_error,
        fwk_103_8_an_invalid_spec_is_the_users_error: metrics::invalid_spec,
    ]
}

fn templating() -> Vec<Scenario<Agents>> {
    in_both_modes![
        fwk_81_objects_equal_their_templates: templates::created,
        fwk_81_the_parents_action_overrides: templates::parent_overrides,
        fwk_103_without_the_parents_action_the_own_one_stays: templates::no_parent_action,
        fwk_114_a_renamed_template_is_another_object: templates::renamed,
        fwk_114_the_parent_label_is_restored: templates::label_restored,
        fwk_88_the_owner_is_restored: templates::owner_restored,
        fwk_83_5_inform_only: templates::inform_only,
        fwk_79_foreign_objects_are_not_changed: templates::others_objects,
        fwk_120_the_finalizer_spares_the_objects_of_others: templates::finalizer_spares_others,
        fwk_114_an_object_of_the_former_kind_is_removed: templates::kind_changes,
        fwk_114_object_is_kept_when_the_kind_of_its_template_becomes_unknown: templates::kind_becomes_unknown,
        fwk_117_no_templates_no_objects: templates::emptied,
        fwk_118_the_finalizer_stays_while_an_object_is_left: templates::finalizer_stays,
        fwk_118_a_name_too_long_for_a_label: templates::long_name,
        fwk_75_duplicate_names_do_not_hinder_deletion: templates::deleted_with_duplicates,
        fwk_115_an_unreadable_template_keeps_its_object: templates::unreadable_is_kept,
        fwk_29_cleanup_uses_a_served_version: templates::version_not_served,
        fwk_103_names_must_be_unique: errors::duplicates,
        fwk_103_a_kind_is_missing: errors::undecodable,
        fwk_103_a_name_is_missing: errors::nameless,
        fwk_103_a_kind_is_unknown: errors::unknown_kind,
        fwk_103_a_name_is_invalid: errors::invalid_name,
        fwk_103_a_kind_is_not_supported: errors::unsupported,
        fwk_103_another_policy_has_the_object: errors::taken,
        fwk_103_object_without_owner: errors::without_owner,
        fwk_103_others_are_made_around_an_error: errors::middle,
        fwk_103_compliance_is_reported_again_after_an_error: errors::retried,
        fwk_103_an_error_of_hub_templates: errors::hub_error,
        fwk_103_an_error_of_hub_templates_prunes_nothing: errors::hub_error_prunes_nothing,
        fwk_103_pending_comes_before_errors_of_hub_templates: dependencies::before_hub_error,
        fwk_103_rejected_specs: errors::refused_specs,
        fwk_103_rejected_updates: errors::refused_update,
        fwk_103_no_templates_no_error: errors::empty,
        fwk_103_2_a_nested_kind_is_none: errors::nested_kind,
        fwk_103_2_raw_templates_are_good: errors::raw_is_good,
        fwk_58_a_conflict_is_reported_under_the_templates_name: errors::conflicting,
        fwk_77_a_template_without_a_version: errors::no_version,
        fwk_77_a_list_is_no_template: errors::list,
        fwk_102_templates_in_another_order: errors::reordered,
        fwk_34_long_texts_are_reported: errors::long_texts,
        fwk_34_different_texts_are_different_events: errors::not_folded,
        fwk_94_templates_wait_for_dependencies: dependencies::waits,
        fwk_97_later_policies_change_the_reason: dependencies::policy_of_the_dependency_comes_later,
        fwk_94_pending_can_be_ignored: dependencies::ignored,
        fwk_94_an_unknown_group_is_waited_for: dependencies::unknown_group,
        fwk_94_dependencies_of_both_levels: dependencies::both_levels,
        fwk_94_dependencies_of_each_template: dependencies::of_each,
        fwk_94_late_report_does_not_win: dependencies::late_report,
        fwk_94_report_with_future_time_does_not_win: dependencies::report_with_future_time,
        fwk_94_a_template_may_wait_for_its_sibling: dependencies::sibling,
        fwk_93_namespaces_of_dependencies: dependencies::namespaces,
        fwk_95_pending_template_prunes_its_objects: dependencies::prunes,
        fwk_98_pending_is_reported_after_failed_reports: dependencies::reported_in_the_end,
        fwk_26_watched_objects_are_not_read: dependencies::at_rest,
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
        fwk_23_3_reconciles_are_counted_from_the_start: metrics::reconciles[Mode::Default, &ALL],
        fwk_23_3_reconciles_are_counted_from_the_start_hosted: metrics::reconciles[Mode::Hosted, &ALL],
        fwk_23_3_reconciles_are_counted_from_the_start_on_hub: metrics::reconciles[Mode::OnHub, &ALL[2..]],
        fwk_106_gatekeeper_is_disabled: gatekeeper_disabled::reported[Mode::NoGatekeeper],
        fwk_106_gatekeeper_is_disabled_hosted: gatekeeper_disabled::reported[Mode::Hosted],
        fwk_114_add_ons_of_one_cluster_spare_each_others_objects: templates::equal_names,
        gk_11_3_a_kind_that_arrives_late: dependencies::kind_arrives,
        fwk_27_undiscoverable_group: dependencies::undiscoverable_group,
        fwk_123_an_uninstallation_removes_the_policies: uninstall::triggered,
        fwk_123_an_uninstallation_gives_up_in_time: uninstall::gives_up,
        fwk_123_wrong_flags_of_an_uninstallation: uninstall::wrong,
        fwk_123_a_restart_does_not_end_an_uninstallation: uninstall::restarted,
        fwk_123_cancelled_uninstall: uninstall::left_again,
        on_hub_3_leaves_its_own_key_alone: secrets::own_is_left_alone,
        on_hub_1_works_locally: on_hub::works_locally,
        on_hub_2_asks_no_hub: on_hub::reads_no_hub,
        fwk_36_statuses_follow_events_on_hub: statuses::follows_events[Mode::OnHub],
        fwk_62_histories_are_merged_on_hub: statuses::merges[Mode::OnHub],
        fwk_94_templates_wait_for_dependencies_on_hub: dependencies::waits[Mode::OnHub],
        fwk_88_the_owner_is_restored_on_hub: templates::owner_restored[Mode::OnHub],
    ]
}
