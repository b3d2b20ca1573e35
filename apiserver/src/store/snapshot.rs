//! A table as it was at a revision, and the parts of it that lists ask for.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::log::{Log, TooOld};
use super::{Key, Page, Stored};

/// The objects of a table as they were at a revision.
pub(super) struct Snapshot<'a> {
    current: &'a BTreeMap<Key, Arc<Stored>>,
    /// Those that have changed since as they were at it; `None` for those that were not there.
    before: BTreeMap<&'a Key, Option<&'a Arc<Stored>>>,
}

impl<'a> Snapshot<'a> {
    /// The objects as they are.
    pub(super) fn current(current: &'a BTreeMap<Key, Arc<Stored>>) -> Self {
        Self {
            current,
            before: BTreeMap::new(),
        }
    }

    /// The objects as they were at a revision, if all changes since are remembered. Costs as much as there are such changes,
    /// not as there are objects.
    pub(super) fn at(
        current: &'a BTreeMap<Key, Arc<Stored>>,
        log: &'a Log,
        revision: u64,
    ) -> Result<Self, TooOld> {
        Ok(Self {
            current,
            before: log.before(revision)?,
        })
    }

    /// The objects from a key on, by key.
    fn objects_from(&self, start: Bound<&Key>) -> impl Iterator<Item = (&'a Key, &'a Arc<Stored>)> {
        let range = (start, Bound::Unbounded);
        let unchanged = self.current.range::<Key, _>(range);
        let mut unchanged = unchanged
            .filter(|(key, _)| !self.before.contains_key(key))
            .peekable();
        let changed = self.before.range::<Key, _>(range);
        let mut changed = changed
            .filter_map(|(key, before)| Some((*key, (*before)?)))
            .peekable();
        std::iter::from_fn(move || {
            let is_changed = match (changed.peek(), unchanged.peek()) {
                (Some((changed, _)), Some((unchanged, _))) => changed < unchanged,
                (changed, _) => changed.is_some(),
            };
            if is_changed {
                changed.next()
            } else {
                unchanged.next()
            }
        })
    }
}

/// Which part of a table is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range<'a> {
    /// The objects of this namespace; of all, if it is absent.
    pub namespace: Option<&'a str>,
    /// Those after this key.
    pub after: Option<&'a Key>,
    /// So many at most.
    pub limit: Option<usize>,
    /// Whether those after them are counted, or only noticed.
    pub counts_remaining: bool,
}

impl Range<'_> {
    /// The objects in this range that are selected, of a snapshot at this revision.
    pub(super) fn page(
        self,
        snapshot: &Snapshot<'_>,
        revision: u64,
        mut is_selected: impl FnMut(&Key, &Stored) -> bool,
    ) -> Page {
        let first = Key::new(self.namespace.unwrap_or_default(), "");
        let start = match (self.after, self.namespace) {
            (Some(key), _) => Bound::Excluded(key),
            (None, Some(_)) => Bound::Included(&first),
            (None, None) => Bound::Unbounded,
        };
        let inside = |key: &Key| {
            self.namespace
                .is_none_or(|namespace| &*key.namespace == namespace)
        };
        let mut rest = snapshot
            .objects_from(start)
            .take_while(|(key, _)| inside(key))
            .filter(|(key, stored)| is_selected(key, stored));
        let most = self.limit.unwrap_or(usize::MAX);
        let objects = rest
            .by_ref()
            .take(most)
            .map(|(key, stored)| (key.clone(), Arc::clone(stored)))
            .collect();
        let remaining = if self.counts_remaining {
            rest.count()
        } else {
            usize::from(rest.next().is_some())
        };
        Page {
            objects,
            revision,
            remaining,
        }
    }
}
