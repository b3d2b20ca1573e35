//! The propagator on a real hub. Every scenario has a namespace and clusters of its own, so that they
//! play side by side.

mod accounts;
mod aggregation;
mod churn;
mod dependencies;
mod enforcement;
mod exclusions;
mod keys;
mod propagation;
mod recovery;
mod rules;
mod secrets;
mod set_status;
mod sets;
mod templates;
mod updates;

use std::process::ExitCode;

use reeve_scenarios::{Hubs, Scenario, SuiteRun, Via, run_on_hubs, scenario};

/// The API of policies and bindings.
pub(crate) const V1: &str = "policy.open-cluster-management.io/v1";
/// The label of replicas.
pub(crate) const ROOT: &str = "policy.open-cluster-management.io/root-policy";

/// The annotation that makes everything be looked at again.
pub(crate) const TRIGGER: &str = "policy.open-cluster-management.io/trigger-update";
/// The annotation with the initialization vector of what is encrypted.
pub(crate) const IV: &str = "policy.open-cluster-management.io/encryption-iv";

/// An action of a hub template.
pub(crate) fn hub(action: &str) -> String {
    format!("{{{{hub {action} hub}}}}")
}

/// Scenarios by name, with what else their functions take.
macro_rules! scenarios {
    ($($name:ident: $play:path $([$($argument:expr),*])?,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world $($(, $argument)*)?)))),*]
    };
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let mut all = cases();
    all.extend(rough_edges());
    run_on_hubs(suite, all)
}

fn cases() -> Vec<Scenario<Hubs>> {
    scenarios![
        prop_81_disabled_is_reported_once: propagation::disabled_once,
        prop_73_replicas_follow_rules: propagation::follows_decisions["case-e2", Via::Rule],
        prop_73_replicas_follow_bindings_to_rules: propagation::follows_bindings["case-e3", Via::Rule],
        prop_80_namespace_is_deleted: recovery::namespace_goes,
        prop_61_replicas_follow_the_root: propagation::follows_the_root["case-e7", Via::Rule],
        prop_95_labels_and_annotations: propagation::metadata,
        prop_95_metadata_is_copied_or_not: propagation::copied_or_not,
        prop_46_references_that_do_not_match: aggregation::mismatched,
        prop_143_statuses_follow_rules: aggregation::decisions["case-e12", Via::Rule],
        prop_143_foreign_status_fields_are_kept: aggregation::others_fields,
        prop_143_statuses_follow_placements: aggregation::decisions["case-e14", Via::Placement],
        prop_147_compliance_is_added_up: aggregation::compliance,
        prop_147_compliance_changes_often: churn::statuses,
        prop_90_recreated_root: churn::made_anew,
        prop_90_replicas_are_restored: recovery::reverted,
        prop_82_namespace_of_removed_cluster: churn::no_cluster_any_more,
        prop_82_unexpected_policies: recovery::unexpected,
        prop_82_unexpected_policies_without_rules: recovery::unexpected_without_rules,
        prop_73_replicas_follow_placements: propagation::follows_decisions["case-e25-1", Via::Placement],
        prop_73_replicas_follow_bindings_to_placements: propagation::follows_bindings["case-e25-2", Via::Placement],
        prop_73_replicas_follow_the_root: propagation::follows_the_root["case-e25-3", Via::Placement],
        prop_73_several_decisions_of_a_placement: churn::several_decisions,
        prop_73_decisions_change_often: churn::decisions["case-e25-often", Via::Placement],
        prop_73_decisions_of_rules_change_often: churn::decisions["case-e2-often", Via::Rule],
        prop_92_updates_while_the_cluster_reports: updates::reported_meanwhile,
        prop_92_finalizers_of_others_stay: updates::finalizers,
        prop_93_namespace_is_deleted_and_recreated: recovery::terminating,
        prop_78_placements_and_rules_at_once: propagation::several,
        prop_99_templates_of_all_sorts: templates::rich_templates,
        prop_99_read_objects_are_created_later: templates::missing_at_first,
        prop_99_lists_that_grow: churn::lists,
        prop_123_secrets_are_encrypted: secrets::from_secrets,
        prop_133_copies_and_protected_values_are_encrypted: secrets::copied_and_protected,
        prop_133_shorter_keys: secrets::shorter_keys,
        prop_103_lookups_that_are_refused: templates::refused,
        prop_104_an_account_with_rights: accounts::own_rights,
        tmpl_15_12_name_without_a_namespace_is_found_in_the_first_by_order: accounts::any_namespace,
        prop_106_an_account_without_rights: accounts::without_rights,
        prop_111_account_created_later: accounts::missing,
        prop_111_recreated_account: accounts::made_anew,
        prop_105_functions_that_are_denied: templates::denied,
        prop_77_replicas_follow_sets_by_rules: sets::follows_sets["case-e38", Via::Rule],
        prop_78_directly_and_through_a_set_by_rules: sets::direct_and_set["case-e39", Via::Rule],
        prop_78_replicas_follow_sets: sets::follows_sets["case-e40-1", Via::Placement],
        prop_78_directly_and_through_a_set: sets::direct_and_set["case-e40-2", Via::Placement],
        prop_77_members_are_added_and_removed: sets::members,
        prop_78_two_sets_two_bindings: sets::two_sets_two_bindings,
        prop_142_two_sets_one_binding: sets::two_sets_one_binding,
        prop_142_subjects_more_than_once: sets::repeated_subjects,
        prop_153_a_set_sums_up_its_members: set_status::follows_members["case-e45-1", Via::Placement],
        prop_153_a_set_sums_up_its_members_by_rules: set_status::follows_members["case-e45-2", Via::Rule],
        prop_154_a_set_knows_its_own_bindings_only: set_status::own_bindings_only,
        prop_152_an_empty_set_reports_nothing: set_status::empty,
        prop_158_everything_a_set_can_miss: set_status::everything_at_once,
        prop_139_an_old_key_is_rotated: keys::rotation,
        prop_98_dependencies_on_sets: dependencies::sets["case-e50-1", false],
        prop_98_extra_dependencies_on_sets: dependencies::sets["case-e50-2", true],
        prop_78_enforced_on_some_clusters: enforcement::selective["case-e53-1", Via::Placement],
        prop_78_enforced_on_some_clusters_by_rules: enforcement::selective["case-e53-2", Via::Rule],
        prop_78_enforced_through_sets: enforcement::through_sets,
        prop_78_precedence_of_overrides: enforcement::overrides,
        prop_77_a_set_keeps_a_policy_from_a_cluster: exclusions::one,
        prop_66_several_exclusions: exclusions::several,
        prop_66_set_with_exclusions_is_deleted: exclusions::set_goes,
        prop_146_excluded_and_bound_directly: exclusions::direct,
        prop_42_names_with_dots: churn::dots,
        prop_137_invalid_keys: keys::invalid,
        prop_131_vector_of_the_root_is_not_used: secrets::vector_of_the_root,
    ]
}

