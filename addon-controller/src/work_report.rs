//! What OCM's work agent reports of a `ManifestWork`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use reeve_api::work::{ManifestCondition, ManifestWork, ManifestWorkStatus};
use serde_json::Value;

use crate::identity::is_orphan;
use crate::work_conditions;

/// Label of a work: when it was last to be applied again, in seconds of the Unix epoch.
pub const REAPPLIED_AT: &str = "policy.open-cluster-management.io/reapplied-at";

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
                && work_conditions::status(&manifest.conditions, "Available") == Some(false)
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
            report.and_then(|report| work_conditions::status(&report.conditions, "Available"));
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

/// Whether this is the CRD of policies for a hub. There it is the propagator's.
pub fn is_hub_crd(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition" && is_orphan(object)
}

/// The objects in a work.
pub fn manifests(work: &ManifestWork) -> impl Iterator<Item = &Value> {
    let manifests = work.spec.0.get("workload").map(|w| &w["manifests"]);
    manifests.and_then(Value::as_array).into_iter().flatten()
}
