//! Sets: the number of their clusters, and the two that always exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt;
use reeve_api::ocm::{LabelSelector, ManagedCluster, ManagedClusterSet, SetSelector};
use serde_json::{Value, json};

use super::messages;
use crate::placement::membership::{BY_LABELS, EXCLUSIVE, Membership};
use crate::placement::status::ConditionState;

/// The annotation that, when exactly `false`, leaves the selector of `default` or `global` to users.
pub const AUTO_UPDATE: &str = "cluster.open-cluster-management.io/autoupdate";
/// The set of clusters that are in no other exclusive set.
pub const DEFAULT: &str = "default";
/// The set of all clusters.
pub const GLOBAL: &str = "global";

/// The condition `ClusterSetEmpty`; the error is the reason why the set cannot be used.
pub fn emptiness<'a>(
    set: &ManagedClusterSet,
    clusters: impl IntoIterator<Item = &'a Arc<ManagedCluster>>,
) -> Result<ConditionState, String> {
    let membership = Membership::of(set)?;
    let clusters = clusters.into_iter();
    let count = clusters
        .filter(|one| membership.includes(one.labels()))
        .count();
    Ok(ConditionState {
        kind: "ClusterSetEmpty",
        holds: count == 0,
        reason: if count == 0 {
            "NoClusterMatched"
        } else {
            "ClustersSelected"
        },
        message: if count == 0 {
            messages::NOBODY.to_owned()
        } else {
            messages::members(count)
        },
    })
}

/// The names of the sets that have a cluster with these labels.
pub fn sets_of(
    labels: &BTreeMap<String, String>,
    sets: &BTreeMap<String, Arc<ManagedClusterSet>>,
) -> BTreeSet<String> {
    let belongs = |set: &ManagedClusterSet| {
        Membership::of(set).is_ok_and(|membership| membership.includes(labels))
    };
    let sets = sets.iter().filter(|(_, set)| belongs(set));
    sets.map(|(name, _)| name.clone()).collect()
}

/// The names of the sets that a change of a cluster affects: all of its sets when it is created or deleted, else
/// those that it joins or leaves.
pub fn concerned(
    old: Option<&ManagedCluster>,
    new: Option<&ManagedCluster>,
    sets: &BTreeMap<String, Arc<ManagedClusterSet>>,
) -> BTreeSet<String> {
    let of = |cluster: Option<&ManagedCluster>| {
        cluster.map_or_else(BTreeSet::new, |one| sets_of(one.labels(), sets))
    };
    of(old).symmetric_difference(&of(new)).cloned().collect()
}

/// The write that `default` or `global` needs.
#[derive(Clone, Debug, PartialEq)]
pub enum BuiltInSetWrite {
    /// The set is as desired.
    Nothing,
    /// The set does not exist: create this.
    Create(Value),
    /// The selector was changed: apply this merge patch.
    Restore(Value),
}

/// The write that `default` or `global` needs; other sets need none.
pub fn built_in_set_write(name: &str, set: Option<&ManagedClusterSet>) -> BuiltInSetWrite {
    let wanted = match name {
        DEFAULT => SetSelector {
            selector_type: EXCLUSIVE.to_owned(),
            label_selector: None,
        },
        GLOBAL => SetSelector {
            selector_type: BY_LABELS.to_owned(),
            label_selector: Some(LabelSelector::default()),
        },
        _ => return BuiltInSetWrite::Nothing,
    };
    let Some(set) = set else {
        return BuiltInSetWrite::Create(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": {"clusterSelector": wanted},
        }));
    };
    let annotations = set.metadata.annotations.as_ref();
    let is_users =
        annotations.is_some_and(|all| all.get(AUTO_UPDATE).is_some_and(|one| one == "false"));
    let selector = &set.spec.cluster_selector;
    let same_type = selector.selector_type == wanted.selector_type
        || (selector.selector_type.is_empty() && wanted.selector_type == EXCLUSIVE);
    let same = same_type && selector.label_selector == wanted.label_selector;
    if is_users || same || set.metadata.deletion_timestamp.is_some() {
        return BuiltInSetWrite::Nothing;
    }
    // A merge patch only removes the fields that it names.
    let labels = wanted
        .label_selector
        .map(|_| json!({"matchLabels": null, "matchExpressions": null}));
    BuiltInSetWrite::Restore(json!({"spec": {"clusterSelector": {
        "selectorType": wanted.selector_type,
        "labelSelector": labels,
    }}}))
}
