//! The events for writes of a placement's decisions.

use k8s_openapi::api::core::v1::ObjectReference;
use reeve_api::ocm::{Placement, PlacementDecision};

use super::messages;
use super::schedule::Schedule;

/// The most bytes of scores in a note.
const SCORES: usize = 1000;

/// The write of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionChange {
    /// It was created.
    Created,
    /// Its clusters were written.
    Updated,
    /// It was deleted.
    Deleted,
}

impl DecisionChange {
    fn reason(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Created => ("DecisionCreate", "DecisionCreated", "created"),
            Self::Updated => ("DecisionUpdate", "DecisionUpdated", "updated"),
            Self::Deleted => ("DecisionDelete", "DecisionDeleted", "deleted"),
        }
    }
}

/// An event about a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementEvent {
    /// The decision that it is about.
    pub related: ObjectReference,
    /// The reason in upper camel case.
    pub reason: &'static str,
    /// The action in upper camel case.
    pub action: &'static str,
    /// The text.
    pub note: String,
    /// Whether its type is `Warning`.
    pub warning: bool,
}

/// The events of one reconcile, in the order of the writes, and one event for the scores.
pub fn events(
    placement: &Placement,
    changes: &[(DecisionChange, ObjectReference)],
    schedule: &Schedule,
) -> Vec<PlacementEvent> {
    let name = placement.metadata.name.as_deref().unwrap_or_default();
    let namespace = placement.metadata.namespace.as_deref().unwrap_or_default();
    let mut events = Vec::new();
    let mut scored = schedule.totals.is_empty();
    for (change, decision) in changes {
        let (reason, action, verb) = change.reason();
        let of = decision.name.as_deref().unwrap_or_default();
        let mut note = messages::decision(of, verb, name, namespace);
        // An invalid placement loses its clusters: the event has the reason.
        let plugin_status = schedule
            .verdict
            .plugin_status()
            .filter(|_| *change == DecisionChange::Updated);
        if let Some(plugin_status) = plugin_status {
            note = format!("{note}: {}", plugin_status.message);
            if !plugin_status.plugin.is_empty() {
                note = format!("{note} in plugin {}", plugin_status.plugin);
            }
        }
        events.push(PlacementEvent {
            related: decision.clone(),
            reason,
            action,
            note,
            warning: plugin_status.is_some(),
        });
        if *change == DecisionChange::Updated && !scored {
            scored = true;
            events.push(PlacementEvent {
                related: decision.clone(),
                reason: "ScoreUpdate",
                action: "ScoreUpdated",
                note: scores(schedule),
                warning: false,
            });
        }
    }
    events
}

fn scores(schedule: &Schedule) -> String {
    let mut note = String::new();
    for (cluster, total) in &schedule.totals {
        let one = format!("{cluster}:{total} ");
        if note.len() + one.len() > SCORES {
            note.push_str("......");
            break;
        }
        note.push_str(&one);
    }
    note
}

/// The reference to a decision in events.
pub fn reference(decision: &PlacementDecision) -> ObjectReference {
    ObjectReference {
        api_version: Some("cluster.open-cluster-management.io/v1beta1".to_owned()),
        kind: Some("PlacementDecision".to_owned()),
        name: decision.metadata.name.clone(),
        namespace: decision.metadata.namespace.clone(),
        uid: decision.metadata.uid.clone(),
        resource_version: decision.metadata.resource_version.clone(),
        field_path: None,
    }
}

/// The reference to a placement in events.
pub fn placement(placement: &Placement) -> ObjectReference {
    ObjectReference {
        api_version: Some("cluster.open-cluster-management.io/v1beta1".to_owned()),
        kind: Some("Placement".to_owned()),
        name: placement.metadata.name.clone(),
        namespace: placement.metadata.namespace.clone(),
        uid: placement.metadata.uid.clone(),
        resource_version: placement.metadata.resource_version.clone(),
        field_path: None,
    }
}
