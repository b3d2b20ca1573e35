//! The cases of a `ConfigurationPolicy`, on a real API server with nothing but the controller. A case has
//! the number by which its users know it.

mod events;
mod metadata;
mod pods;
mod several;
mod statuses;

use std::process::ExitCode;

use reeve_scenarios::{run_on_evaluator, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

fn main() -> ExitCode {
    run_on_evaluator(scenarios![
        case1_a_missing_pod_is_reported_then_created: pods::missing,
        case1_fields_that_are_left_open_match: pods::fields_left_open,
        case1_one_port_of_several_is_enough: pods::ports,
        case1_must_not_have_and_must_only_have: pods::must_not_have,
        case1_a_namespace_that_comes_later: pods::namespace_comes_later,
        case1_a_namespace_that_goes: pods::namespace_goes,
        case1_policies_in_the_second_namespace: pods::other_namespace,
        case5_two_templates_and_then_one: several::two_then_one,
        case5_two_templates_of_one_pod: several::one_pod_twice,
        case5_must_have_and_must_only_have_of_one_object: several::have_and_only_have,
        case6_a_namespaced_object_without_a_namespace: several::no_namespace,
        case8_the_status_of_another_policy: statuses::of_a_policy,
        case8_a_status_that_comes_true_later: statuses::of_a_pod,
        case8_defaults_match_after_a_dry_run: statuses::after_dry_run,
        case9_annotations_and_labels: metadata::annotations_and_labels,
        case9_annotations_of_a_namespace: metadata::of_a_namespace,
        case9_metadata_has_a_compliance_type_of_its_own: metadata::own_type,
        case15_always_compliant: events::always_compliant,
        case15_never_compliant: events::never_compliant,
        case15_becomes_compliant: events::becomes_compliant,
        case15_becomes_non_compliant: events::becomes_non_compliant,
        case22_a_container_is_updated_in_place: pods::image,
    ])
}
