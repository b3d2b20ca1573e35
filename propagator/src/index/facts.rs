//! What the index keeps of each object.

use std::collections::BTreeSet;

use reeve_api::PlacementBinding;
use reeve_api::names::{APPS_GROUP, CLUSTER_GROUP, GROUP, PLACEMENT_LABEL, RootPolicyName};
use reeve_api::ocm::PlacementDecision;
use reeve_runtime::object::ObjectKey;

/// The kinds that choose clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlacementKind {
    /// Chooses through `PlacementDecision`s.
    Placement,
    /// Carries its choice in its own status.
    PlacementRule,
}

/// Names a `Placement` or `PlacementRule`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlacementName {
    /// Which of the two.
    pub kind: PlacementKind,
    /// Its namespace and name.
    pub key: ObjectKey,
}

/// What matters of a `PlacementBinding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingFacts {
    /// The placement that chooses the clusters.
    pub placement: PlacementName,
    /// The policies it binds directly.
    pub policies: BTreeSet<RootPolicyName>,
    /// How many policy sets it binds: those are not read yet.
    pub policy_sets: usize,
    /// Whether it only adds its override to what other bindings placed.
    pub restricted: bool,
    /// The override, as the user spelled it.
    pub enforce: Option<String>,
}

impl BindingFacts {
    /// `None` if the binding's placement reference pairs a kind with a foreign group, which the CRD
    /// forbids.
    pub fn of(binding: &PlacementBinding) -> Option<Self> {
        let namespace = binding.metadata.namespace.clone().unwrap_or_default();
        let reference = &binding.spec.placement_ref;
        let kind = match (reference.api_group.as_str(), reference.kind.as_str()) {
            (CLUSTER_GROUP, "Placement") => PlacementKind::Placement,
            (APPS_GROUP, "PlacementRule") => PlacementKind::PlacementRule,
            _ => return None,
        };
        let of_kind = |kind: &'static str| {
            let subjects = binding.spec.subjects.iter();
            subjects.filter(move |subject| subject.api_group == GROUP && subject.kind == kind)
        };
        let policies = of_kind("Policy")
            .map(|subject| RootPolicyName::new(namespace.clone(), subject.name.clone()))
            .collect();
        Some(Self {
            placement: PlacementName {
                kind,
                key: ObjectKey::new(namespace, reference.name.clone()),
            },
            policies,
            policy_sets: of_kind("PolicySet").count(),
            restricted: binding.spec.is_restricted(),
            enforce: binding.spec.enforce_override().map(str::to_owned),
        })
    }
}

/// What matters of a `PlacementDecision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionFacts {
    /// The placement that decided.
    pub placement: PlacementName,
    /// The clusters it chose.
    pub clusters: BTreeSet<String>,
}

impl DecisionFacts {
    /// `None` if the decision names no placement.
    pub fn of(decision: &PlacementDecision) -> Option<Self> {
        let labels = decision.metadata.labels.as_ref()?;
        let name = labels
            .get(PLACEMENT_LABEL)
            .filter(|name| !name.is_empty())?;
        let namespace = decision.metadata.namespace.clone().unwrap_or_default();
        let decisions = decision.status.iter().flat_map(|status| &status.decisions);
        Some(Self {
            placement: PlacementName {
                kind: PlacementKind::Placement,
                key: ObjectKey::new(namespace, name.clone()),
            },
            clusters: decisions
                .map(|decision| decision.cluster_name.clone())
                .filter(|cluster| !cluster.is_empty())
                .collect(),
        })
    }
}
