//! What a placement does with each cluster.

use kube::ResourceExt as _;
use reeve_api::PlacementBinding;
use reeve_api::ocm::Placement;
use reeve_report::{Entry, Rule, State};

use super::observe::Observed;
use super::{fact, finding, messages};
use crate::placement::why::{Fate, fates};

/// The steps from the cluster sets to the decisions, and who uses them.
pub(super) fn steps(observed: &Observed, placement: &Placement) -> Vec<Entry> {
    let namespace = placement.namespace().unwrap_or_default();
    let subject = format!("{namespace}/{}", placement.name_any());
    vec![
        Entry::of_rules(&subject, "cluster sets", sets(observed, placement)),
        Entry::of_rules(&subject, "clusters", clusters(observed, placement)),
        Entry::of_rules(&subject, "decisions", decisions(observed, placement)),
        Entry::of_rules(&subject, "policies", policies(observed, placement)),
    ]
}

/// The sets that the placement may choose from.
pub(super) fn sets(observed: &Observed, placement: &Placement) -> Vec<Rule> {
    let availability = observed.availability(placement);
    let namespace = placement.namespace().unwrap_or_default();
    let mut rules: Vec<Rule> = availability
        .unusable
        .iter()
        .map(|why| finding("", State::Error, why))
        .collect();
    if availability.bound.is_empty() {
        let why = messages::no_set_bound(&namespace);
        rules.push(finding("", State::Unplaced, why));
    } else if availability.eligible.is_empty() {
        let why = messages::no_set_named(&placement.spec.cluster_sets, &availability.bound);
        rules.push(finding("", State::Unplaced, why));
    } else {
        let count = availability.clusters.len();
        rules.push(fact("", messages::sets(&availability.eligible, count)));
    }
    rules
}

/// Each cluster with what becomes of it.
pub(super) fn clusters(observed: &Observed, placement: &Placement) -> Vec<Rule> {
    let availability = observed.availability(placement);
    let inputs = observed.inputs(placement, &availability);
    let all: Vec<_> = observed.clusters.values().cloned().collect();
    let fates = fates(&inputs, &availability, &all);
    if fates.is_empty() {
        return vec![finding("", State::Unplaced, messages::NO_CLUSTER)];
    }
    let is_chosen = fates.values().any(|fate| *fate == Fate::Chosen);
    let rule = |(name, fate): (&String, &Fate)| {
        let state = match fate {
            Fate::Chosen => State::Compliant,
            Fate::Invalid(_) => State::Error,
            // As long as there are others, a cluster that is not chosen is no finding.
            _ if is_chosen => State::Skipped,
            _ => State::Unplaced,
        };
        finding(name, state, messages::fate(fate, placement))
    };
    fates.iter().map(rule).collect()
}

/// The decisions, and whether they are those of the current objects.
pub(super) fn decisions(observed: &Observed, placement: &Placement) -> Vec<Rule> {
    let namespace = placement.namespace().unwrap_or_default();
    let decided = observed.decided(&namespace, &placement.name_any());
    let chosen: Vec<String> = clusters(observed, placement)
        .into_iter()
        .filter(|rule| rule.state == State::Compliant)
        .map(|rule| rule.name)
        .collect();
    let mut rules = Vec::new();
    if !placement.is_scheduled() {
        rules.push(fact("", messages::OTHER_SCHEDULER));
    } else if chosen.len() != decided.len() || chosen.iter().any(|name| !decided.contains(name)) {
        rules.push(finding(
            "",
            State::Pending,
            messages::not_decided(&decided, &chosen),
        ));
        return rules;
    }
    rules.push(match decided.as_slice() {
        [] => finding("", State::Unplaced, messages::NO_DECISION),
        some => fact("", messages::names(some)),
    });
    rules
}

/// The bindings that name the placement, with the policies that they bind.
fn policies(observed: &Observed, placement: &Placement) -> Vec<Rule> {
    let name = placement.name_any();
    let is_of = |binding: &&PlacementBinding| {
        let reference = &binding.spec.placement_ref;
        binding.metadata.namespace == placement.metadata.namespace
            && reference.kind == "Placement"
            && reference.name == name
    };
    let bindings: Vec<Rule> = observed
        .hub
        .bindings
        .iter()
        .filter(is_of)
        .map(|binding| {
            let subjects = binding.spec.subjects.iter();
            let subjects: Vec<String> = subjects
                .map(|subject| format!("{} {}", subject.kind, subject.name))
                .collect();
            fact("", messages::binds(&binding.name_any(), &subjects))
        })
        .collect();
    if bindings.is_empty() {
        return vec![finding("", State::Skipped, messages::UNUSED)];
    }
    bindings
}
