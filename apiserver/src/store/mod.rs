//! The object store: tables of serialized objects under one revision, and a bounded log of changes for each table.
//!
//! An object is kept as the JSON that is sent, compressed: it costs the bytes that it does not have in common with other objects of its
//! table. Everything that is decided about a change is decided outside: a change names the revision that it was made
//! from, and is refused if there is a newer one.

mod log;
mod persist;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

pub use log::{Change, ChangeKind, Cursor, Follower, TooOld};

pub use self::snapshot::Range;
use self::snapshot::Snapshot;
use self::table::Table;
use crate::compact::Compact;
use crate::data::{Entry, Journal};
use crate::json;
use crate::stored::{FIRST_REVISION, summarized};
pub use crate::stored::{Key, Stored, TableName};

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The object has another revision, or is there although it should not be.
    Conflict,
    /// The object is not there.
    NotFound,
    /// The disk does not take it. Nothing will be changed any more.
    NotPersisted,
}

/// A change of an object.
#[derive(Debug)]
pub enum Write {
    /// Makes an object that is not there.
    Create(Value),
    /// Replaces the object of that revision.
    Replace(u64, Value),
    /// Deletes the object of that revision; watches get its last state.
    Delete(u64, Value),
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object, or its last state.
    pub stored: Arc<Stored>,
}

struct Inner {
    revision: u64,
    /// Of tables that are not there, changes up to this revision are forgotten.
    forgotten: u64,
    /// The uids that objects name as their owners, each with the object's table and key.
    dependents: BTreeSet<(Arc<str>, TableName, Key)>,
    /// The uids of all objects.
    uids: HashSet<Arc<str>>,
    tables: HashMap<TableName, Table>,
}

/// The objects of one server.
pub struct Store {
    shared: Arc<Shared>,
    /// Makes a snapshot.
    turner: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// Of the watches that there are, and of some that have ended.
    followers: Mutex<Vec<Weak<Follower>>>,
}

struct Shared {
    /// Held during a change, so that changes are written to disk one after another while others read.
    /// Always taken before `inner`.
    journal: Mutex<Option<Journal>>,
    inner: RwLock<Inner>,
}

/// A part of a list.
#[derive(Debug, Default)]
pub struct Page {
    /// The objects, by key.
    pub objects: Vec<(Key, Arc<Stored>)>,
    /// The revision that the list is of.
    pub revision: u64,
    /// The number of objects after this page; 1 if there are any and they are not counted.
    pub remaining: usize,
}

