//! The last changes of a table.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::watch;

use super::{Key, Stored};

/// How many changes of a table are remembered. Who falls further behind has to list again.
const MOST_CHANGES: usize = 1024;
/// How many bytes the remembered changes of a table may have.
const MOST_BYTES: usize = 8 << 20;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It came.
    Added,
    /// It is another now.
    Modified,
    /// It went.
    Deleted,
}

/// A change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision that it made.
    pub revision: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// To which object.
    pub key: Key,
    /// The object after it, or its last state.
    pub object: Arc<Stored>,
    /// The object before it.
    pub before: Option<Arc<Stored>>,
}

/// What was asked for is no longer remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld {
    /// The revision that was asked for.
    pub asked: u64,
    /// The oldest that can be answered.
    pub oldest: u64,
}

/// A place in a table's log.
#[derive(Debug)]
pub struct Cursor {
    pub(super) log: Arc<RwLock<Log>>,
    pub(super) after: u64,
    pub(super) newest: watch::Receiver<u64>,
}

impl Cursor {
    /// Waits until there may be changes that were not seen. Answers whether the table is still there.
    pub async fn changed(&mut self) -> bool {
        let after = self.after;
        self.newest.wait_for(|newest| *newest > after).await.is_ok()
    }

    /// The changes that were not seen, at most `limit`; the next are those behind them.
    pub fn changes(&mut self, limit: usize) -> Result<Vec<Change>, TooOld> {
        let changes = self.log.read().after(self.after, limit)?;
        if let Some(last) = changes.last() {
            self.after = last.revision;
        }
        Ok(changes)
    }
}

/// A bounded log.
#[derive(Debug)]
pub struct Log {
    changes: VecDeque<Change>,
    bytes: usize,
    /// Changes up to this revision are forgotten, or never were.
    forgotten: u64,
}

impl Log {
    /// A log of what comes after a revision.
    pub fn new(forgotten: u64) -> Self {
        Self {
            changes: VecDeque::new(),
            bytes: 0,
            forgotten,
        }
    }

    /// Appends a change and forgets the oldest ones if there are too many.
    pub fn push(&mut self, change: Change) {
        self.bytes += change.object.bytes.len();
        self.changes.push_back(change);
        while self.changes.len() > MOST_CHANGES
            || (self.bytes > MOST_BYTES && self.changes.len() > 1)
        {
            let Some(oldest) = self.changes.pop_front() else {
                break;
            };
            self.bytes -= oldest.object.bytes.len();
            self.forgotten = oldest.revision;
        }
    }

    /// Whether everything after a revision is remembered.
    pub fn check(&self, after: u64) -> Result<(), TooOld> {
        if after < self.forgotten {
            return Err(TooOld {
                asked: after,
                oldest: self.forgotten,
            });
        }
        Ok(())
    }

    /// The revision of the last change, or before which nothing is remembered.
    pub fn newest(&self) -> u64 {
        self.changes
            .back()
            .map_or(self.forgotten, |change| change.revision)
    }

    /// Takes back the changes after a revision.
    pub fn undo(
        &self,
        objects: &mut BTreeMap<Key, Arc<Stored>>,
        revision: u64,
    ) -> Result<(), TooOld> {
        self.check(revision)?;
        for change in self
            .changes
            .iter()
            .rev()
            .take_while(|change| change.revision > revision)
        {
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), Arc::clone(before)),
                None => objects.remove(&change.key),
            };
        }
        Ok(())
    }

    /// The changes after a revision, at most `limit`.
    pub fn after(&self, after: u64, limit: usize) -> Result<Vec<Change>, TooOld> {
        self.check(after)?;
        let start = self
            .changes
            .partition_point(|change| change.revision <= after);
        Ok(self.changes.range(start..).take(limit).cloned().collect())
    }
}
