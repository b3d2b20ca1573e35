//! Reasons of related objects.

pub const NOT_FOUND_BUT_SHOULD_EXIST: &str = "Resource not found but should exist";
pub const NOT_FOUND_AS_EXPECTED: &str = "Resource not found as expected";
pub const FOUND_BUT_SHOULD_NOT_EXIST: &str = "Resource found but should not exist";
pub const IGNORED_IN_MUSTNOTHAVE: &str =
    "Resource found but will not be handled in mustnothave mode";
pub const CREATION_SUCCESS: &str = "K8s creation success";
pub const OBJECT_UPDATED: &str = "K8s update success";
pub const FOUND_AS_EXPECTED: &str = "Resource found as expected";
pub const FOUND_MISMATCHED: &str = "Resource found but does not match";
pub const DELETION_SUCCESS: &str = "K8s deletion success";
pub const STILL_DELETING: &str = "The object is being deleted but has not been removed yet";
pub const SEVERAL_OPERATOR_GROUPS: &str = "There is more than one OperatorGroup in this namespace";
pub const NO_INSTALL_PLANS_RELATED: &str = "There are no relevant InstallPlans in this namespace";
pub const NO_CSV: &str = "No relevant ClusterServiceVersion found";
pub const NO_CRD: &str = "No relevant CustomResourceDefinitions found";
pub const NO_DEPLOYMENT: &str = "No relevant deployments found";
pub const DEPLOYMENT_AVAILABLE: &str = "Deployment Available";
pub const DEPLOYMENT_UNAVAILABLE: &str = "Deployment Unavailable";
pub const DEPLOYMENT_UNAVAILABLE_IGNORED: &str = "Deployment Unavailable (policy compliance is not impacted due to spec.complianceConfig.deploymentsUnavailable)";
pub const FOUND_UNHEALTHY: &str = "Resource found as expected but is unhealthy";
pub const STATE_UNKNOWN_RELATED: &str = "Resource found but current state is unknown";

pub fn leftover(kind: &str) -> String {
    format!("The {kind} is attached to a mustnothave policy, but does not need to be removed")
}

/// `phase` may be empty.
pub fn install_plan_phase(phase: &str) -> String {
    let phase = if phase.is_empty() { "Unknown" } else { phase };
    format!("The InstallPlan is {phase}")
}
