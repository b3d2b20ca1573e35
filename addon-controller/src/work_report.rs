//! Reads the status that OCM's work agent reports of a `ManifestWork`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use reeve_api::work::{ManifestCondition, ManifestWork, ManifestWorkStatus};
use serde_json::Value;

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

/// The manifests of a work.
pub fn manifests(work: &ManifestWork) -> impl Iterator<Item = &Value> {
    let manifests = work.spec.0.get("workload").map(|w| &w["manifests"]);
    manifests.and_then(Value::as_array).into_iter().flatten()
}