/// What is done better than upstream does it.
fn rough_edges() -> Vec<Scenario<Hubs>> {
    scenarios![
        prop_107_own_case_refusals_are_not_repeated_at_once: accounts::refusals_are_not_repeated_at_once,
        prop_107_own_case_refusals_are_shared_by_replicas: accounts::refusals_are_shared_by_replicas,
        prop_147_clusters_that_are_kept_out_do_not_count: exclusions::counted,
        prop_144_restricted_bindings_add_no_clusters: enforcement::restricted_only,
        prop_146_remaining_bindings_place: enforcement::remaining,
        prop_149_removed_status_is_written_again: aggregation::removed,
        prop_149_nothing_is_written_twice: aggregation::unbound,
        prop_80_changes_at_once: sets::at_once,
        prop_65_objects_created_later: recovery::late,
        prop_75_a_hub_without_rules: rules::unknown,
        prop_74_names_and_namespaces_of_decisions: rules::namespaces,
        prop_63_changes_while_away: sets::while_away,
        prop_155_a_set_publishes_its_bindings_in_order: set_status::in_order,
        prop_71_members_without_binding: set_status::unbound,
        prop_159_a_set_publishes_what_is_new: set_status::reported_on_change,
        prop_89_watches_are_counted_by_object_and_end: templates::watches_end,
        prop_86_policies_of_another_hub: recovery::hosted,
        prop_161_a_set_among_replicas: recovery::set_among_replicas,
        prop_106_rights_are_granted_later: accounts::rights_come_later,
        prop_115_kind_is_defined_later: templates::unknown_kind,
        prop_90_equal_is_not_written: templates::equal,
        prop_98_dependencies_on_policies: dependencies::policies,
        prop_119_templates_fail_by_themselves: templates::each_by_itself,
        prop_101_labels_are_those_of_the_root: templates::labels_of_the_root,
        prop_102_a_cluster_that_is_not_registered: templates::unregistered,
        prop_123_secrets_by_all_read_functions: secrets::all_read_functions,
        prop_123_secrets_that_are_looked_up: secrets::looked_up,
        prop_123_secrets_in_errors: secrets::in_errors,
        prop_123_values_derived_from_secrets: secrets::derived,
        prop_132_a_new_key_a_new_vector: keys::forced,
        prop_100_templates_switched_off: templates::switched_off,
        prop_108_an_account_that_is_not_needed: accounts::unneeded,
        prop_120_errors_are_reported_as_they_are: templates::reported_as_it_is,
        prop_184_every_cluster_is_reported_of: keys::reported_of_each,
        prop_141_a_key_changed_by_hand: keys::by_hand,
        prop_139_empty_key: keys::nothing_in_it,
        prop_130_deleted_key_is_absent_for_seconds_and_then_replaced: keys::deleted,
        prop_130_deleted_key_stays_absent_when_no_replica_needs_it: keys::deleted_unneeded,
    ]
}
