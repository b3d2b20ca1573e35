//! Restores the objects of a folder.

use std::collections::BTreeMap;
use std::io::{Seek as _, SeekFrom};

use bytes::Bytes;

use super::files::private;
use super::journal::{Journal, begin_log, clean};
use super::record::{Entry, Next, Transport};
use super::{DataError, Folder};
use crate::stored::{FIRST_REVISION, Key, TableName};

/// The objects of a server as they were when it ended.
pub(crate) struct Restored {
    /// The revision of the last change.
    pub(crate) revision: u64,
    /// The objects, each with the revision of its last change.
    pub(crate) objects: BTreeMap<(TableName, Key), (u64, Bytes)>,
    /// Whether there was anything.
    pub(crate) is_new: bool,
    /// The journal of further changes.
    pub(crate) journal: Journal,
}

#[derive(Default)]
struct Reading {
    revision: u64,
    objects: BTreeMap<(TableName, Key), (u64, Bytes)>,
    /// Tables by name: most objects have one that was there before.
    tables: std::collections::BTreeSet<TableName>,
}

/// Reads the newest snapshot and the logs after it. A last record that is incomplete is cut off: no client was
/// sent an answer to it. Everything else that is not as it was written is an error.
pub(crate) fn restore(folder: &Folder) -> Result<Restored, DataError> {
    let snapshots = folder.revisions("snapshot")?;
    let logs = folder.revisions("log")?;
    let mut reading = Reading {
        revision: FIRST_REVISION,
        ..Reading::default()
    };
    let mut snapshot_length = 0;
    if let Some(newest) = snapshots.last() {
        snapshot_length = reading.snapshot(folder, *newest)?;
    }
    let start = reading.revision;
    let after: Vec<u64> = logs.into_iter().filter(|log| *log >= start).collect();
    if after.first() != Some(&start) && !(after.is_empty() && snapshots.is_empty()) {
        let path = if snapshots.is_empty() {
            folder.path.join("snapshot")
        } else {
            folder.log(start)
        };
        return Err(DataError::Missing { path });
    }
    let mut end = 0;
    for (place, log) in after.iter().enumerate() {
        end = reading.log(folder, *log, place + 1 == after.len())?;
    }
    let (log, length) = match after.last() {
        Some(last) if end > 0 => {
            let path = folder.log(*last);
            let open = || {
                let mut log = private(&path)?;
                log.set_len(end)?;
                log.seek(SeekFrom::End(0))?;
                Ok(log)
            };
            (open().map_err(DataError::write(&path))?, end)
        }
        _ => begin_log(folder, reading.revision)?,
    };
    clean(folder, start);
    Ok(Restored {
        revision: reading.revision,
        objects: reading.objects,
        is_new: after.is_empty(),
        journal: Journal::new(folder.clone(), log, length, snapshot_length),
    })
}

impl Reading {
    /// Answers how long the file is.
    fn snapshot(&mut self, folder: &Folder, revision: u64) -> Result<u64, DataError> {
        let mut file = Transport::open(&folder.snapshot(revision))?;
        let short = |file: &Transport| file.damaged(file.place(), "it ends here".to_owned());
        let Some(title) = file.title()? else {
            return Err(short(&file));
        };
        self.revision = title.revision;
        for _ in 0..title.objects {
            let Next::Body(place, body) = file.next()? else {
                return Err(short(&file));
            };
            let read = Entry::read(&body, |entry| self.take(entry));
            read.ok_or_else(|| file.damaged(place, "it is no object".to_owned()))?;
        }
        Ok(file.place())
    }

    /// Answers where the log ends: at 0 if it has not even begun.
    fn log(&mut self, folder: &Folder, after: u64, is_last: bool) -> Result<u64, DataError> {
        let path = folder.log(after);
        let mut file = Transport::open(&path)?;
        let torn = |file: &Transport, place: u64| {
            if is_last {
                tracing::warn!(path = %path.display(), offset = place, "the last change was not written to its end: it is cut off");
                Ok(place)
            } else {
                Err(file.damaged(
                    place,
                    "it ends here, and there is another log after it".to_owned(),
                ))
            }
        };
        let Some(title) = file.title()? else {
            return torn(&file, 0);
        };
        if title.revision != self.revision {
            let why = format!("it begins after {}, not {}", title.revision, self.revision);
            return Err(file.damaged(0, why));
        }
        loop {
            let (place, body) = match file.next()? {
                Next::Body(place, body) => (place, body),
                Next::End => return Ok(file.place()),
                Next::Torn(place) => return torn(&file, place),
            };
            let next = self.revision + 1;
            let revision = Entry::read(&body, |entry| {
                if entry.revision == next {
                    self.take(entry);
                }
                entry.revision
            });
            match revision {
                Some(revision) if revision == next => self.revision = next,
                Some(other) => {
                    let why = format!("change {other} stands where {next} should be");
                    return Err(file.damaged(place, why));
                }
                None => return Err(file.damaged(place, "it is no change".to_owned())),
            }
        }
    }

    fn take(&mut self, entry: &Entry<'_>) {
        let table = self.tables.get(entry.table).cloned();
        let table = table.unwrap_or_else(|| {
            let table = TableName::from(entry.table);
            self.tables.insert(TableName::clone(&table));
            table
        });
        let place = (table, Key::new(entry.namespace, entry.name));
        if entry.object.is_empty() {
            self.objects.remove(&place);
        } else {
            let object = Bytes::copy_from_slice(entry.object);
            self.objects.insert(place, (entry.revision, object));
        }
    }
}
