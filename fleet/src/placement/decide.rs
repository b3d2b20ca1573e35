//! Computes a placement's decisions and status from the index. No clock, no client.

use std::sync::Arc;

use jiff::Timestamp;
use reeve_api::ocm::{Placement, PlacementDecision, PlacementStatus};
use reeve_go_compat::labels;
use reeve_runtime::object::ObjectKey;

use super::groups;
use super::index::Index;
use super::membership::Availability;
use super::messages;
use super::plan::{Write, plan};
use super::schedule::{Inputs, Schedule, StepEnd, Verdict, schedule};
use super::status::status;

/// The inputs of a placement's decisions.
pub struct Observed {
    /// The clusters that it may choose.
    pub among: Availability,
    /// The inputs of the scheduler.
    pub inputs: Inputs,
    /// Its existing decisions.
    pub decisions: Vec<Arc<PlacementDecision>>,
}

impl Observed {
    /// The inputs for a placement; `None` if there is nothing to reconcile.
    pub fn of(index: &Index, key: &ObjectKey, now: Timestamp) -> Option<Self> {
        let placement = index.scheduled(key)?;
        Some(Self::dry(index, placement, key, now))
    }

    /// The inputs for a placement that may not exist.
    pub fn dry(index: &Index, placement: Arc<Placement>, key: &ObjectKey, now: Timestamp) -> Self {
        let among = index.availability(&placement);
        Self {
            inputs: Inputs {
                placement,
                clusters: among.clusters.clone(),
                placed: index.placed(key),
                scores: index.scores(),
                now,
            },
            decisions: index.decisions(key),
            among,
        }
    }
}

/// The desired state of a placement.
pub struct Decision {
    /// The chosen clusters, with the scores.
    pub schedule: Schedule,
    /// The writes of its decisions.
    pub writes: Vec<Write>,
    /// Its desired status.
    pub status: PlacementStatus,
}

/// Schedules, and calls `watch` at every step of scheduling.
pub fn decide(observed: &Observed, watch: &mut dyn FnMut(StepEnd<'_>)) -> Decision {
    let placement = &observed.inputs.placement;
    let name = placement.metadata.name.as_deref().unwrap_or_default();
    let mut schedule = schedule(&observed.inputs, watch);
    let strategy = &placement.spec.decision_strategy.group_strategy;
    let grouped = groups::groups(&schedule.selected, strategy);
    let groups = grouped.unwrap_or_else(|verdict| {
        withdraw(&mut schedule, verdict);
        vec![groups::Group::default()]
    });
    let (mut desired, mut statuses) = groups::decisions(name, &groups);
    let unnameable = !labels::value_errors(name).is_empty();
    if unnameable {
        // The label of the decisions could not hold the placement's name.
        withdraw(
            &mut schedule,
            Verdict::misconfigured("", messages::name_too_long(name)),
        );
        desired.clear();
        statuses.clear();
    }
    let now = observed.inputs.now;
    Decision {
        status: status(placement, &observed.among, &schedule, statuses, now),
        writes: plan(placement, desired, &observed.decisions),
        schedule,
    }
}

/// Clears the schedule after an error that shows late, so that decisions and status are as after one that shows
/// early.
fn withdraw(schedule: &mut Schedule, verdict: Verdict) {
    // An earlier error takes precedence.
    if !schedule.verdict.aborts() {
        schedule.verdict = verdict;
    }
    schedule.selected.clear();
    schedule.unscheduled = 0;
    schedule.again_at = None;
}
