//! Objects for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use reeve_api::ocm::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, Placement, PlacementDecision,
};
use reeve_runtime::object::ObjectKey;
use serde_json::{Value, json};

use super::super::schedule::{Inputs, Placed, Schedule, Scores, schedule};

pub(super) fn now() -> Timestamp {
    "2026-08-01T12:00:00Z".parse().unwrap()
}

pub(super) fn ago(seconds: i64) -> Timestamp {
    now() - jiff::SignedDuration::from_secs(seconds)
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

/// A cluster; `rest` has all fields but its name.
pub(super) fn cluster(name: &str, mut rest: Value) -> Arc<ManagedCluster> {
    if rest.get("metadata").is_none() {
        rest["metadata"] = json!({});
    }
    rest["metadata"]["name"] = name.into();
    if rest.get("spec").is_none() {
        rest["spec"] = json!({});
    }
    read(rest)
}

pub(super) fn labelled(name: &str, labels: Value) -> Arc<ManagedCluster> {
    cluster(name, json!({"metadata": {"labels": labels}}))
}

pub(super) fn bare(names: &[&str]) -> Vec<Arc<ManagedCluster>> {
    names.iter().map(|name| cluster(name, json!({}))).collect()
}

pub(super) fn placement(spec: Value) -> Arc<Placement> {
    named("placement1", spec)
}

pub(super) fn named(name: &str, spec: Value) -> Arc<Placement> {
    read(json!({"metadata": {"name": name, "namespace": "ns1", "uid": "u1"}, "spec": spec}))
}

pub(super) fn set(name: &str, selector: Value) -> Arc<ManagedClusterSet> {
    read(json!({"metadata": {"name": name}, "spec": {"clusterSelector": selector}}))
}

pub(super) fn exclusive(name: &str) -> Arc<ManagedClusterSet> {
    set(name, json!({"selectorType": "ExclusiveClusterSetLabel"}))
}

/// A decision in `ns1` of a placement.
pub(super) fn decision(placement: &str, index: usize, clusters: &[&str]) -> Arc<PlacementDecision> {
    let decisions: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    read(json!({
        "metadata": {
            "name": format!("{placement}-decision-{index}"),
            "namespace": "ns1",
            "labels": {
                "cluster.open-cluster-management.io/placement": placement,
                "cluster.open-cluster-management.io/decision-group-index": "0",
                "cluster.open-cluster-management.io/decision-group-name": "",
            },
            "ownerReferences": [{
                "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                "name": placement, "uid": "u1", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "status": {"decisions": decisions},
    }))
}

pub(super) fn score(
    cluster: &str,
    name: &str,
    scores: &[(&str, i32)],
    valid_until: Option<Timestamp>,
) -> (ObjectKey, Arc<AddOnPlacementScore>) {
    let scores: Vec<Value> = scores
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let mut status = json!({"scores": scores});
    if let Some(until) = valid_until {
        status["validUntil"] = until.to_string().into();
    }
    let object = json!({"metadata": {"name": name, "namespace": cluster}, "status": status});
    (ObjectKey::new(cluster, name), read(object))
}

/// The inputs of the scheduler for a test.
pub(super) struct Case {
    pub(super) inputs: Inputs,
}

impl Case {
    pub(super) fn new(spec: Value, clusters: Vec<Arc<ManagedCluster>>) -> Self {
        Self {
            inputs: Inputs {
                placement: placement(spec),
                clusters,
                placed: Placed::default(),
                scores: Arc::new(Scores::new()),
                now: now(),
            },
        }
    }

    pub(super) fn decided(mut self, decisions: &[Arc<PlacementDecision>]) -> Self {
        let here = ObjectKey::new("ns1", "placement1");
        self.inputs.placed = Placed::of(&here, decisions.iter().map(AsRef::as_ref));
        self
    }

    pub(super) fn scored(mut self, scores: Vec<(ObjectKey, Arc<AddOnPlacementScore>)>) -> Self {
        self.inputs.scores = Arc::new(scores.into_iter().collect());
        self
    }

    pub(super) fn run(&self) -> Schedule {
        schedule(&self.inputs, &mut |_| {})
    }
}

/// The names of the chosen clusters, sorted.
pub(super) fn chosen(schedule: &Schedule) -> Vec<&str> {
    let mut names: Vec<&str> = schedule.selected.iter().map(|one| one.name()).collect();
    names.sort_unstable();
    names
}

/// The scores of one prioritizer.
pub(super) fn scores_of(schedule: &Schedule, prioritizer: &str) -> BTreeMap<String, i64> {
    let found = schedule
        .prioritizers
        .iter()
        .find(|one| one.name == prioritizer);
    found.map(|one| one.scores.clone()).unwrap_or_default()
}

/// A table of scores.
pub(super) fn table(scores: &[(&str, i64)]) -> BTreeMap<String, i64> {
    let scores = scores
        .iter()
        .map(|(name, score)| ((*name).to_owned(), *score));
    scores.collect()
}
