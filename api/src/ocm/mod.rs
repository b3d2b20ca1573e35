//! The kinds of OCM that Reeve reads, with the fields it reads. Their CRDs belong to OCM. Decoding is tolerant: an
//! absent field has its zero value, and unknown fields are ignored.

mod claim;
mod cluster;
mod decision;
mod placement;
mod rule;
mod score;
mod selector;
mod set;

use serde::{Deserialize, Deserializer};

pub use claim::{ClusterClaim, ClusterClaimSpec};
pub use cluster::{ClusterFact, ManagedCluster, ManagedClusterSpec, ManagedClusterStatus, Taint};
pub use decision::{
    ClusterDecision, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL, PlacementDecision,
    PlacementDecisionFields, PlacementDecisionStatus,
};
pub use placement::{
    AddOnScore, CelSelector, ClusterSelector, DISABLED, DecisionGroup, DecisionGroupStatus,
    DecisionStrategy, GroupStrategy, Placement, PlacementSpec, PlacementStatus, Predicate,
    PrioritizerConfiguration, PrioritizerPolicy, ScoreCoordinate, Toleration,
};
pub use rule::{
    ClusterReference, ConditionFilter, PlacementRule, PlacementRuleSpec, PlacementRuleStatus,
    RuleDecision,
};
pub use score::{AddOnPlacementScore, AddOnPlacementScoreStatus, Score};
pub use selector::{ClaimSelector, LabelSelector, Requirement};
pub use set::{
    ManagedClusterSet, ManagedClusterSetBinding, ManagedClusterSetBindingSpec,
    ManagedClusterSetSpec, SetSelector, SetStatus,
};

/// Decodes `null` as absent where a list, a map or an object is expected.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
