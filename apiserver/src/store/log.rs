//! The last changes of a table.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::{Key, Stored};

/// The number of changes that a log keeps for a table, however long ago they were made. A watch further behind has to list
/// again.
const CHANGES_KEPT: usize = 1024;
/// How many bytes the versions may have that are remembered, and are of no current object.
const BYTES_KEPT: usize = 8 << 20;
/// How many they may have after a while, if the current objects have fewer. Beyond as many as those have, who lists anew reads
/// no more than who catches up.
const FEW_BYTES_KEPT: usize = 64 << 10;
/// That while: as long as a kube-apiserver's cache remembers whatever else there is. Within it as many changes are kept as the
/// table has objects, and versions with as many bytes: a list of a large table in pages, and the watch after it, must not
/// expire because all of its objects change meanwhile. A watch that did would list again, and expire again, for ever.
const RECENT: Duration = Duration::from_secs(75);

/// The size of a table: of its current objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableSize {
    /// The number of objects.
    pub objects: usize,
    /// The bytes of their JSON.
    pub bytes: usize,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object was created.
    Added,
    /// The object was updated.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// A change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision that it made.
    pub revision: u64,
    /// When the change was made.
    pub at: Instant,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The name of the object.
    pub key: Key,
    /// The object after it, or its last state.
    pub object: Arc<Stored>,
    /// The object before it.
    pub before: Option<Arc<Stored>>,
}

/// The requested revision is older than the log.
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
    /// Whose changes are followed; those of all, if it is absent.
    pub(super) namespace: Option<Arc<str>>,
    pub(super) after: u64,
    /// The revision of the last change that is followed.
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
        let log = self.log.read();
        let namespace = self.namespace.as_deref();
        let changes = log.after(namespace, self.after, limit)?;
        self.after = match changes.last() {
            Some(last) if changes.len() == limit => last.revision,
            // The others are not followed.
            _ => self.after.max(log.newest()),
        };
        Ok(changes)
    }

    /// Whether there is nothing that was not seen.
    pub(super) fn is_at_end(&self) -> bool {
        *self.newest.borrow() <= self.after
    }
}

impl Change {
    /// How many bytes it keeps that are of no current object: of the version before it, and of the last state.
    fn superseded(&self) -> usize {
        let before = self.before.as_ref().map_or(0, |before| before.json_len());
        match self.kind {
            ChangeKind::Deleted => before + self.object.json_len(),
            ChangeKind::Added | ChangeKind::Modified => before,
        }
    }
}

/// What can be known of a watch by others than its transport: whether it has delivered all there is.
#[derive(Debug)]
pub struct Follower {
    newest: watch::Receiver<u64>,
    /// The revision after which its transport waits for the next line; absent while it does not wait.
    waits_after: Mutex<Option<u64>>,
}

/// A transport waits for the next line of a watch as long as this lives.
pub struct Waiting(Arc<Follower>);

impl Follower {
    pub(super) fn new(cursor: &Cursor) -> Self {
        Self {
            newest: cursor.newest.clone(),
            waits_after: Mutex::new(None),
        }
    }

    /// The transport of the watch waits for what comes after a cursor.
    pub fn wait(self: &Arc<Self>, cursor: &Cursor) -> Waiting {
        *self.waits_after.lock() = Some(cursor.after);
        Waiting(Arc::clone(self))
    }

    /// Whether the transport has dealt with all there is. A table that is gone has nothing more.
    pub(super) fn is_current(&self) -> bool {
        let newest = *self.newest.borrow();
        let waits_after = *self.waits_after.lock();
        waits_after.is_some_and(|after| newest <= after) || self.newest.has_changed().is_err()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        *self.0.waits_after.lock() = None;
    }
}

/// A bounded log.
#[derive(Debug)]
pub struct Log {
    changes: VecDeque<Change>,
    /// How many bytes they keep that are of no current object.
    superseded: usize,
    /// Changes up to this revision are forgotten, or never were.
    forgotten: u64,
    /// Of the namespaces that are followed alone: the last change that is forgotten, however many of others are.
    lost: HashMap<Arc<str>, u64>,
}

impl Log {
    /// A log of what comes after a revision.
    pub fn new(forgotten: u64) -> Self {
        Self {
            changes: VecDeque::new(),
            superseded: 0,
            forgotten,
            lost: HashMap::new(),
        }
    }

    /// Appends a change to a table, which has this size now, and forgets the oldest ones if there are too many.
    pub fn push(&mut self, change: Change, size: TableSize) {
        let now = change.at;
        self.superseded += change.superseded();
        self.changes.push_back(change);
        while self.is_too_large(size, now) {
            self.forget_oldest();
        }
    }

    fn is_too_large(&self, size: TableSize, now: Instant) -> bool {
        let Some(oldest) = self.changes.front() else {
            return false;
        };
        let (changes, bytes) = if now.duration_since(oldest.at) < RECENT {
            (size.objects.max(CHANGES_KEPT), size.bytes.max(BYTES_KEPT))
        } else {
            (CHANGES_KEPT, size.bytes.clamp(FEW_BYTES_KEPT, BYTES_KEPT))
        };
        self.changes.len() > changes || (self.superseded > bytes && self.changes.len() > 1)
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.changes.pop_front() else {
            return;
        };
        self.superseded -= oldest.superseded();
        self.forgotten = oldest.revision;
        if let Some(lost) = self.lost.get_mut(&oldest.key.namespace) {
            *lost = oldest.revision;
        }
    }

    /// Forgets all that has happened up to a revision, which is the newest.
    pub fn forget(&mut self, revision: u64) {
        while !self.changes.is_empty() {
            self.forget_oldest();
        }
        self.forgotten = revision;
    }

    /// From now on a namespace is followed alone. The revision of its last change that is remembered; 0 if there is none.
    pub fn follow(&mut self, namespace: &Arc<str>) -> u64 {
        self.lost.insert(Arc::clone(namespace), self.forgotten);
        let mut changes = self.changes.iter().rev();
        let last = changes.find(|change| change.key.namespace == *namespace);
        last.map_or(0, |change| change.revision)
    }

    /// These namespaces have no cursor of their own any more.
    pub fn unfollow(&mut self, is_followed: impl Fn(&str) -> bool) {
        self.lost.retain(|namespace, _| is_followed(namespace));
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

    /// The objects that have changed after a revision as they were at it; `None` for those that were not there.
    pub fn before(&self, revision: u64) -> Result<BTreeMap<&Key, Option<&Arc<Stored>>>, TooOld> {
        self.check(revision)?;
        let mut before = BTreeMap::new();
        for change in self.changes.range(self.start_after(revision)..) {
            // Only the first change of an object replaced the version of that revision.
            before.entry(&change.key).or_insert(change.before.as_ref());
        }
        Ok(before)
    }

    /// The place of the first change after a revision.
    fn start_after(&self, revision: u64) -> usize {
        self.changes
            .partition_point(|change| change.revision <= revision)
    }

    /// The changes of a namespace, or of all, after a revision; at most `limit`.
    fn after(
        &self,
        namespace: Option<&str>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Change>, TooOld> {
        let lost = namespace.and_then(|namespace| self.lost.get(namespace));
        if lost.is_none_or(|lost| after < *lost) {
            self.check(after)?;
        }
        let start = self.start_after(after);
        let is_followed = |change: &&Change| {
            namespace.is_none_or(|namespace| *change.key.namespace == *namespace)
        };
        let changes = self.changes.range(start..).filter(is_followed);
        Ok(changes.take(limit).cloned().collect())
    }
}
