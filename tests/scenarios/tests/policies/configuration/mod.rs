//! The cases of a `ConfigurationPolicy`, on a real API server with nothing but the controller. A case has
//! the number by which its users know it.

mod absences;
mod diffs;
mod edges;
mod encryption;
mod events;
mod fields;
mod intervals;
mod kinds;
mod lists;
mod metadata;
mod namespaces;
mod pods;
mod pruning;
mod rates;
mod raw;
mod recreation;
mod selection;
mod several;
mod statuses;
mod templates;
mod variables;
mod words;

use std::process::ExitCode;

use reeve_scenarios::{Evaluator, Scenario, SuiteRun, run_on_evaluator, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_evaluator(
        suite,
        [cases_1_to_19(), cases_20_to_47(), rough_edges()]
            .into_iter()
            .flatten()
            .collect(),
    )
}

/// The first cases.
fn cases_1_to_19() -> Vec<Scenario<Evaluator>> {
    scenarios![
        case1_a_missing_pod_is_reported_then_created: pods::missing,
        case1_fields_that_are_left_open_match: pods::fields_left_open,
        case1_one_port_of_several_is_enough: pods::ports,
        case1_must_not_have_and_must_only_have: pods::must_not_have,
        case1_namespace_created_later: pods::namespace_comes_later,
        case1_namespace_deleted: pods::namespace_goes,
        case1_policies_in_the_second_namespace: pods::other_namespace,
        case2_roles: kinds::roles,
        case2_a_role_binding_without_subjects: kinds::role_binding,
        case3_missing_kinds: kinds::missing_kinds,
        case4_a_kind_without_namespaces: kinds::cluster_version,
        case5_two_templates_and_then_one: several::two_then_one,
        case5_two_templates_of_one_pod: several::one_pod_twice,
        case5_must_have_and_must_only_have_of_one_object: several::have_and_only_have,
        case6_a_namespaced_object_without_a_namespace: several::no_namespace,
        case7_a_kind_without_a_spec: kinds::no_spec,
        case8_the_status_of_another_policy: statuses::of_a_policy,
        case8_status_matches_later: statuses::of_a_pod,
        case8_defaults_match_after_a_dry_run: statuses::after_dry_run,
        case9_annotations_and_labels: metadata::annotations_and_labels,
        case9_annotations_of_a_namespace: metadata::of_a_namespace,
        case9_metadata_has_a_compliance_type_of_its_own: metadata::own_type,
        case11_values_that_the_api_server_refuses: kinds::api_server,
        case12_containers_of_one_name_are_one: lists::containers,
        case12_rules_of_a_role: lists::rules,
        case12_an_empty_list_that_is_filled: lists::empty_then_filled,
        case12_a_list_of_one_item: lists::single_item,
        case12_whitespace_around_a_value: lists::whitespace,
        case12_quantities_are_compared_by_value: lists::quantities,
        case13_secrets_are_copied: templates::secrets,
        case13_names_from_claims_and_config_maps: templates::names,
        case13_a_bad_template_leaves_the_others_alone: templates::bad_templates,
        case13_changed_lookup_is_reevaluated: templates::follows,
        tmpl_15_12_name_without_a_namespace_is_found_in_the_first_by_order: templates::any_namespace,
        case13_a_template_error_prunes_nothing: templates::error_keeps_objects,
        case13_environment_is_not_readable: templates::denied,
        case14_named_and_unnamed_objects: namespaces::named_and_unnamed,
        case15_always_compliant: events::always_compliant,
        case15_never_compliant: events::never_compliant,
        case15_becomes_compliant: events::becomes_compliant,
        case15_becomes_non_compliant: events::becomes_non_compliant,
        case16_encrypted_values: encryption::decryption,
        case17_an_interval_reports_nothing_twice: intervals::duration,
        case17_never_again_while_compliant: intervals::never,
        case17_never_again_while_non_compliant: intervals::never_while_non_compliant,
        case19_no_selector_and_no_namespace: namespaces::no_selector,
        case19_selectors_and_their_results: namespaces::results,
        case19_created_and_deleted_namespaces: namespaces::behaviour,
    ]
}