impl Page {
    /// Those that are `wanted`, at most `limit`, and whether more remain.
    pub fn narrowed(
        self,
        limit: Option<usize>,
        mut wanted: impl FnMut(&Key, &Stored) -> bool,
    ) -> Self {
        let all = self.objects.into_iter();
        let mut rest = all.filter(|(key, stored)| wanted(key, stored));
        let objects = rest.by_ref().take(limit.unwrap_or(usize::MAX)).collect();
        Self {
            objects,
            remaining: usize::from(rest.next().is_some()),
            revision: self.revision,
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// Without an object.
    pub fn new() -> Self {
        Self::of(Inner::new(FIRST_REVISION, 0), None)
    }

    fn of(inner: Inner, journal: Option<Journal>) -> Self {
        Self {
            shared: Arc::new(Shared {
                journal: Mutex::new(journal),
                inner: RwLock::new(inner),
            }),
            turner: Mutex::new(None),
            followers: Mutex::default(),
        }
    }

    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.shared.inner.read().revision
    }

    /// An object.
    pub fn get(&self, table: &str, key: &Key) -> Option<Arc<Stored>> {
        let inner = self.shared.inner.read();
        inner.tables.get(table)?.objects.get(key).cloned()
    }

    /// The number of objects of a table.
    pub fn count(&self, table: &str) -> usize {
        let inner = self.shared.inner.read();
        inner
            .tables
            .get(table)
            .map_or(0, |table| table.objects.len())
    }

    /// The revision of the last change of a table.
    pub fn newest(&self, table: &str) -> u64 {
        let inner = self.shared.inner.read();
        let table = inner.tables.get(table);
        table.map_or(0, |table| table.log.read().newest())
    }

    /// The objects in a range of a table that are selected; as they were at a revision, if one is given and the log reaches back
    /// to it.
    pub fn list_at(
        &self,
        table: &str,
        revision: Option<u64>,
        range: Range<'_>,
        is_selected: impl FnMut(&Key, &Stored) -> bool,
    ) -> Result<Page, TooOld> {
        let inner = self.shared.inner.read();
        let newest = inner.revision;
        let Some(table) = inner.tables.get(table) else {
            return Ok(Page {
                objects: Vec::new(),
                revision: revision.unwrap_or(newest),
                remaining: 0,
            });
        };
        let log = table.log.read();
        let snapshot = match revision {
            Some(revision) => Snapshot::at(&table.objects, &log, revision)?,
            None => Snapshot::current(&table.objects),
        };
        Ok(range.page(&snapshot, revision.unwrap_or(newest), is_selected))
    }

    /// All objects of a table.
    pub fn all(&self, table: &str) -> Vec<(Key, Arc<Stored>)> {
        self.all_in(table, None)
    }

    /// All objects of a table in a namespace; in any, if it is absent.
    pub fn all_in(&self, table: &str, namespace: Option<&str>) -> Vec<(Key, Arc<Stored>)> {
        let range = Range {
            namespace,
            ..Range::default()
        };
        let inner = self.shared.inner.read();
        let Some(table) = inner.tables.get(table) else {
            return Vec::new();
        };
        let snapshot = Snapshot::current(&table.objects);
        range.page(&snapshot, inner.revision, |_, _| true).objects
    }

    /// The objects that name this uid as their owner: table and key.
    pub fn dependents(&self, uid: &str) -> Vec<(TableName, Key)> {
        let inner = self.shared.inner.read();
        let first = (Arc::from(uid), TableName::from(""), Key::new("", ""));
        let found = inner.dependents.range(first..);
        let found = found.take_while(|(owner, ..)| **owner == *uid);
        found
            .map(|(_, table, key)| (Arc::clone(table), key.clone()))
            .collect()
    }

    /// Whether there is an object with this uid.
    pub fn has_uid(&self, uid: &str) -> bool {
        self.shared.inner.read().uids.contains(uid)
    }

    /// Makes a change. The object's resource version is set here. If objects are kept on disk, it is there when this
    /// answers, and was before anybody could see it.
    pub fn write(&self, table: &str, key: &Key, write: Write) -> Result<Written, WriteError> {
        let mut journal = self.shared.journal.lock();
        let (before, revision) = self.shared.inner.read().check(table, key, &write)?;
        let (kind, object) = match write {
            Write::Create(object) => (ChangeKind::Added, object),
            Write::Replace(_, object) => (ChangeKind::Modified, object),
            Write::Delete(_, object) => (ChangeKind::Deleted, object),
        };
        let (stored, json) = serialized(table, object, revision, before.as_deref());
        let stored = Arc::new(stored);
        if let Some(journal) = &mut *journal {
            let gone = kind == ChangeKind::Deleted;
            let entry = Entry {
                table,
                namespace: &key.namespace,
                name: &key.name,
                revision,
                object: if gone { &[] } else { &json },
            };
            journal
                .append(&entry)
                .map_err(|_| WriteError::NotPersisted)?;
        }
        let mut inner = self.shared.inner.write();
        inner.revision = revision;
        inner.put(table, key, kind, before, &stored);
        drop(inner);
        if let Some(journal) = &mut *journal
            && let Some(log) = journal.outgrown()
            && let Err(source) = self.turn(log)
        {
            journal.not_turned(source);
        }
        Ok(Written { stored })
    }

    /// Forgets the changes of a table up to now, as a compaction does: older watches and pages have expired.
    pub fn compact(&self, table: &str) {
        let mut inner = self.shared.inner.write();
        let revision = inner.revision;
        if let Some(table) = inner.tables.get_mut(table) {
            table.log.write().forget(revision);
            table.newest.send_replace(revision);
        }
    }

    /// Removes the empty table of a resource that is not served any more. Its cursors get the changes up to
    /// here, and then that it is over.
    pub fn forget(&self, table: &str) {
        let mut inner = self.shared.inner.write();
        let is_empty = |table: &Table| table.objects.is_empty();
        if inner.tables.get(table).is_some_and(is_empty) {
            inner.tables.remove(table);
            // If the table is created again, a watch from before must expire.
            inner.forgotten = inner.revision;
        }
    }

    /// Follows the changes of a table, or only those of a namespace, after a revision.
    pub fn follow(
        &self,
        table: &str,
        namespace: Option<&str>,
        after: u64,
    ) -> Result<Cursor, TooOld> {
        let mut inner = self.shared.inner.write();
        let table = inner.table(table);
        table.log.read().check(after)?;
        Ok(table.follow(namespace, after))
    }

    /// Lets others know how far a cursor is, as long as the follower lives.
    pub fn observe(&self, cursor: &Cursor) -> Arc<Follower> {
        let follower = Arc::new(Follower::new(cursor));
        let mut followers = self.followers.lock();
        // Not at every watch: with thousands of them that would be most of the work.
        if followers.len() == followers.capacity() {
            followers.retain(|known| known.strong_count() > 0);
        }
        followers.push(Arc::downgrade(&follower));
        follower
    }

    /// Whether the readers of all watches have dealt with all there is.
    pub fn all_are_current(&self) -> bool {
        let followers: Vec<_> = self
            .followers
            .lock()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        followers.iter().all(|follower| follower.is_current())
    }

    /// The revision up to which a cursor has seen all there is; nothing if there are changes that it has not.
    pub fn seen_up_to(&self, cursor: &Cursor) -> Option<u64> {
        let inner = self.shared.inner.read();
        cursor.is_at_end().then_some(inner.revision)
    }
}

impl Inner {
    /// Without an object. Changes up to a revision are forgotten.
    fn new(revision: u64, forgotten: u64) -> Self {
        Self {
            revision,
            forgotten,
            dependents: BTreeSet::new(),
            uids: HashSet::new(),
            tables: HashMap::new(),
        }
    }

