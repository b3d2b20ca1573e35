//! The propagator on a real hub. Every scenario has a namespace and clusters of its own, so that they
//! play side by side.

mod aggregation;
mod dependencies;
mod enforcement;
mod exclusions;
mod propagation;
mod recovery;
mod rules;
mod set_status;
mod sets;

use std::process::ExitCode;

use reeve_scenarios::{Via, run_on_hubs, scenario};

/// The API of policies and bindings.
pub(crate) const V1: &str = "policy.open-cluster-management.io/v1";
/// The label of replicas.
pub(crate) const ROOT: &str = "policy.open-cluster-management.io/root-policy";

/// Scenarios by name, with what else their functions take.
macro_rules! scenarios {
    ($($name:ident: $play:path $([$($argument:expr),*])?,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world $($(, $argument)*)?)))),*]
    };
}

fn main() -> ExitCode {
    run_on_hubs(scenarios![
        case_e1_disabled_is_told_once: propagation::disabled_once,
        case_e2_replicas_follow_rules: propagation::follows_decisions["case-e2", Via::Rule],
        case_e3_replicas_follow_bindings_to_rules: propagation::follows_bindings["case-e3", Via::Rule],
        case_e7_replicas_follow_the_root: propagation::follows_the_root["case-e7", Via::Rule],
        case_e9_labels_and_annotations: propagation::metadata,
        case_e10_metadata_is_copied_or_not: propagation::copied_or_not,
        case_e11_references_that_do_not_match: aggregation::mismatched,
        case_e12_statuses_follow_rules: aggregation::decisions["case-e12", Via::Rule],
        case_e14_statuses_follow_placements: aggregation::decisions["case-e14", Via::Placement],
        case_e15_compliance_is_added_up: aggregation::compliance,
        case_e16_replicas_are_restored: recovery::reverted,
        case_e17_unexpected_policies: recovery::unexpected,
        case_e17_unexpected_policies_without_rules: recovery::unexpected_without_rules,
        case_e25_replicas_follow_placements: propagation::follows_decisions["case-e25-1", Via::Placement],
        case_e25_replicas_follow_bindings_to_placements: propagation::follows_bindings["case-e25-2", Via::Placement],
        case_e25_replicas_follow_the_root: propagation::follows_the_root["case-e25-3", Via::Placement],
        case_e26_a_namespace_that_ends_and_comes_back: recovery::terminating,
        case_e27_placements_and_rules_at_once: propagation::several,
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
        case_e50_dependencies_on_sets: dependencies::sets["case-e50-1", false],
        case_e50_extra_dependencies_on_sets: dependencies::sets["case-e50-2", true],
        case_e53_enforced_on_some_clusters: enforcement::selective["case-e53-1", Via::Placement],
        case_e53_enforced_on_some_clusters_by_rules: enforcement::selective["case-e53-2", Via::Rule],
        case_e53_what_overrides_what: enforcement::overrides,
        case_e55_a_set_keeps_a_policy_from_a_cluster: exclusions::one,
        case_e56_several_exclusions: exclusions::several,
        case_e57_a_set_with_exclusions_goes: exclusions::set_goes,
        case_e58_excluded_and_bound_directly: exclusions::direct,
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
        rough_edge_17_policies_of_another_hub: recovery::hosted,
        rough_edge_18_a_set_among_replicas: recovery::set_among_replicas,
        rough_edge_26_dependencies_on_policies: dependencies::policies,
    ])
}
