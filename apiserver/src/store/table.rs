//! A table: the objects of one resource, and the last changes of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::watch;

use super::log::{Log, TableSize};
use super::{Change, ChangeKind, Cursor, Key, Stored};

pub(super) struct Table {
    pub(super) objects: BTreeMap<Key, Arc<Stored>>,
    /// Their size in bytes.
    bytes: usize,
    /// Those who follow it have it, too: they read it to its end when the table is gone.
    pub(super) log: Arc<RwLock<Log>>,
    pub(super) newest: watch::Sender<u64>,
    /// The last change of each namespace with a cursor of its own, which changes of other namespaces do not wake.
    of_namespaces: HashMap<Arc<str>, watch::Sender<u64>>,
}

impl Table {
    /// Without an object; changes up to a revision are forgotten.
    pub(super) fn new(revision: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            bytes: 0,
            log: Arc::new(RwLock::new(Log::new(revision))),
            newest: watch::Sender::new(revision),
            of_namespaces: HashMap::new(),
        }
    }

    /// Takes an object that is there before anything changes.
    pub(super) fn restore(&mut self, key: Key, stored: Arc<Stored>) {
        self.bytes += stored.json_len();
        self.objects.insert(key, stored);
    }

    /// Makes a change, appends it to the log, and wakes the cursors.
    pub(super) fn put(&mut self, change: Change) {
        let (revision, key) = (change.revision, change.key.clone());
        let replaced = if change.kind == ChangeKind::Deleted {
            self.objects.remove(&key)
        } else {
            self.bytes += change.object.json_len();
            self.objects.insert(key, Arc::clone(&change.object))
        };
        self.bytes -= replaced.map_or(0, |replaced| replaced.json_len());
        let of_namespace = self.of_namespaces.get(&change.key.namespace);
        let size = TableSize {
            objects: self.objects.len(),
            bytes: self.bytes,
        };
        self.log.write().push(change, size);
        self.newest.send_replace(revision);
        if let Some(newest) = of_namespace {
            newest.send_replace(revision);
        }
    }

    /// A place in the log after a revision.
    pub(super) fn follow(&mut self, namespace: Option<&str>, after: u64) -> Cursor {
        let namespace: Option<Arc<str>> = namespace.map(Arc::from);
        let newest = match &namespace {
            Some(namespace) => self.of_namespace(namespace).subscribe(),
            None => self.newest.subscribe(),
        };
        Cursor {
            log: Arc::clone(&self.log),
            namespace,
            after,
            newest,
        }
    }

    fn of_namespace(&mut self, namespace: &Arc<str>) -> &watch::Sender<u64> {
        if !self.of_namespaces.contains_key(namespace) {
            let all = &mut self.of_namespaces;
            all.retain(|_, newest| newest.receiver_count() > 0);
            let mut log = self.log.write();
            log.unfollow(|namespace| all.contains_key(namespace));
            let newest = watch::Sender::new(log.follow(namespace));
            all.insert(Arc::clone(namespace), newest);
        }
        &self.of_namespaces[namespace]
    }
}