    /// Whether a change may be made: the object before it, and the revision that it will have.
    fn check(
        &self,
        table: &str,
        key: &Key,
        write: &Write,
    ) -> Result<(Option<Arc<Stored>>, u64), WriteError> {
        let objects = self.tables.get(table).map(|table| &table.objects);
        let before = objects.and_then(|objects| objects.get(key)).cloned();
        match (write, &before) {
            (Write::Create(_), Some(_)) => return Err(WriteError::Conflict),
            (Write::Replace(..) | Write::Delete(..), None) => return Err(WriteError::NotFound),
            (Write::Replace(revision, _) | Write::Delete(revision, _), Some(stored))
                if stored.revision != *revision =>
            {
                return Err(WriteError::Conflict);
            }
            _ => {}
        }
        Ok((before, self.revision + 1))
    }

    /// A table, which is made if it is not there.
    fn table(&mut self, name: &str) -> &mut Table {
        let forgotten = self.forgotten;
        self.tables
            .entry(name.into())
            .or_insert_with(|| Table::new(forgotten))
    }

    fn put(
        &mut self,
        name: &str,
        key: &Key,
        kind: ChangeKind,
        before: Option<Arc<Stored>>,
        stored: &Arc<Stored>,
    ) {
        let revision = stored.revision;
        let after = (kind != ChangeKind::Deleted).then_some(&**stored);
        self.index(name, key, before.as_deref(), after);
        self.table(name).put(Change {
            revision,
            at: Instant::now(),
            kind,
            key: key.clone(),
            object: Arc::clone(stored),
            before,
        });
    }

    fn index(&mut self, table: &str, key: &Key, before: Option<&Stored>, after: Option<&Stored>) {
        if let (Some(before), Some(after)) = (before, after)
            && before.uid == after.uid
            && before.owners == after.owners
        {
            return;
        }
        let name = self.tables.get_key_value(table);
        let name = name.map_or_else(|| table.into(), |(name, _)| Arc::clone(name));
        let dependent = |owner: &Arc<str>| (Arc::clone(owner), Arc::clone(&name), key.clone());
        if let Some(before) = before {
            for owner in &before.owners {
                self.dependents.remove(&dependent(owner));
            }
            self.uids.remove(&before.uid);
        }
        if let Some(after) = after {
            self.dependents.extend(after.owners.iter().map(dependent));
            self.uids.insert(Arc::clone(&after.uid));
        }
    }
}

/// An object of a table with its resource version, and its JSON.
fn serialized(
    table: &str,
    mut object: Value,
    revision: u64,
    before: Option<&Stored>,
) -> (Stored, Bytes) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
    }
    // It grew as it was written, and is kept for long.
    let json = Bytes::from(json::write(&object).into_boxed_slice());
    let compact = Compact::new(table, json.clone());
    (summarized(&object, compact, revision, before), json)
}
