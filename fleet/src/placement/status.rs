//! Computes a placement's status.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use reeve_api::ocm::{self, DecisionGroupStatus, Placement, PlacementStatus};

use super::membership::Availability;
use super::messages;
use super::schedule::{Schedule, Verdict};

/// The type of the condition for the number of chosen clusters.
pub const SATISFIED: &str = "PlacementSatisfied";
/// The type of the condition for an invalid placement.
pub const MISCONFIGURED: &str = "PlacementMisconfigured";

/// A condition without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionState {
    /// Its type.
    pub kind: &'static str,
    /// Whether its status is `True`.
    pub holds: bool,
    /// The reason in upper camel case.
    pub reason: &'static str,
    /// The message.
    pub message: String,
}

/// `PlacementMisconfigured`. An invalid set is left out of the choice, and this condition has its error.
pub fn misconfigured(verdict: &Verdict, unusable: &[String]) -> ConditionState {
    let message = match (verdict, unusable) {
        (Verdict::Misconfigured(plugin_status), _) => {
            format!("{}:{}", plugin_status.plugin, plugin_status.message)
        }
        (_, []) => {
            return ConditionState {
                kind: MISCONFIGURED,
                holds: false,
                reason: "Succeedconfigured",
                message: messages::CONFIGURED.to_owned(),
            };
        }
        (_, unusable) => format!(":{}", unusable.join("; ")),
    };
    ConditionState {
        kind: MISCONFIGURED,
        holds: true,
        reason: "Misconfigured",
        message,
    }
}

/// `PlacementSatisfied`.
pub fn satisfied(
    placement: &Placement,
    among: &Availability,
    schedule: &Schedule,
) -> ConditionState {
    let (reason, message) = if among.bound.is_empty() {
        (
            "NoManagedClusterSetBindings",
            messages::NO_BINDINGS.to_owned(),
        )
    } else if among.eligible.is_empty() {
        (
            "NoIntersection",
            messages::no_intersection(&placement.spec.cluster_sets),
        )
    } else if among.clusters.is_empty() {
        (
            "AllManagedClusterSetsEmpty",
            messages::sets_empty(&among.eligible),
        )
    } else if let Verdict::Error(plugin_status) = &schedule.verdict {
        ("NotAllDecisionsScheduled", plugin_status.message.clone())
    } else if schedule.selected.is_empty() {
        ("NoManagedClusterMatched", messages::NO_MATCH.to_owned())
    } else if schedule.unscheduled == 0 {
        ("AllDecisionsScheduled", messages::SATISFIED.to_owned())
    } else {
        (
            "NotAllDecisionsScheduled",
            messages::unscheduled(schedule.unscheduled),
        )
    };
    ConditionState {
        kind: SATISFIED,
        holds: reason == "AllDecisionsScheduled",
        reason,
        message,
    }
}

/// The desired status of a placement.
pub fn status(
    placement: &Placement,
    among: &Availability,
    schedule: &Schedule,
    groups: Vec<DecisionGroupStatus>,
    now: Timestamp,
) -> PlacementStatus {
    let mut status = PlacementStatus {
        number_of_selected_clusters: i32::try_from(schedule.selected.len()).unwrap_or(i32::MAX),
        decision_groups: groups,
        conditions: placement
            .status
            .as_ref()
            .map(|status: &ocm::PlacementStatus| status.conditions.clone())
            .unwrap_or_default(),
    };
    let desired = [
        misconfigured(&schedule.verdict, &among.unusable),
        satisfied(placement, among, schedule),
    ];
    for condition in desired {
        set(&mut status.conditions, condition, now);
    }
    status
}

/// Sets a condition. Its `lastTransitionTime` changes only with its status.
pub fn set(conditions: &mut Vec<Condition>, desired: ConditionState, now: Timestamp) {
    let status = if desired.holds { "True" } else { "False" };
    let present = conditions.iter_mut().find(|one| one.type_ == desired.kind);
    if let Some(present) = present {
        if present.status != status {
            status.clone_into(&mut present.status);
            present.last_transition_time = Time(now);
        }
        desired.reason.clone_into(&mut present.reason);
        present.message = desired.message;
    } else {
        conditions.push(Condition {
            type_: desired.kind.to_owned(),
            status: status.to_owned(),
            reason: desired.reason.to_owned(),
            message: desired.message,
            last_transition_time: Time(now),
            observed_generation: None,
        });
    }
}
