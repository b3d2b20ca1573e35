//! Reads the status that OCM's work agent reports of a `ManifestWork`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use reeve_api::work::{ManifestCondition, ManifestWork, ManifestWorkStatus};
use serde_json::Value;

use crate::identity::is_orphan;
use crate::work_conditions;

/// Label of a work: when it was last applied again, in seconds of the Unix epoch.
pub const REAPPLIED_AT: &str = "policy.open-cluster-management.io/reapplied-at";

/// The part of the agent's report that decides whether the work is applied again.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// An object was applied from the current spec, and no longer exists.
    pub is_lost: bool,
    /// When it was last applied again, in seconds of the Unix epoch.
    pub reapplied_at: Option<i64>,
    /// The report of the hub's CRD.
    pub hub_crd: HubCrd,
}

impl Report {
    /// The report of a work.
    pub fn of(work: &ManifestWork, status: &ManifestWorkStatus) -> Self {
        let manifests = &status.resource_status.manifests;
        // Agents that report no generation for each object report one for the work.
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

/// The form of the hub's CRD in a work, and the agent's report of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubCrd {
    /// The work is not for a hub.
    None,
    /// The metadata only, which cannot be applied where the CRD does not exist.
    Metadata {
        /// Whether the CRD does not exist.
        is_absent: bool,
    },
    /// The whole CRD, until it is created.
    Whole {
        /// Whether the CRD exists.
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
        // A failure to apply has many causes. Only the missing CRD is reported so.
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

/// The condition `Applied`, if it is of the current generation.
fn applied<'a>(conditions: &'a [Condition], work: &ManifestWork) -> Option<&'a Condition> {
    conditions.iter().find(|condition| {
        condition.type_ == "Applied" && condition.observed_generation == work.metadata.generation
    })
}

/// Whether the agent has applied the current generation, by these conditions.
pub fn is_applied(conditions: &[Condition], work: &ManifestWork) -> bool {
    applied(conditions, work).is_some_and(|applied| applied.status == "True")
}

/// Whether this is the CRD of policies for a hub. There the propagator owns it.
pub fn is_hub_crd(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition" && is_orphan(object)
}

/// The manifests of a work.
pub fn manifests(work: &ManifestWork) -> impl Iterator<Item = &Value> {
    let manifests = work.spec.0.get("workload").map(|w| &w["manifests"]);
    manifests.and_then(Value::as_array).into_iter().flatten()
}
