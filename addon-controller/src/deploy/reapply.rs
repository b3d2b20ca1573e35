//! Having the work agent apply again what it reports as gone, and the hub's CRD whole where there is none.
//!
//! The agent applies a work when its spec or its labels change, and otherwise every four to six minutes; after an error it
//! waits for up to a quarter of an hour. An object that vanishes in between is missed: the CRD of policies, for example,
//! that was applied onto one that was being deleted, without which the policy agent cannot work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use reeve_api::work::{ManifestCondition, ManifestWork, ManifestWorkStatus};
use reeve_runtime::object::ObjectKey;
use serde::Serialize;
use serde_json::{Value, json};

use super::conditions;
use super::identity::{is_orphan, resource};
use super::work::{Live, manifests};
use crate::facts::Inputs;

/// Label of a work: when it was last to be applied again, in seconds of the Unix epoch.
pub const REAPPLIED_AT: &str = "policy.open-cluster-management.io/reapplied-at";

/// How long the agent is left alone after that. It looks at what it has applied every ten to twenty seconds, so what it
/// reported before the last change may have been true earlier.
const PAUSE: Duration = Duration::from_mins(1);

/// Sets the metadata of the hub's CRD, and nothing else. One who has applied the schema, too, would take that away by
/// applying the metadata alone.
const MARKER: &str = "work-agent-mark";

/// What is to be applied again, by the works' `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reapplied {
    /// When each work was last to be applied again, in seconds of the Unix epoch.
    pub at: BTreeMap<String, i64>,
    /// The works that are to hold the hub's CRD whole.
    pub whole: BTreeSet<String>,
}

/// What the agent reports of a work, as far as it decides whether the work is to be applied again.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Something of it has been applied as it is, and is gone.
    pub is_lost: bool,
    /// When it was last to be applied again, in seconds of the Unix epoch.
    pub reapplied_at: Option<i64>,
    /// What is known of the hub's CRD.
    pub hub_crd: HubCrd,
}

impl Report {
    /// Of a work.
    pub fn of(work: &ManifestWork, status: &ManifestWorkStatus) -> Self {
        let manifests = &status.resource_status.manifests;
        // Agents that do not report a generation for each object report it for the work.
        let all = is_applied(&status.conditions, work);
        let is_gone = |manifest: &ManifestCondition| {
            (all || is_applied(&manifest.conditions, work))
                && conditions::status(&manifest.conditions, "Available") == Some(false)
        };
        let label = work.labels().get(REAPPLIED_AT);
        Self {
            is_lost: manifests.iter().any(is_gone),
            reapplied_at: label.and_then(|at| at.parse().ok()),
            hub_crd: HubCrd::of(work, status),
        }
    }
}

/// How a work holds the hub's CRD, and what the agent reports of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubCrd {
    /// The work is not for a hub.
    None,
    /// The metadata only, which cannot be applied where there is no CRD.
    Metadata {
        /// There is none.
        is_absent: bool,
    },
    /// All of it, for as long as it takes to create it.
    Whole {
        /// It is there.
        is_there: bool,
    },
}

impl HubCrd {
    fn of(work: &ManifestWork, status: &ManifestWorkStatus) -> Self {
        let Some(manifest) = manifests(work).find(|it| is_hub_crd(it)) else {
            return Self::None;
        };
        let mut reports = status.resource_status.manifests.iter();
        let report = reports.find(|report| {
            report.resource_meta.kind == "CustomResourceDefinition"
                && manifest["metadata"]["name"] == *report.resource_meta.name
        });
        // That it could not be applied has other causes, too. Only that it is not there is reported so.
        let report = report.filter(|_| applied(&status.conditions, work).is_some());
        let is_available =
            report.and_then(|report| conditions::status(&report.conditions, "Available"));
        if manifest.get("spec").is_some() {
            Self::Whole {
                is_there: is_available == Some(true),
            }
        } else {
            Self::Metadata {
                is_absent: is_available == Some(false),
            }
        }
    }
}

