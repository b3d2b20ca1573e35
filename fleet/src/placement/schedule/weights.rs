//! The weights of the prioritizers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use reeve_api::ocm::{AddOnScore, PrioritizerPolicy};

use super::super::messages;

/// A prioritizer, which scores clusters for a placement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Prioritizer {
    /// Prefers clusters that few other placements chose.
    Balance,
    /// Prefers clusters that the placement has already chosen.
    Steady,
    /// Prefers clusters with much of a resource to allocate.
    Allocatable(Resource),
    /// Uses the score of an add-on.
    AddOn(AddOnScore),
}

/// The resource that a prioritizer compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    /// `cpu`.
    Cpu,
    /// `memory`.
    Memory,
}

impl Resource {
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

impl fmt::Display for Prioritizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balance => f.write_str("Balance"),
            Self::Steady => f.write_str("Steady"),
            Self::Allocatable(Resource::Cpu) => f.write_str("ResourceAllocatableCPU"),
            Self::Allocatable(Resource::Memory) => f.write_str("ResourceAllocatableMemory"),
            Self::AddOn(score) => {
                write!(f, "AddOn/{}/{}", score.resource_name, score.score_name)
            }
        }
    }
}

fn built_in(name: &str) -> Option<Prioritizer> {
    let all = [
        Prioritizer::Balance,
        Prioritizer::Steady,
        Prioritizer::Allocatable(Resource::Cpu),
        Prioritizer::Allocatable(Resource::Memory),
    ];
    all.into_iter().find(|one| one.to_string() == name)
}

/// The prioritizers with a weight other than zero; the error is the reason why the policy is invalid.
pub(super) fn weights(policy: &PrioritizerPolicy) -> Result<BTreeMap<Prioritizer, i32>, String> {
    let mut weights = match policy.mode.as_str() {
        "" | "Additive" => BTreeMap::from([(Prioritizer::Balance, 1), (Prioritizer::Steady, 1)]),
        "Exact" => BTreeMap::new(),
        other => return Err(messages::unknown_mode(other)),
    };
    let mut unknown: BTreeMap<&str, i32> = BTreeMap::new();
    for configuration in &policy.configurations {
        let Some(coordinate) = &configuration.score_coordinate else {
            return Err(messages::NO_COORDINATE.to_owned());
        };
        let prioritizer = match (coordinate.type_.as_str(), &coordinate.add_on) {
            ("" | "BuiltIn", _) => {
                let Some(prioritizer) = built_in(&coordinate.built_in) else {
                    unknown.insert(&coordinate.built_in, configuration.weight);
                    continue;
                };
                prioritizer
            }
            (_, Some(score)) => Prioritizer::AddOn(score.clone()),
            (_, None) => return Err(messages::NO_ADD_ON.to_owned()),
        };
        weights.insert(prioritizer, configuration.weight);
    }
    // Sorted, so that the message names the same one every time.
    let names: BTreeSet<&str> = unknown
        .iter()
        .filter(|(_, weight)| **weight != 0)
        .map(|(name, _)| *name)
        .collect();
    if let Some(name) = names.first() {
        return Err(messages::unknown_prioritizer(name));
    }
    weights.retain(|_, weight| *weight != 0);
    Ok(weights)
}
