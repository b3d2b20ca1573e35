//! What a managed cluster of a fleet is made of.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::registration::clusters::GIVEN_TAINTS_ANNOTATION;

/// A managed cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Labels of its `ManagedCluster`, besides those that every cluster has.
    pub labels: BTreeMap<String, String>,
    /// Claims, besides those that every cluster has.
    pub claims: BTreeMap<String, String>,
    /// Taints of its `ManagedCluster`.
    pub taints: Vec<Taint>,
}

/// A taint, by which placements without a toleration leave the cluster out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value, which may be empty.
    pub value: String,
    /// `NoSelect`, `PreferNoSelect` or `NoSelectIfNew`.
    pub effect: String,
}

impl<T: Into<String>> From<T> for Cluster {
    fn from(name: T) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl Cluster {
    /// The patch that gives a `ManagedCluster` these labels and taints; none if there are none.
    pub(crate) fn patch(&self) -> Option<Value> {
        let mut patch = json!({});
        if !self.labels.is_empty() {
            patch["metadata"] = json!({ "labels": self.labels });
        }
        if !self.taints.is_empty() {
            let taints = self.taints.iter().map(
                |taint| json!({ "key": taint.key, "value": taint.value, "effect": taint.effect }),
            );
            let taints: Vec<Value> = taints.collect();
            patch["spec"] = json!({ "taints": taints });
            let keys: Vec<&str> = self.taints.iter().map(|taint| taint.key.as_str()).collect();
            patch["metadata"]["annotations"] = json!({ GIVEN_TAINTS_ANNOTATION: keys.join(",") });
        }
        patch
            .as_object()
            .is_some_and(|fields| !fields.is_empty())
            .then_some(patch)
    }
}
