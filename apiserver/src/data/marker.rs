//! The marker of a data folder: a file that marks the folder as Reeve's, with what it stores and in which format. Nothing
//! is changed in a folder that has none, unless it is empty.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::DataError;
use super::files::{file_exists, private, put_file, root_folder, text};

const MARKER: &str = "reeve-data.json";
/// The marker while it is written.
const DRAFT: &str = "reeve-data.draft";
/// Held while a process uses the folder.
const LOCK: &str = "lock";
/// The newest format that is read, and the one that is written.
const FORMAT: u64 = 1;

/// The kind of a data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataKind {
    /// One API server.
    ApiServer,
    /// The hub and the managed clusters of a fleet.
    Fleet,
}

impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiServer => "the API server of `reeve apiserver`",
            Self::Fleet => "the fleet of `reeve up`",
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Marker {
    format: u64,
    keeps: DataKind,
}

/// The fields that every format has.
#[derive(Deserialize)]
struct Format {
    format: u64,
}

/// Takes a folder into use, and marks it if it is new. It is locked until the file is closed.
pub(super) fn claim(path: &Path, kind: DataKind) -> Result<File, DataError> {
    root_folder(path)?;
    if !is_marked(path, kind)? {
        check_new(path)?;
    }
    let lock = lock(path)?;
    // Another process may have been faster before the lock was held.
    if !is_marked(path, kind)? {
        check_new(path)?;
        mark(path, kind)?;
    }
    Ok(lock)
}

/// Whether a folder has a marker. One of another kind or of a newer format is an error.
fn is_marked(folder: &Path, kind: DataKind) -> Result<bool, DataError> {
    let path = folder.join(MARKER);
    let Some(text) = text(&path)? else {
        return Ok(false);
    };
    let wrong = |why: String| DataError::Marker {
        path: path.clone(),
        why,
    };
    let Format { format } = serde_json::from_str(&text).map_err(|why| wrong(why.to_string()))?;
    if format > FORMAT {
        return Err(DataError::Newer {
            path: folder.to_owned(),
            format,
            known: FORMAT,
        });
    }
    if format == 0 {
        return Err(wrong("there is no format 0".to_owned()));
    }
    let marker: Marker = serde_json::from_str(&text).map_err(|why| wrong(why.to_string()))?;
    if marker.keeps != kind {
        return Err(DataError::OtherKind {
            path: folder.to_owned(),
            kept: marker.keeps,
            wanted: kind,
        });
    }
    Ok(true)
}

/// Refuses a folder with anything in it but what a first start leaves that was interrupted before it wrote the marker.
fn check_new(folder: &Path) -> Result<(), DataError> {
    for entry in std::fs::read_dir(folder).map_err(DataError::read(folder))? {
        let entry = entry.map_err(DataError::read(folder))?;
        let name = entry.file_name();
        let of_a_start = name == LOCK || name == DRAFT;
        if !of_a_start || !file_exists(&entry.path())? {
            return Err(DataError::Unmarked {
                path: folder.to_owned(),
            });
        }
    }
    Ok(())
}

fn lock(folder: &Path) -> Result<File, DataError> {
    let path = folder.join(LOCK);
    file_exists(&path)?;
    let lock = private(&path).map_err(DataError::write(&path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(DataError::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(DataError::write(&path)(source)),
    }
}

fn mark(folder: &Path, kind: DataKind) -> Result<(), DataError> {
    let marker = Marker {
        format: FORMAT,
        keeps: kind,
    };
    put_file(&folder.join(MARKER), |file| {
        serde_json::to_writer(&mut *file, &marker)?;
        file.write_all(b"\n")
    })?;
    Ok(())
}
