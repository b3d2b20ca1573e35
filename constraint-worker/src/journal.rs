//! What a client consists of, and in which order it has changed, so that a process can be brought up to date.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use reeve_gatekeeper::constraint::ConstraintKey;
use reeve_gatekeeper::inventory::InventoryKey;
use reeve_gatekeeper::template::ConstraintTemplate;
use serde_json::value::RawValue;

/// So many parts that are gone are remembered, so that processes learn that they are; then processes begin anew.
const GONE: usize = 10_000;

/// A part of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The template of a kind.
    Template(String),
    /// A constraint.
    Constraint(ConstraintKey),
    /// An object of the inventory.
    Object(InventoryKey),
}

/// What a part is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Template(Arc<ConstraintTemplate>),
    /// A constraint or an object of the inventory.
    Document(Arc<RawValue>),
}

/// The parts of a client, each with the number of its last change.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    last: u64,
    /// A process that knows no later change begins anew.
    forgotten: u64,
    changes: BTreeMap<u64, Part>,
    /// Without a content a part is gone.
    parts: HashMap<Part, (u64, Option<Content>)>,
    gone: usize,
}

impl Journal {
    /// Notes that a part has a content, or is gone. Returns whether it was there.
    pub(crate) fn put(&mut self, part: Part, content: Option<Content>) -> bool {
        let is_gone = content.is_none();
        let before = self.parts.get(&part);
        let was_there = matches!(before, Some((_, Some(_))));
        if is_gone && !was_there {
            return false;
        }
        if let Some((change, content)) = before {
            self.changes.remove(change);
            self.gone -= usize::from(content.is_none());
        }
        self.last += 1;
        self.changes.insert(self.last, part.clone());
        self.parts.insert(part, (self.last, content));
        self.gone += usize::from(is_gone);
        if self.gone > GONE {
            self.forget_gone();
        }
        was_there
    }

    fn forget_gone(&mut self) {
        self.parts.retain(|_, (_, content)| content.is_some());
        let parts = &self.parts;
        self.changes.retain(|_, part| parts.contains_key(part));
        self.gone = 0;
        self.forgotten = self.last;
    }

    /// The number of the last change.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whether a process that knows the changes up to a number has to begin anew.
    pub(crate) fn has_forgotten(&self, known: u64) -> bool {
        known < self.forgotten
    }

    /// The content of a part.
    pub(crate) fn content(&self, part: &Part) -> Option<&Content> {
        self.parts.get(part)?.1.as_ref()
    }

    /// The constraints of a kind.
    pub(crate) fn constraints(&self, kind: &str) -> Vec<ConstraintKey> {
        let keys = self.parts.keys().filter_map(|part| match part {
            Part::Constraint(key) if key.kind == kind => Some(key.clone()),
            _ => None,
        });
        keys.collect()
    }

    /// What has changed after a number, in the order of the changes.
    pub(crate) fn since(&self, known: u64) -> Vec<(u64, Part, Option<Content>)> {
        let changes = self.changes.range(known + 1..);
        changes
            .map(|(change, part)| (*change, part.clone(), self.content(part).cloned()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str) -> Part {
        Part::Template(name.to_owned())
    }

    fn content() -> Content {
        let text = RawValue::from_string("{}".to_owned()).unwrap();
        Content::Document(text.into())
    }

    fn since(journal: &Journal, known: u64) -> Vec<(u64, Part, bool)> {
        let changes = journal.since(known).into_iter();
        changes
            .map(|(change, part, content)| (change, part, content.is_some()))
            .collect()
    }

    #[test]
    fn last_change_of_each_part_counts() {
        let mut journal = Journal::default();
        assert!(!journal.put(part("a"), Some(content())));
        assert!(!journal.put(part("b"), Some(content())));
        assert!(journal.put(part("a"), Some(content())));
        assert!(journal.put(part("b"), None));
        assert!(!journal.put(part("b"), None));
        assert_eq!(journal.last(), 4);
        let expected = [(3, part("a"), true), (4, part("b"), false)];
        assert_eq!(since(&journal, 0), expected);
        assert_eq!(since(&journal, 3), expected[1..]);
        assert!(since(&journal, 4).is_empty());
    }

    #[test]
    fn what_is_gone_does_not_grow_without_bound() {
        let mut journal = Journal::default();
        journal.put(part("stays"), Some(content()));
        for number in 0..=GONE {
            journal.put(part(&number.to_string()), Some(content()));
            journal.put(part(&number.to_string()), None);
        }
        assert!(journal.parts.len() < 10 && journal.changes.len() < 10);
        assert!(journal.has_forgotten(1) && !journal.has_forgotten(journal.last()));
        assert_eq!(since(&journal, 0), [(1, part("stays"), true)]);
    }
}
