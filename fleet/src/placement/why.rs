//! Why a placement chooses a cluster, or not: the decision of [`schedule`], part by part.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use reeve_api::ocm::{
    ClaimSelector, ClusterSelector, LabelSelector, ManagedCluster, Placement, Predicate,
    Requirement, Taint,
};

use super::membership::Availability;
use super::schedule::cel::{Expressions, LIMITS, Subject};
use super::schedule::selectors::Selector;
use super::schedule::{Inputs, Schedule, Scores, schedule};

/// What a placement does with a cluster, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The placement chooses it.
    Chosen,
    /// It is being deleted.
    Terminating,
    /// It is in none of the sets that the placement may choose from.
    OutsideSets,
    /// No predicate matches it: what does not match, predicate by predicate.
    Unmatched(Vec<Vec<Mismatch>>),
    /// The placement does not tolerate one of these taints.
    Tainted(Vec<String>),
    /// Others have higher scores, and the placement asks for fewer clusters.
    Outranked(i64),
    /// No cluster is chosen: the placement is invalid, or scheduling failed.
    Invalid(String),
}

/// A part of a predicate that does not match a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// A requirement on a label, and the value of the label.
    Label(Requirement, Option<String>),
    /// A requirement on a claim, and the value of the claim.
    Claim(Requirement, Option<String>),
    /// An expression that is not true.
    Expression(String),
}

/// What a placement does with each cluster, by name.
pub fn fates(
    inputs: &Inputs,
    availability: &Availability,
    all: &[Arc<ManagedCluster>],
) -> BTreeMap<String, Fate> {
    let decided = schedule(inputs, &mut |_| {});
    let fate = |cluster: &Arc<ManagedCluster>| {
        let fate = fate(inputs, availability, &decided, cluster);
        (cluster.name().to_owned(), fate)
    };
    all.iter().map(fate).collect()
}

fn fate(
    inputs: &Inputs,
    availability: &Availability,
    decided: &Schedule,
    cluster: &Arc<ManagedCluster>,
) -> Fate {
    let is_in =
        |clusters: &[Arc<ManagedCluster>]| clusters.iter().any(|one| one.name() == cluster.name());
    if is_in(&decided.selected) {
        return Fate::Chosen;
    }
    if cluster.is_terminating() {
        return Fate::Terminating;
    }
    if !is_in(&availability.clusters) {
        return Fate::OutsideSets;
    }
    if decided.verdict.aborts() {
        let status = decided.verdict.plugin_status();
        return Fate::Invalid(status.map(|one| one.message.clone()).unwrap_or_default());
    }
    let passed = |number: usize| {
        let record = decided.filters.get(number);
        record.is_some_and(|record| record.clusters.iter().any(|name| name == cluster.name()))
    };
    if !passed(0) {
        let predicates = inputs.placement.spec.predicates.iter();
        let mismatches = predicates.map(|one| mismatches(one, cluster, &inputs.scores));
        return Fate::Unmatched(mismatches.collect());
    }
    if !passed(1) {
        return Fate::Tainted(taints(&inputs.placement, cluster));
    }
    let total = decided.totals.get(cluster.name());
    Fate::Outranked(total.copied().unwrap_or_default())
}

/// The parts of a predicate that do not match a cluster.
fn mismatches(
    predicate: &Predicate,
    cluster: &ManagedCluster,
    scores: &Arc<Scores>,
) -> Vec<Mismatch> {
    let ClusterSelector {
        label_selector,
        claim_selector,
        cel_selector,
    } = &predicate.required_cluster_selector;
    let (labels, claims) = (cluster.labels(), cluster.claims());
    let mut all = Vec::new();
    for requirement in requirements(label_selector) {
        if !matches(&requirement, labels) {
            let value = labels.get(&requirement.key).cloned();
            all.push(Mismatch::Label(requirement, value));
        }
    }
    for requirement in &claim_selector.match_expressions {
        if !matches(requirement, &claims) {
            let value = claims.get(&requirement.key).cloned();
            all.push(Mismatch::Claim(requirement.clone(), value));
        }
    }
    for text in &cel_selector.cel_expressions {
        if !holds(text, cluster, scores) {
            all.push(Mismatch::Expression(text.clone()));
        }
    }
    all
}

/// A selector's requirements; an equality is one, too.
fn requirements(selector: &LabelSelector) -> Vec<Requirement> {
    let equal = selector
        .match_labels
        .iter()
        .map(|(key, value)| Requirement {
            key: key.clone(),
            operator: "In".to_owned(),
            values: vec![value.clone()],
        });
    equal
        .chain(selector.match_expressions.iter().cloned())
        .collect()
}

fn matches(requirement: &Requirement, values: &BTreeMap<String, String>) -> bool {
    let selector = Selector::of_claims(&ClaimSelector {
        match_expressions: vec![requirement.clone()],
    });
    selector.is_ok_and(|selector| selector.matches(values))
}

fn holds(text: &String, cluster: &ManagedCluster, scores: &Arc<Scores>) -> bool {
    reeve_apiserver::cel::on_large_stack(|| {
        Expressions::compile(std::slice::from_ref(text), scores)
            .is_ok_and(|expression| expression.hold(&Subject::of(cluster), LIMITS))
    })
}

/// The taints of a cluster that keep new placements away, and that the placement has no toleration for.
fn taints(placement: &Placement, cluster: &ManagedCluster) -> Vec<String> {
    let tolerations = &placement.spec.tolerations;
    let is_tolerated = |taint: &Taint| {
        tolerations.iter().any(|one| {
            (one.key.is_empty() || one.key == taint.key)
                && (one.effect.is_empty() || one.effect == taint.effect)
                && (one.operator == "Exists" || one.value == taint.value)
        })
    };
    let taints = cluster.spec.taints.iter();
    let keep_away = taints.filter(|taint| taint.effect != "PreferNoSelect");
    let untolerated: Vec<&Taint> = keep_away.clone().filter(|one| !is_tolerated(one)).collect();
    // A toleration that has expired matches all the same.
    let named: Vec<&Taint> = if untolerated.is_empty() {
        keep_away.collect()
    } else {
        untolerated
    };
    let text = |taint: &&Taint| match taint.value.as_str() {
        "" => format!("{}:{}", taint.key, taint.effect),
        value => format!("{}={value}:{}", taint.key, taint.effect),
    };
    named.iter().map(text).collect()
}
