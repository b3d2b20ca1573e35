//! From what is known of a hub to what a placement's decisions and status should be. No clock, no client.

use std::sync::Arc;

use jiff::Timestamp;
use reeve_go_compat::labels;
use reeve_runtime::object::ObjectKey;

use super::groups;
use super::index::Index;
use super::membership::Availability;
use super::messages;
use super::plan::{Write, plan};
use super::schedule::{Inputs, Mark, Schedule, Verdict, schedule};
use super::status::status;
use super::types::placement::PlacementStatus;
use super::types::{Placement, PlacementDecision};

/// What a placement's decisions depend on.
pub struct Observed {
    /// Among whom it may choose.
    pub among: Availability,
    /// What the scheduler looks at.
    pub inputs: Inputs,
    /// The decisions that it has.
    pub decisions: Vec<Arc<PlacementDecision>>,
}

impl Observed {
    /// What is known of a placement; `None` if there is nothing to do for it.
    pub fn of(index: &Index, key: &ObjectKey, now: Timestamp) -> Option<Self> {
        let placement = index.scheduled(key)?;
        Some(Self::dry(index, placement, key, now))
    }

    /// The same for a placement that need not exist.
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

/// What should be done for a placement.
pub struct Decision {
    /// What it chooses, and why.
    pub schedule: Schedule,
    /// The writes that its decisions need.
    pub writes: Vec<Write>,
    /// The status that it should have.
    pub status: PlacementStatus,
}

/// Decides, and tells `watch` of every step of scheduling.
pub fn decide(observed: &Observed, watch: &mut dyn FnMut(Mark<'_>)) -> Decision {
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
        // No decision could say whose it is.
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

/// A mistake that shows late leaves as little as one that shows early, and the status says the same.
fn withdraw(schedule: &mut Schedule, verdict: Verdict) {
    // What was wrong before is told of first.
    if !schedule.verdict.aborts() {
        schedule.verdict = verdict;
    }
    schedule.selected.clear();
    schedule.unscheduled = 0;
    schedule.again_at = None;
}
