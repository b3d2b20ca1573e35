//! A store whose objects are kept on disk.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::{Inner, Shared, Store, Stored, Table, TableName};
use crate::compact::Compact;
use crate::data::{self, DataError, Folder};
use crate::stored::{Key, summarized};

impl Store {
    /// With the objects that a folder has, where all changes are kept from now on. The changes before this are forgotten:
    /// who watched them has to list again.
    pub fn open(folder: &Folder) -> Result<Self, DataError> {
        let restored = data::restore(folder)?;
        let forgotten = if restored.is_new {
            0
        } else {
            restored.revision
        };
        let mut inner = Inner::new(restored.revision, forgotten);
        for ((table, key), (revision, bytes)) in restored.objects {
            // It was serialized from one, and its checksum is right.
            let object = crate::json::parse_own(&bytes).unwrap_or_default();
            let json = Compact::new(&table, bytes);
            let stored = Arc::new(summarized(&object, json, revision, None));
            inner.index(&table, &key, None, Some(&stored));
            inner.table(&table).restore(key, stored);
        }
        Ok(Self::of(inner, Some(restored.journal)))
    }

    /// All objects of all tables.
    pub fn everything(&self) -> Vec<(TableName, Key, Arc<Stored>)> {
        self.shared.inner.read().everything()
    }

    /// Begins another log, and makes a snapshot of all objects, while others go on.
    pub(super) fn turn(&self, log: Arc<File>) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("snapshot".to_owned());
        // The one before has ended: there are never two.
        *self.turner.lock() = Some(thread.spawn(move || shared.turn(&log))?);
        Ok(())
    }

    /// Waits for the snapshot that is being made.
    fn turned(&self) {
        let turner = self.turner.lock().take();
        if turner.is_some_and(|turner| turner.join().is_err()) {
            tracing::error!("making a snapshot broke");
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.turned();
        if let Some(journal) = self.shared.journal.lock().take() {
            journal.sync();
        }
    }
}

impl Shared {
    fn turn(&self, log: &File) {
        // Before anybody has to wait for it. Whether it worked is asked again when it has to.
        let _ = log.sync_data();
        let begun = {
            let mut journal = self.journal.lock();
            let Some(journal) = &mut *journal else {
                return;
            };
            // Nothing changes while the journal is locked.
            let revision = self.inner.read().revision;
            journal.turn(revision).map(|mut turn| {
                turn.objects = self.inner.read().everything();
                turn
            })
        };
        let made = begun.and_then(|turn| turn.write());
        if let Some(journal) = &mut *self.journal.lock() {
            journal.turned(made);
        }
    }
}

impl Inner {
    fn everything(&self) -> Vec<(TableName, Key, Arc<Stored>)> {
        let of_table = |(name, table): (&TableName, &Table)| {
            let name = Arc::clone(name);
            let objects = table.objects.iter();
            objects
                .map(|(key, stored)| (Arc::clone(&name), key.clone(), Arc::clone(stored)))
                .collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(of_table).collect()
    }
}

#[cfg(test)]
impl Store {
    /// Does something with the journal.
    pub fn with_journal(&self, change: impl FnOnce(&mut data::Journal)) {
        if let Some(journal) = &mut *self.shared.journal.lock() {
            change(journal);
        }
    }

    /// Waits for a snapshot that is being made.
    pub fn wait_for_snapshot(&self) {
        self.turned();
    }
}
