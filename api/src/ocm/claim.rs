//! `ClusterClaim`.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// A claim of a managed cluster about itself.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterClaim",
    plural = "clusterclaims",
    schema = "disabled",
    doc = "A fact a managed cluster states about itself."
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClaimSpec {
    /// The claim's value.
    #[serde(default)]
    pub value: String,
}
