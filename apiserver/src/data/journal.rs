//! The log of changes while a server runs, and how another one takes its place.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use super::files::{private, put_file};
use super::record::{Entry, Title};
use super::{DataError, Folder};
use crate::stored::{Key, Stored, TableName};

/// A log is not followed by another one before it has so many bytes, however small the snapshot is.
const SMALLEST: u64 = 4 << 20;

/// The disk does not take what is written. Nothing is written any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritten;

/// The log that changes are appended to.
pub(crate) struct Journal {
    folder: Folder,
    log: Arc<File>,
    /// The length of the log in bytes.
    length: u64,
    /// The length at which the log is rotated.
    limit: u64,
    smallest: u64,
    /// Whether a snapshot is being made.
    turning: bool,
    /// Whether the disk has refused a change. What is after that in the log is nothing.
    broken: bool,
}

/// The objects of a new snapshot.
pub(crate) struct Turn {
    folder: Folder,
    /// The revision that it is of.
    pub(crate) revision: u64,
    /// All objects.
    pub(crate) objects: Vec<(TableName, Key, Arc<Stored>)>,
}

impl Journal {
    /// Goes on with a log of that length, which ends in a whole record.
    pub(super) fn new(folder: Folder, log: File, length: u64, snapshot: u64) -> Self {
        Self {
            folder,
            log: Arc::new(log),
            length,
            limit: SMALLEST.max(snapshot),
            smallest: SMALLEST,
            turning: false,
            broken: false,
        }
    }

    /// Writes a change. It outlives the process when this has answered.
    pub(crate) fn append(&mut self, entry: &Entry<'_>) -> Result<(), Unwritten> {
        if self.broken {
            return Err(Unwritten);
        }
        let mut record = Vec::with_capacity(entry.object.len() + 256);
        let written = entry
            .frame(&mut record)
            .and_then(|()| (&*self.log).write_all(&record));
        if let Err(error) = written {
            // A part of it may be there: what came after it could not be read again.
            self.broken = true;
            let folder = self.folder.path.display();
            tracing::error!(%folder, %error, "a change cannot be written to disk: no more changes are accepted");
            return Err(Unwritten);
        }
        self.length += record.len() as u64;
        Ok(())
    }

    /// The log, if it is time to begin another one; from then on one is in the making.
    pub(crate) fn outgrown(&mut self) -> Option<Arc<File>> {
        if self.turning || self.broken || self.length < self.limit {
            return None;
        }
        self.turning = true;
        Some(Arc::clone(&self.log))
    }

    /// Begins the log of what comes after a revision. Writes wait until this is over.
    pub(crate) fn turn(&mut self, revision: u64) -> Result<Turn, DataError> {
        let path = self.folder.log(revision);
        if self.broken {
            let source = io::Error::other("a change before it could not be written");
            return Err(DataError::Write { path, source });
        }
        // Most of it was synced before, while no request waited for it.
        self.log.sync_data().map_err(DataError::write(&path))?;
        let (log, length) = begin_log(&self.folder, revision).inspect_err(|_| {
            // What goes on in the old log must not be followed by this one.
            self.broken = std::fs::remove_file(&path).is_err() && path.exists();
        })?;
        self.log = Arc::new(log);
        self.length = length;
        Ok(Turn {
            folder: self.folder.clone(),
            revision,
            objects: Vec::new(),
        })
    }

    /// A snapshot has been made of so many bytes, or has failed: the log has to grow again before the next.
    pub(crate) fn turned(&mut self, snapshot: Result<u64, DataError>) {
        self.turning = false;
        match snapshot {
            Ok(length) => self.limit = self.smallest.max(length),
            Err(error) => {
                // Nothing is lost: the older snapshot is there, and all logs after it.
                self.limit += self.length;
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "no snapshot could be made; the logs stay");
            }
        }
    }

    /// Snapshots fail.
    pub(crate) fn not_turned(&mut self, source: io::Error) {
        let path = self.folder.path.clone();
        self.turned(Err(DataError::Write { path, source }));
    }

    /// Forces what is in the log to the disk.
    pub(crate) fn sync(&self) {
        if let Err(error) = self.log.sync_data() {
            tracing::warn!(%error, "the log cannot be forced to the disk");
        }
    }

    /// Makes snapshots of logs that are no longer than this.
    #[cfg(test)]
    pub(crate) fn turn_early(&mut self, length: u64) {
        (self.smallest, self.limit) = (length, length);
    }

    /// From now on writes to another file.
    #[cfg(test)]
    pub(crate) fn write_to(&mut self, file: File) {
        self.log = Arc::new(file);
    }
}

impl Turn {
    /// Writes the snapshot, and removes the files that it replaces. Returns its length.
    pub(crate) fn write(&self) -> Result<u64, DataError> {
        let length = put_file(&self.folder.snapshot(self.revision), |file| {
            file.write_all(&Title::new(self.revision, self.objects.len()).framed()?)?;
            let mut record = Vec::new();
            for (table, key, stored) in &self.objects {
                record.clear();
                let entry = Entry {
                    table,
                    namespace: &key.namespace,
                    name: &key.name,
                    revision: stored.revision,
                    object: &stored.json(),
                };
                entry.frame(&mut record)?;
                file.write_all(&record)?;
            }
            Ok(())
        })?;
        clean(&self.folder, self.revision);
        Ok(length)
    }
}

/// Makes the log of what comes after a revision. Answers it with its length.
pub(super) fn begin_log(folder: &Folder, revision: u64) -> Result<(File, u64), DataError> {
    let path = folder.log(revision);
    let begin = || {
        let title = Title::new(revision, 0).framed()?;
        let mut log = private(&path)?;
        log.set_len(0)?;
        log.write_all(&title)?;
        io::Result::Ok((log, title.len() as u64))
    };
    let started = begin().map_err(DataError::write(&path))?;
    folder.sync()?;
    Ok(started)
}

/// Takes away what is older than the snapshot of a revision. What cannot be taken away does no harm.
pub(super) fn clean(folder: &Folder, revision: u64) {
    let older = |of| {
        let all = folder.revisions(of).unwrap_or_default();
        all.into_iter().filter(|one| *one < revision)
    };
    for path in older("log")
        .map(|one| folder.log(one))
        .chain(older("snapshot").map(|one| folder.snapshot(one)))
    {
        if let Err(error) = std::fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "a file that is no longer needed cannot be deleted");
        }
    }
}
