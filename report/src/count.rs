//! Counts by state.

use std::collections::BTreeMap;

use crate::messages;
use crate::model::{Entry, Report, State, Subject};

/// How many subjects are in each state. A policy is in the worst of its states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<State, usize>);

impl Counts {
    /// The counts of a report: of its policies, or of its steps.
    pub fn of(report: &Report) -> Self {
        let mut counts = Self::default();
        if report.subject != Subject::Policies {
            for entry in &report.entries {
                counts.add(entry.state);
            }
            return counts;
        }
        let mut worst: BTreeMap<&str, State> = BTreeMap::new();
        for Entry { subject, state, .. } in &report.entries {
            let known = worst.entry(subject).or_insert(*state);
            *known = (*known).min(*state);
        }
        for state in worst.into_values() {
            counts.add(state);
        }
        counts
    }

    fn add(&mut self, state: State) {
        *self.0.entry(state).or_default() += 1;
    }

    /// How many are in a state.
    pub fn get(&self, state: State) -> usize {
        self.0.get(&state).copied().unwrap_or_default()
    }

    /// As `1 compliant, 2 violations`.
    pub fn words(&self, subject: Subject) -> String {
        let order = [
            State::Compliant,
            State::Violation,
            State::Error,
            State::Unplaced,
            State::Pending,
            State::Unknown,
            State::Skipped,
        ];
        let parts: Vec<String> = order
            .into_iter()
            .filter(|state| self.get(*state) > 0)
            .map(|state| messages::counted(subject, state, self.get(state)))
            .collect();
        match (parts.is_empty(), subject) {
            (true, Subject::Policies) => messages::NO_POLICIES.to_owned(),
            (true, _) => messages::NO_SUITES.to_owned(),
            _ => parts.join(", "),
        }
    }
}
