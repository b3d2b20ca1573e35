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

use std::process::ExitCode;

use reeve_scenarios::{Hubs, Scenario, Via, run_on_hubs, scenario};

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

fn main() -> ExitCode {
    let mut all = cases();
    all.extend(rough_edges());
    run_on_hubs(all)
}

fn cases() -> Vec<Scenario<Hubs>> {
    scenarios![
        case_e1_disabled_is_told_once: propagation::disabled_once,
        case_e2_replicas_follow_rules: propagation::follows_decisions["case-e2", Via::Rule],
        case_e3_replicas_follow_bindings_to_rules: propagation::follows_bindings["case-e3", Via::Rule],
        case_e6_the_namespace_goes: recovery::namespace_goes,
        case_e7_replicas_follow_the_root: propagation::follows_the_root["case-e7", Via::Rule],
        case_e9_labels_and_annotations: propagation::metadata,
        case_e10_metadata_is_copied_or_not: propagation::copied_or_not,
        case_e11_references_that_do_not_match: aggregation::mismatched,
        case_e12_statuses_follow_rules: aggregation::decisions["case-e12", Via::Rule],
        case_e12_what_others_say_is_kept: aggregation::others_fields,
        case_e14_statuses_follow_placements: aggregation::decisions["case-e14", Via::Placement],
        case_e15_compliance_is_added_up: aggregation::compliance,
        case_e15_compliance_changes_often: churn::statuses,
        case_e16_a_root_made_anew: churn::made_anew,
        case_e16_replicas_are_restored: recovery::reverted,
        case_e17_a_cluster_that_is_none_any_more: churn::no_cluster_any_more,
        case_e17_unexpected_policies: recovery::unexpected,
        case_e17_unexpected_policies_without_rules: recovery::unexpected_without_rules,
        case_e25_replicas_follow_placements: propagation::follows_decisions["case-e25-1", Via::Placement],
        case_e25_replicas_follow_bindings_to_placements: propagation::follows_bindings["case-e25-2", Via::Placement],
        case_e25_replicas_follow_the_root: propagation::follows_the_root["case-e25-3", Via::Placement],
        case_e25_several_decisions_of_a_placement: churn::several_decisions,
        case_e25_decisions_change_often: churn::decisions["case-e25-often", Via::Placement],
        case_e2_decisions_of_rules_change_often: churn::decisions["case-e2-often", Via::Rule],
        case_e26_rough_edge_19_a_namespace_that_ends_and_comes_back: recovery::terminating,
        case_e27_placements_and_rules_at_once: propagation::several,
        case_e29_templates_of_all_sorts: templates::rich_templates,
        case_e29_what_is_read_comes_late: templates::missing_at_first,
        case_e29_lists_that_grow: churn::lists,
        case_e30_secrets_are_encrypted: secrets::from_secrets,
        case_e31_copies_and_protected_values_are_encrypted: secrets::copied_and_protected,
        case_e31_shorter_keys: secrets::shorter_keys,
        case_e32_lookups_that_are_refused: templates::refused,
        case_e33_an_account_with_rights: accounts::own_rights,
        tmpl_15_12_name_without_a_namespace_is_found_in_the_first_by_order: accounts::any_namespace,
        case_e34_an_account_without_rights: accounts::without_rights,
        case_e35_an_account_that_comes_late: accounts::missing,
        case_e35_an_account_made_anew: accounts::made_anew,
        case_e37_functions_that_are_denied: templates::denied,
        case_e38_replicas_follow_sets_by_rules: sets::follows_sets["case-e38", Via::Rule],
        case_e39_directly_and_through_a_set_by_rules: sets::direct_and_set["case-e39", Via::Rule],
        case_e40_replicas_follow_sets: sets::follows_sets["case-e40-1", Via::Placement],
        case_e40_directly_and_through_a_set: sets::direct_and_set["case-e40-2", Via::Placement],
        case_e41_members_come_and_go: sets::members,
        case_e42_two_sets_two_bindings: sets::two_sets_two_bindings,
        case_e43_two_sets_one_binding: sets::two_sets_one_binding,
        case_e44_subjects_more_than_once: sets::repeated_subjects,
        case_e45_a_set_sums_up_its_members: set_status::follows_members["case-e45-1", Via::Placement],
        case_e45_a_set_sums_up_its_members_by_rules: set_status::follows_members["case-e45-2", Via::Rule],
        case_e46_a_set_knows_its_own_bindings_only: set_status::own_bindings_only,
        case_e47_an_empty_set_says_nothing: set_status::empty,
        case_e48_everything_a_set_can_miss: set_status::everything_at_once,
        case_e49_an_old_key_is_rotated: keys::rotation,
        case_e50_dependencies_on_sets: dependencies::sets["case-e50-1", false],
        case_e50_extra_dependencies_on_sets: dependencies::sets["case-e50-2", true],
        case_e53_enforced_on_some_clusters: enforcement::selective["case-e53-1", Via::Placement],
        case_e53_enforced_on_some_clusters_by_rules: enforcement::selective["case-e53-2", Via::Rule],
        case_e53_enforced_through_sets: enforcement::through_sets,
        case_e53_what_overrides_what: enforcement::overrides,
        case_e55_a_set_keeps_a_policy_from_a_cluster: exclusions::one,
        case_e56_several_exclusions: exclusions::several,
        case_e57_a_set_with_exclusions_goes: exclusions::set_goes,
        case_e58_excluded_and_bound_directly: exclusions::direct,
        case_u14_names_with_dots: churn::dots,
        case_u24_keys_that_are_none: keys::invalid,
        case_u29_a_vector_of_the_root: secrets::vector_of_the_root,
    ]
}

