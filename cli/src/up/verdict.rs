//! Whether a fleet has come to what the user asked for.

use std::time::Duration;

use clap::ValueEnum;
use reeve_report::{Entry, FailOn, Report, State};

use super::messages;

/// While a controller fails again and again, a state that has not changed for so long is taken for final.
pub(super) const GRACE: Duration = Duration::from_secs(4);

/// What may be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wait {
    /// Every policy is Compliant on every cluster that it is bound to, and bound to one at least. Ends early when that
    /// cannot change any more.
    Compliant,
    /// Every policy has an answer from every cluster that it is bound to, whatever it is.
    Evaluated,
}

/// Whether the user's question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As asked.
    Reached,
    /// It is not, and will not be.
    Failed,
}

/// What is asked of a fleet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) wait: Option<Wait>,
    pub(super) fail_on: Option<FailOn>,
}

impl Question {
    /// The verdict on a report of a settled fleet, if there is one.
    pub(super) fn verdict(
        self,
        report: &Report,
        is_failing: bool,
        is_final: bool,
    ) -> Option<Verdict> {
        if report.entries.is_empty() {
            return None;
        }
        if self.wait == Some(Wait::Evaluated) && self.fail_on.is_none() {
            let verdict = if waiting(report, Wait::Evaluated).is_empty() {
                Verdict::Reached
            } else {
                Verdict::Failed
            };
            return Some(verdict);
        }
        let states = report.entries.iter().map(|entry| entry.state);
        let is_good = |state| matches!(state, State::Compliant | State::Skipped);
        let are_good = states.into_iter().all(is_good);
        // A replica that cannot be written keeps an outdated status: a good one is not believed.
        if are_good && is_failing {
            return None;
        }
        if self.wait == Some(Wait::Compliant) && !are_good && !is_final {
            return None;
        }
        let fail_on = self.fail_on.unwrap_or_default();
        Some(if fail_on.is_failure(report) {
            Verdict::Failed
        } else {
            Verdict::Reached
        })
    }
}

/// What is not as asked, each with its reason.
pub(super) fn waiting(report: &Report, wait: Wait) -> Vec<String> {
    if report.entries.is_empty() {
        return vec![messages::NO_POLICY.to_owned()];
    }
    let is_done = |entry: &&Entry| match (wait, entry.state) {
        (_, State::Unknown | State::Unplaced) => false,
        (Wait::Evaluated, State::Error) => !entry.place.is_empty(),
        (Wait::Evaluated, _) => true,
        (Wait::Compliant, state) => matches!(state, State::Compliant | State::Skipped),
    };
    let open = report.entries.iter().filter(|entry| !is_done(entry));
    open.map(|entry| {
        let why = entry.summary();
        match entry.place.as_str() {
            "" => format!("{} ({why})", entry.subject),
            place => format!("{} on {place} ({why})", entry.subject),
        }
    })
    .collect()
}
