//! Inputs of users that once showed a fault, as processes. The cases are in `cli/tests/cases`.

use crate::cases;
use crate::cases::Cases;

const ALL: Cases = Cases {
    of: "cli",
    plain: None,
};

cases! {
    ALL;
    assumed_kinds_are_served => "assume-kinds",
    unknown_actions_are_named => "unknown-action",
    wrong_key_of_a_cluster_is_named => "cluster-typo",
    constraints_of_users => "constraints",
    informing_templates_are_valid => "inform-only",
    dependency_loops_are_named => "dependency-loop",
    empty_lists_are_stored => "empty-list",
    providers_of_external_data_are_given => "external-data",
    explain_evaluates_constraints => "explain-constraints",
    foreign_secrets_are_left_alone => "foreign-encryption-key",
    given_taints_stay => "given-taints",
    odd_names_are_not_found => "odd-names",
    input_without_a_policy_ends_at_once => "once-without-policies",
    errors_of_templates_have_hints => "template-hints",
    terminating_object_is_a_violation => "terminating",
    what_tests_nothing_fails => "tests-nothing",
}