/// The condition `Applied`, if it is of the work as it is.
fn applied<'a>(conditions: &'a [Condition], work: &ManifestWork) -> Option<&'a Condition> {
    conditions.iter().find(|condition| {
        condition.type_ == "Applied" && condition.observed_generation == work.metadata.generation
    })
}

/// Whether the agent has applied what these conditions are of as the work is.
pub fn is_applied(conditions: &[Condition], work: &ManifestWork) -> bool {
    applied(conditions, work).is_some_and(|applied| applied.status == "True")
}

/// What is to be applied again at `now`, in seconds of the Unix epoch.
pub fn due(inputs: &Inputs, works: &BTreeMap<ObjectKey, Arc<Live>>, now: i64) -> Reapplied {
    let mut reapplied = Reapplied::default();
    for (key, live) in works {
        let is_due = remaining(inputs, key, live, now) == Some(Duration::ZERO);
        if let Some(at) = if is_due {
            Some(now)
        } else {
            live.report.reapplied_at
        } {
            reapplied.at.insert(key.to_string(), at);
        }
        let is_whole = match live.report.hub_crd {
            HubCrd::None => false,
            HubCrd::Metadata { is_absent } => is_absent && is_due,
            HubCrd::Whole { is_there } => !is_there,
        };
        if is_whole {
            reapplied.whole.insert(key.to_string());
        }
    }
    reapplied
}

/// When to reconcile again, to see whether what is absent now has come back.
pub fn requeue_after(
    inputs: &Inputs,
    works: &BTreeMap<ObjectKey, Arc<Live>>,
    now: i64,
) -> Option<Duration> {
    let remaining = works
        .iter()
        .filter_map(|(key, live)| remaining(inputs, key, live, now));
    // What is due now has been asked for, and counts from now on.
    let pauses = remaining.map(|left| if left.is_zero() { PAUSE } else { left });
    pauses.min()
}

/// How long to wait until a work is to be applied again; `None` where that is not needed, or nobody would do it: the agent
/// of a cluster that does not answer reports what was so once.
fn remaining(inputs: &Inputs, key: &ObjectKey, live: &Live, now: i64) -> Option<Duration> {
    let is_own = key.namespace == inputs.installation.cluster;
    let hosting = inputs.hosting.as_ref();
    let cluster = if is_own {
        Some(&*inputs.cluster)
    } else {
        hosting.and_then(|hosting| hosting.facts.as_deref())
    };
    let answers = cluster.is_some_and(|cluster| cluster.is_available == Some(true));
    let is_needed =
        live.report.is_lost || live.report.hub_crd == HubCrd::Metadata { is_absent: true };
    if !is_needed || live.is_deleting || inputs.addon.is_deleting || !answers {
        return None;
    }
    let since = live
        .report
        .reapplied_at
        .map_or(i64::MAX, |at| now.saturating_sub(at));
    // A time that is yet to come was written by another clock.
    let since = since.try_into().map_or(Duration::MAX, Duration::from_secs);
    Some(PAUSE.saturating_sub(since))
}

/// Whether this is the CRD of policies for a hub. There it is the propagator's.
pub fn is_hub_crd(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition" && is_orphan(object)
}

/// How the hub's CRD is applied. It is reduced to its metadata unless it is to be `whole`: where one is there, it is only
/// marked to stay, and a whole one changes nothing.
pub fn hub_crd(object: &mut Value, is_whole: bool) -> Value {
    let strategy = if is_whole {
        json!({ "type": "CreateOnly" })
    } else {
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|name, _| ["apiVersion", "kind", "metadata"].contains(&name.as_str()));
        }
        // Not with ignored fields: the agent would skip a CRD that has been applied once, whatever has become of it.
        let how = json!({ "force": true, "fieldManager": MARKER });
        json!({ "type": "ServerSideApply", "serverSideApply": how })
    };
    json!({ "resourceIdentifier": resource(object), "updateStrategy": strategy })
}
