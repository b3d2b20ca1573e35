//! Automations on a real hub: jobs for Ansible when policies are violated. Nothing runs the jobs. Every scenario has a
//! namespace and clusters of its own.

mod edges;
mod failures;
mod harness;
mod manual;
mod modes;

use std::process::ExitCode;

use reeve_scenarios::{SuiteRun, run_on_job_hub, scenario};

/// Scenarios by name.
macro_rules! scenarios {
    ($($name:ident: $play:path,)*) => {
        vec![$(scenario(stringify!($name), |world| Box::pin($play(world)))),*]
    };
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_job_hub(
        suite,
        scenarios![
            prop_167_a_disabled_automation_does_nothing: modes::disabled,
            prop_168_once_is_once: modes::once,
            prop_168_the_first_violation_starts_the_job: modes::first_of_several,
            prop_169_every_event_starts_a_job: modes::every_event,
            prop_169_events_within_the_delay_wait: modes::delayed,
            prop_169_events_within_the_delay_start_a_job_after_it: modes::after_the_delay,
            prop_166_a_run_by_hand: manual::violated_and_not,
            prop_166_a_run_by_hand_of_a_disabled_policy: manual::disabled_policy,
            prop_164_automation_is_deleted_with_policy: manual::goes_with_the_policy,
            prop_162_all_automations_of_a_policy_run: edges::several,
            prop_171_failed_status_write_starts_no_second_job: failures::status_refused,
            prop_171_once_is_once_whatever_can_be_written: failures::mode_refused,
            prop_171_an_event_while_nothing_can_be_written_counts: failures::event_meanwhile,
            prop_171_an_edit_while_nothing_can_be_written_repeats_nothing: failures::edited_meanwhile,
            prop_169_events_within_a_second_count_and_targets_are_in_order: edges::within_a_second,
            prop_48_limits_of_any_size: edges::limits,
            prop_164_owners_of_others_stay: edges::owners_of_others,
            prop_175_long_names: edges::long_names,
            prop_164_a_policy_that_comes_late: edges::late_policy,
        ],
    )
}
