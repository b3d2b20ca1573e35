//! What is to be told of an evaluation, and whether. Pure.

use jiff::Timestamp;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};

use crate::custom::Objects;
use crate::schedule::Interval;
use crate::status::{self, add_history, newest, seconds};

/// Whether the verdicts changed, which is what makes events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdicts {
    /// At least one did.
    Changed,
    /// At least one did, and the evaluation goes on: it will tell more.
    ChangedSoFar,
    /// All are as they were.
    AsBefore,
}

/// What is to be told. Pure.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// The new status.
    pub status: ConfigurationPolicyStatus,
    /// The compliance message.
    pub message: String,
    /// Whether events are due.
    pub events: bool,
    /// Whether the status has to be written.
    pub write: bool,
    /// When it was found.
    pub at: Timestamp,
}

/// What is told of: a policy, and what its evaluation left behind.
#[derive(Debug, Clone, Copy)]
pub struct Telling<'a> {
    /// The policy, with its hub templates resolved.
    pub policy: &'a ConfigurationPolicy,
    /// The objects that the policy's own words may look into.
    pub objects: &'a Objects,
}

/// Decides what is to be told, given the status before and one with new verdicts and related objects.
#[must_use]
pub fn decide(
    telling: Telling<'_>,
    before: &ConfigurationPolicyStatus,
    after: ConfigurationPolicyStatus,
    verdicts: Verdicts,
    now: Timestamp,
) -> Publication {
    let policy = telling.policy;
    let mut status = after;
    let state = if policy.metadata.deletion_timestamp.is_some() {
        Some(Compliance::Terminating)
    } else {
        status::overall(&status)
    };
    status.compliant = state.map(|state| state.as_str().to_owned());
    let new_generation = before.last_evaluated_generation != policy.metadata.generation;
    let events =
        verdicts != Verdicts::AsBefore || before.compliant != status.compliant || new_generation;
    let message = status::message((policy, telling.objects), &status, state);
    if events || newest(&status) != Some(&message) {
        add_history(&mut status, &message, now);
    }
    // Where the next evaluation depends on the time of this one, the time counts.
    let interval = Interval::of(policy.spec.evaluation_interval.as_ref(), state);
    let write = events || status != *before || matches!(interval, Interval::Every(_));
    // An evaluation that is cut off here must not wait for its interval, which may be for ever.
    let may_be_cut_off = verdicts == Verdicts::ChangedSoFar && interval != Interval::Watch;
    status.last_evaluated = (!may_be_cut_off).then(|| seconds(now));
    status.last_evaluated_generation = policy.metadata.generation;
    Publication {
        status,
        message,
        events,
        write,
        at: now,
    }
}