/// What is done better than upstream does it.
fn rough_edges() -> Vec<Scenario<Hubs>> {
    scenarios![
        own_case_refusals_are_not_repeated_at_once: accounts::refusals_are_not_repeated_at_once,
        own_case_refusals_are_shared_by_replicas: accounts::refusals_are_shared_by_replicas,
        rough_edge_01_clusters_that_are_kept_out_do_not_count: exclusions::counted,
        rough_edge_02_restricted_bindings_add_no_clusters: enforcement::restricted_only,
        rough_edge_03_what_remains_places: enforcement::remaining,
        rough_edge_04_nothing_is_written_twice: aggregation::unbound,
        rough_edge_05_changes_at_once: sets::at_once,
        rough_edge_06_what_comes_late: recovery::late,
        rough_edge_08_a_hub_without_rules: rules::unknown,
        rough_edge_09_names_and_namespaces_of_decisions: rules::namespaces,
        rough_edge_12_changes_while_away: sets::while_away,
        rough_edge_13_a_set_tells_its_bindings_in_order: set_status::in_order,
        rough_edge_14_members_that_nobody_binds: set_status::unbound,
        rough_edge_15_a_set_tells_what_is_new: set_status::told_on_change,
        rough_edge_16_watches_are_counted_by_object_and_end: templates::watches_end,
        rough_edge_17_policies_of_another_hub: recovery::hosted,
        rough_edge_18_a_set_among_replicas: recovery::set_among_replicas,
        rough_edge_20_rights_come_later: accounts::rights_come_later,
        rough_edge_21_a_kind_comes_later: templates::unknown_kind,
        rough_edge_25_equal_is_not_written: templates::equal,
        rough_edge_26_dependencies_on_policies: dependencies::policies,
        rough_edge_29_templates_fail_by_themselves: templates::each_by_itself,
        rough_edge_31_labels_are_those_of_the_root: templates::labels_of_the_root,
        rough_edge_32_a_cluster_that_is_not_registered: templates::unregistered,
        rough_edge_33_secrets_however_asked_for: secrets::however_asked,
        rough_edge_33_secrets_that_are_looked_up: secrets::looked_up,
        rough_edge_33_secrets_in_errors: secrets::in_errors,
        rough_edge_33_what_is_computed_from_secrets: secrets::derived,
        rough_edge_34_42_a_new_key_a_new_vector: keys::forced,
        rough_edge_35_templates_switched_off: templates::switched_off,
        rough_edge_36_an_account_that_is_not_needed: accounts::unneeded,
        rough_edge_39_errors_are_told_as_they_are: templates::told_as_it_is,
        rough_edge_40_every_cluster_is_told_of: keys::told_of_each,
        rough_edge_43_a_key_changed_by_hand: keys::by_hand,
        rough_edge_44_a_key_with_nothing_in_it: keys::nothing_in_it,
        rough_edge_46_deleted_key_is_absent_for_seconds_and_then_replaced: keys::deleted,
        rough_edge_46_deleted_key_stays_absent_when_no_replica_needs_it: keys::deleted_unneeded,
    ]
}
