//! The prioritizers' formulas. They are in floating point and truncate, because upstream's do: users see the totals
//! in events.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use reeve_api::ocm::{AddOnScore, ManagedCluster};
use reeve_go_compat::quantity::Quantity;
use reeve_runtime::object::ObjectKey;
use serde_json::Value;

use super::super::messages;
use super::weights::{Prioritizer, Resource};
use super::{Inputs, Placed, earliest};

/// The scores of a prioritizer.
#[derive(Default)]
pub(super) struct PrioritizerResult {
    pub(super) scores: BTreeMap<String, i64>,
    pub(super) warning: Option<String>,
    /// When the scores may change without a change of an object.
    pub(super) again_at: Option<Timestamp>,
}

/// Computes the scores of clusters.
pub(super) fn score(
    prioritizer: &Prioritizer,
    clusters: &[Arc<ManagedCluster>],
    inputs: &Inputs,
) -> PrioritizerResult {
    let of_each = |score: &dyn Fn(&str) -> i64| PrioritizerResult {
        scores: clusters
            .iter()
            .map(|cluster| (cluster.name().to_owned(), score(cluster.name())))
            .collect(),
        ..PrioritizerResult::default()
    };
    match prioritizer {
        Prioritizer::Balance => {
            let busiest = inputs.placed.elsewhere.values().copied().max();
            of_each(&|name| balance(&inputs.placed, name, busiest.unwrap_or(0)))
        }
        Prioritizer::Steady => of_each(&|name| {
            if inputs.placed.here.contains(name) {
                100
            } else {
                0
            }
        }),
        Prioritizer::Allocatable(resource) => PrioritizerResult {
            scores: allocatable(*resource, clusters),
            ..PrioritizerResult::default()
        },
        Prioritizer::AddOn(wanted) => add_on(wanted, clusters, inputs),
    }
}

/// Truncates; the values are small enough for the type.
#[allow(clippy::cast_possible_truncation)]
fn cut(number: f64) -> i64 {
    number as i64
}

fn balance(placed: &Placed, cluster: &str, busiest: u32) -> i64 {
    match placed.elsewhere.get(cluster).copied().unwrap_or(0) {
        0 => 100,
        count => 2 * cut(100.0 * (0.5 - f64::from(count) / f64::from(busiest))),
    }
}

/// A quantity as a number; `None` if it is invalid.
fn quantity(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => Quantity::parse(text).ok()?.approximate(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok()?.approximate(),
        _ => None,
    }
}

fn allocatable(resource: Resource, clusters: &[Arc<ManagedCluster>]) -> BTreeMap<String, i64> {
    let value = |cluster: &ManagedCluster| {
        let status = cluster.status.as_ref()?;
        quantity(status.capacity.get(resource.key())?)?;
        quantity(status.allocatable.get(resource.key())?)
    };
    let values: Vec<(&str, f64)> = clusters
        .iter()
        .filter_map(|cluster| Some((cluster.name(), value(cluster)?)))
        .collect();
    let least = values
        .iter()
        .map(|(_, value)| *value)
        .fold(f64::INFINITY, f64::min);
    let most = values
        .iter()
        .map(|(_, value)| *value)
        .fold(f64::NEG_INFINITY, f64::max);
    let score = |value: f64| {
        if most - least > 0.0 {
            cut(((value - least) / (most - least) - 0.5) * 2.0 * 100.0)
        } else {
            100
        }
    };
    let scores = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), score(*value)));
    scores.collect()
}

fn add_on(
    wanted: &AddOnScore,
    clusters: &[Arc<ManagedCluster>],
    inputs: &Inputs,
) -> PrioritizerResult {
    let mut result = PrioritizerResult::default();
    let mut expired = Vec::new();
    for cluster in clusters {
        let key = ObjectKey::new(cluster.name(), wanted.resource_name.as_str());
        let status = inputs
            .scores
            .get(&key)
            .and_then(|found| found.status.as_ref());
        let until = status.and_then(|status| status.valid_until);
        let score = match (status, until) {
            (Some(_), Some(until)) if inputs.now > until => {
                expired.push((key.namespace, wanted.resource_name.as_str()));
                0
            }
            (Some(status), until) => {
                // At that very instant the score still counts.
                let after =
                    until.and_then(|at| at.checked_add(SignedDuration::from_millis(1)).ok());
                result.again_at = earliest(result.again_at, after);
                let named = status
                    .scores
                    .iter()
                    .find(|one| one.name == wanted.score_name);
                named.map_or(0, |one| i64::from(one.value))
            }
            (None, _) => 0,
        };
        result.scores.insert(cluster.name().to_owned(), score);
    }
    if !expired.is_empty() {
        expired.sort();
        result.warning = Some(messages::scores_expired(&expired));
    }
    result
}
