//! The fields of each object that the index keeps.

use std::collections::{BTreeMap, BTreeSet};

use reeve_api::names::{APPS_GROUP, CLUSTER_GROUP, GROUP, PLACEMENT_LABEL, RootPolicyName};
use reeve_api::ocm::{PlacementDecision, PlacementRule};
use reeve_api::policy::PolicyDependency;
use reeve_api::{PlacementBinding, Policy, PolicySet};
use reeve_runtime::object::ObjectKey;

/// The kinds that select clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlacementKind {
    /// Its `PlacementDecision`s name the clusters.
    Placement,
    /// Its status names the clusters.
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

/// The indexed fields of a `PlacementBinding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingFacts {
    /// The placement that selects the clusters.
    pub placement: PlacementName,
    /// The policies it binds directly.
    pub policies: BTreeSet<RootPolicyName>,
    /// The policy sets it binds.
    pub sets: BTreeSet<ObjectKey>,
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
            let named =
                subjects.filter(move |subject| subject.api_group == GROUP && subject.kind == kind);
            named.map(|subject| subject.name.clone())
        };
        Some(Self {
            policies: of_kind("Policy")
                .map(|name| RootPolicyName::new(namespace.clone(), name))
                .collect(),
            sets: of_kind("PolicySet")
                .map(|name| ObjectKey::new(namespace.clone(), name))
                .collect(),
            placement: PlacementName {
                kind,
                key: ObjectKey::new(namespace, reference.name.clone()),
            },
            restricted: binding.spec.is_restricted(),
            enforce: binding.spec.enforce_override().map(str::to_owned),
        })
    }
}

/// The indexed fields of a `PlacementDecision`, or of the decisions in a `PlacementRule`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionFacts {
    /// The placement that decided.
    pub placement: PlacementName,
    /// The clusters that it selected.
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

    /// The decisions of a rule.
    pub fn of_rule(rule: &PlacementRule) -> Self {
        let decisions = rule.status.iter().flat_map(|status| &status.decisions);
        Self {
            placement: PlacementName {
                kind: PlacementKind::PlacementRule,
                key: ObjectKey::of(rule),
            },
            clusters: decisions
                .map(|decision| decision.cluster().to_owned())
                .filter(|cluster| !cluster.is_empty())
                .collect(),
        }
    }
}

/// The indexed fields of a `PolicySet`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetFacts {
    /// Names of its policies, in its own namespace.
    pub policies: BTreeSet<String>,
    /// The same, as the user listed them.
    pub listed: Vec<String>,
    /// The excluded clusters by policy.
    pub exclusions: BTreeMap<String, BTreeSet<String>>,
}

impl SetFacts {
    /// The indexed fields of a set. Several exclusions of one policy are merged.
    pub fn of(set: &PolicySet) -> Self {
        let mut exclusions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for exclusion in set.spec.exclusions.iter().flatten() {
            let clusters = exclusions.entry(exclusion.policy_name.clone()).or_default();
            clusters.extend(exclusion.cluster_names.iter().cloned());
        }
        Self {
            policies: set.spec.policies.iter().cloned().collect(),
            listed: set.spec.policies.clone(),
            exclusions,
        }
    }

    /// Whether the set excludes a cluster for one of its policies.
    pub fn excludes(&self, policy: &str, cluster: &str) -> bool {
        let excluded = self.exclusions.get(policy);
        excluded.is_some_and(|clusters| clusters.contains(cluster))
    }

    /// Whether the set places a policy on a cluster, if that is selected.
    pub fn sends(&self, policy: &str, cluster: &str) -> bool {
        self.policies.contains(policy) && !self.excludes(policy, cluster)
    }
}

/// The indexed fields of a root policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootFacts {
    /// Whether it is disabled, and so has no replicas.
    pub disabled: bool,
    /// The policy sets that it depends on: its replicas name their members.
    pub set_dependencies: BTreeSet<ObjectKey>,
}

impl RootFacts {
    /// The indexed fields of a root policy.
    pub fn of(policy: &Policy) -> Self {
        let namespace = policy.metadata.namespace.as_deref().unwrap_or_default();
        let templates = policy.spec.policy_templates.iter();
        let extra = templates.filter_map(|template| template.extra_dependencies.as_ref());
        let all = policy.spec.dependencies.iter().chain(extra).flatten();
        Self {
            disabled: policy.spec.disabled,
            set_dependencies: all
                .filter_map(|dependency| dependency_set(dependency, namespace))
                .collect(),
        }
    }
}

/// The policy set that a dependency of a policy in `namespace` names, if it names one.
pub fn dependency_set(dependency: &PolicyDependency, namespace: &str) -> Option<ObjectKey> {
    let is_set = dependency.kind == "PolicySet" && dependency.api_version == SET_API_VERSION;
    let own = dependency
        .namespace
        .as_deref()
        .filter(|own| !own.is_empty());
    is_set.then(|| ObjectKey::new(own.unwrap_or(namespace), dependency.name.clone()))
}

/// `PolicySet`'s `apiVersion`.
pub const SET_API_VERSION: &str = "policy.open-cluster-management.io/v1beta1";
