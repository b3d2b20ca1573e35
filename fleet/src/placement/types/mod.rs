//! The kinds of `cluster.open-cluster-management.io` as placement and registration read them. Decoding is tolerant:
//! an absent field has its zero value, and unknown fields are ignored.

pub mod cluster;
pub mod decision;
pub mod placement;
pub mod score;
pub mod selector;
pub mod set;

use serde::{Deserialize, Deserializer};

pub use cluster::{ClusterClaim, ManagedCluster, ManagedClusterSpec, ManagedClusterStatus, Taint};
pub use decision::{ClusterDecision, PlacementDecision, PlacementDecisionStatus};
pub use placement::{Placement, PlacementSpec, PlacementStatus};
pub use score::{AddOnPlacementScore, AddOnPlacementScoreStatus, Score};
pub use selector::{ClaimSelector, LabelSelector, Requirement};
pub use set::{
    ManagedClusterSet, ManagedClusterSetBinding, ManagedClusterSetBindingSpec,
    ManagedClusterSetSpec,
};

/// Decodes `null` as absent where a list, a map or an object is expected.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
