//! `Placement`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClaimSelector, LabelSelector, or_default};

/// The annotation that, when exactly `true`, leaves a placement's decisions to another scheduler.
pub const DISABLED: &str = "cluster.open-cluster-management.io/experimental-scheduling-disable";

/// The spec of a placement.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "Placement",
    plural = "placements",
    namespaced,
    status = "PlacementStatus",
    schema = "disabled",
    doc = "Chooses clusters.",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementSpec {
    /// The sets to choose from; empty: all that are bound to the namespace.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub cluster_sets: Vec<String>,
    /// How many clusters to choose; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_clusters: Option<i32>,
    /// A cluster must match one of these, if there are any.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<Predicate>,
    /// The order of preference of the clusters.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_unset")]
    pub prioritizer_policy: PrioritizerPolicy,
    /// The tolerated taints.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// The grouping of decisions.
    #[serde(deserialize_with = "or_default")]
    pub decision_strategy: DecisionStrategy,
    /// Fields without effect: `spreadPolicy`, `sortBy`, `scoreRateLimit`.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

fn is_unset(policy: &PrioritizerPolicy) -> bool {
    *policy == PrioritizerPolicy::default()
}

/// A condition that a cluster must meet.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Predicate {
    /// All parts of the selector must match.
    #[serde(deserialize_with = "or_default")]
    pub required_cluster_selector: ClusterSelector,
}

/// Chooses clusters by labels, claims and expressions.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSelector {
    /// The label selector.
    #[serde(deserialize_with = "or_default")]
    pub label_selector: LabelSelector,
    /// The claim selector.
    #[serde(deserialize_with = "or_default")]
    pub claim_selector: ClaimSelector,
    /// Expressions over the whole cluster.
    #[serde(deserialize_with = "or_default")]
    pub cel_selector: CelSelector,
}

/// Expressions that must all be true.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct CelSelector {
    /// CEL expressions about `managedCluster`.
    #[serde(deserialize_with = "or_default")]
    pub cel_expressions: Vec<String>,
}

/// The order of preference of the clusters.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct PrioritizerPolicy {
    /// `Additive` (also when empty) or `Exact`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// The weights of prioritizers.
    #[serde(deserialize_with = "or_default")]
    pub configurations: Vec<PrioritizerConfiguration>,
}

/// The weight of a prioritizer.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PrioritizerConfiguration {
    /// The prioritizer.
    pub score_coordinate: Option<ScoreCoordinate>,
    /// From -10 to 10; 0 turns it off.
    pub weight: i32,
}

impl Default for PrioritizerConfiguration {
    fn default() -> Self {
        Self {
            score_coordinate: None,
            weight: 1,
        }
    }
}

/// Names a prioritizer.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ScoreCoordinate {
    /// `BuiltIn` (also when empty) or `AddOn`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// The name of a built-in prioritizer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub built_in: String,
    /// The score of an add-on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_on: Option<AddOnScore>,
}

/// Names the score of an add-on.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnScore {
    /// The name of the `AddOnPlacementScore`.
    pub resource_name: String,
    /// The name of the score in it.
    pub score_name: String,
}

/// A toleration matches taints.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// The key of the taint; empty with the operator `Exists`: any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Equal` (also when empty) or `Exists`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The value that the taint's must equal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect of the taint; empty: any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// How long after the taint was added it is tolerated; absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// The grouping of decisions.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionStrategy {
    /// The groups and their sizes.
    #[serde(deserialize_with = "or_default")]
    pub group_strategy: GroupStrategy,
}

/// The groups of decisions and their sizes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupStrategy {
    /// Groups with a name, in this order.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub decision_groups: Vec<DecisionGroup>,
    /// The size of the other groups: a number, or a percentage of the chosen clusters; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters_per_decision_group: Option<IntOrString>,
}

/// A group with a name.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionGroup {
    /// The name.
    pub group_name: String,
    /// The selector of its clusters; `celSelector` is not supported.
    #[serde(deserialize_with = "or_default")]
    pub group_cluster_selector: ClusterSelector,
}

/// The status of a placement.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementStatus {
    /// How many clusters are chosen.
    pub number_of_selected_clusters: i32,
    /// The groups of decisions, by index.
    #[serde(deserialize_with = "or_default")]
    pub decision_groups: Vec<DecisionGroupStatus>,
    /// `PlacementMisconfigured` and `PlacementSatisfied`.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
}

/// A group of decisions in the status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionGroupStatus {
    /// The index over all groups, from 0.
    pub decision_group_index: i32,
    /// The name; empty for a group without a name.
    pub decision_group_name: String,
    /// The names of its `PlacementDecision`s.
    #[serde(deserialize_with = "or_default")]
    pub decisions: Vec<String>,
    /// How many clusters the group has.
    pub cluster_count: i32,
}

impl Placement {
    /// Whether OCM's placement controller makes its decisions: it is not terminating, and not left to another scheduler.
    pub fn is_scheduled(&self) -> bool {
        let disabled = self
            .metadata
            .annotations
            .as_ref()
            .is_some_and(|all| all.get(DISABLED).is_some_and(|value| value == "true"));
        !disabled && self.metadata.deletion_timestamp.is_none()
    }

    /// Whether it has expressions.
    pub fn uses_cel(&self) -> bool {
        self.expressions().next().is_some()
    }

    /// Whether its expressions may read scores.
    pub fn reads_scores_by_cel(&self) -> bool {
        self.expressions().any(|text| text.contains("scores"))
    }

    fn expressions(&self) -> impl Iterator<Item = &String> {
        self.spec
            .predicates
            .iter()
            .flat_map(|one| &one.required_cluster_selector.cel_selector.cel_expressions)
    }

    /// Whether a prioritizer uses a score of the object with this name.
    pub fn prefers_by(&self, resource: &str) -> bool {
        let mut coordinates = self
            .spec
            .prioritizer_policy
            .configurations
            .iter()
            .filter_map(|one| one.score_coordinate.as_ref());
        coordinates.any(|one| {
            one.type_ == "AddOn"
                && one
                    .add_on
                    .as_ref()
                    .is_some_and(|score| score.resource_name == resource)
        })
    }
}