/// The other cases.
fn cases_20_to_47() -> Vec<Scenario<Evaluator>> {
    scenarios![
        case20_related_objects_have_created_by_policy: pruning::related,
        case20_inform_never_prunes: pruning::inform_keeps,
        case20_delete_if_created: pruning::if_created,
        case20_delete_all: pruning::all,
        case20_a_finalizer_holds_the_policy: pruning::held_by_a_finalizer,
        case20_the_remediation_action_changes: pruning::action_changes,
        case20_deleted_object_is_recreated: pruning::deleted_by_hand,
        case20_kind_is_unknown: pruning::unknown_kind,
        case20_another_name_and_another_namespace: pruning::renamed,
        case20_from_must_have_to_must_not_have: pruning::turned_around,
        case20_none_keeps_objects_and_desired_objects_are_not_pruned: pruning::none_keeps,
        case22_a_container_is_updated_in_place: pods::image,
        case23_an_unknown_field_is_observed_once: fields::unknown_field,
        case23_partial_status_does_not_block_update: fields::partial_status,
        case26_errors_of_users_are_counted: kinds::user_errors,
        case27_an_update_is_reported: fields::updated,
        case28_metrics_exist_as_long_as_policy: rates::metrics,
        case30_a_range_makes_templates: raw::range,
        case30_raw_text_without_a_template: raw::without_a_template,
        case30_errors: raw::errors,
        case30_an_empty_result: raw::empty,
        case31_zero_values_do_not_flap: fields::zero_values,
        case31_long_messages_are_cut: fields::long_messages,
        case32_string_data_is_written_once: fields::string_data,
        case33_an_empty_label_is_added: fields::empty_label,
        case34_status_never_set: diffs::status_on_creation,
        case34_status_set_later: diffs::status_that_comes,
        case35_neither_version_nor_kind: kinds::no_api_version,
        case36_empty_maps: fields::empty_maps,
        case39_diffs_in_log_and_status: diffs::recorded,
        case39_diffs_of_secrets_are_censored: diffs::censored,
        case40_an_immutable_field: recreation::immutable,
        case40_an_object_that_the_policy_created: recreation::created_by_the_policy,
        case40_a_finalizer_holds_the_object: recreation::held,
        case41_unparsable_custom_message: words::unparsable,
        case41_the_default_message: words::default_message,
        case41_related_objects: words::related_objects,
        case41_whole_objects_while_watching: words::whole_objects,
        case41_the_diff: words::diff,
        case42_selectors_and_their_results: selection::results,
        case42_invalid_selectors: selection::bad_selectors,
        case42_created_and_deleted_objects: selection::behaviour,
        case42_when_it_is_evaluated: selection::evaluations,
        case42_must_not_have_takes_full_matches: selection::must_not_have,
        case44_the_namespace_of_the_object: variables::namespace_variable,
        case44_the_name_of_the_object: variables::name_variable,
        case44_object_without_name: variables::name_left_open,
        case44_errors: variables::errors,
        case44_all_objects_are_skipped: variables::all_skipped,
        case44_the_object_itself: variables::object_variable,
        case45a_zero_values_are_persisted: fields::zero_values_persist,
        case45b_a_kind_that_cannot_be_watched: rates::unwatchable,
        case47_a_storm_of_changes: rates::storm,
    ]
}

/// Where upstream's controller behaves worse, named after the rule.
fn rough_edges() -> Vec<Scenario<Evaluator>> {
    scenarios![
        cfg_176_absent_fields: absences::decided_by_the_api_server,
        cfg_40_3_from_polling_to_watching: intervals::from_polling_to_watching,
        cfg_53_2_unrelated_object_is_not_pruned: edges::unrelated_object,
        cfg_82_must_not_have_names_all: selection::must_not_have_names_all,
        cfg_97_an_unwatchable_kind_is_not_absent: rates::unlisted,
        cfg_80_a_templated_name_in_several_namespaces: edges::templated_name,
        cfg_102_last_applied_annotation_survives: edges::last_applied,
        cfg_103_a_status_is_never_written: edges::status_is_not_written,
        cfg_73_invalid_raw_items: edges::raw_nonsense,
        cfg_56_failed_prune_is_retried: edges::failed_prune,
        cfg_93_a_failed_creation_is_no_creation: edges::failed_creation,
        cfg_33_6_a_rotated_key_is_noticed: encryption::rotation_is_noticed,
        cfg_157_events_of_the_policy_are_verbatim: edges::own_events,
        cfg_173_a_kind_that_is_removed: edges::removed_kind,
        cfg_166_terminating_namespace: namespaces::terminating,
        interval_without_meaning_evaluates_at_every_change: intervals::nonsense,
    ]
}
