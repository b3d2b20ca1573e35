//! Persistence: a folder with a snapshot of its objects and a log of the changes since.
//!
//! A data folder ([`Data`]) has a marker (`marker`), and a folder for each server ([`Folder`]) with its own certificate
//! authority and its own keys. There `snapshot.N` has the objects as they were at revision N, `log.N` every change after it, in the order of
//! their revisions (`record` has the form). A change is in the log before anybody sees it, and before it is answered. It
//! got there by a plain write: it outlives the process, however that ends. It is not forced to the disk one by one, which
//! would cost milliseconds each, so when the *machine* dies, the last seconds may be gone. What is forced to the disk are
//! snapshots, the end of a log that is followed by another, and the log when the server ends in peace.

mod files;
mod journal;
mod keys;
mod marker;
mod record;
mod restore;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use journal::Journal;
pub(crate) use keys::secret;
pub use marker::DataKind;
pub(crate) use record::Entry;
pub(crate) use restore::restore;

use crate::meta::NoRandomness;
use crate::names;
use crate::pki::{Authority, AuthorityError};
use files::{check_entries, folder_exists, own_folder};

/// Why nothing can be kept in a folder, or read from it.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// There are no random numbers for keys and uids.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// Another process has it.
    #[error("{path} is in use by another process")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A folder has content, and no marker.
    #[error(
        "{path} is neither empty nor a data folder of Reeve, and nothing in it was changed: name a folder that is empty \
         or does not exist, for example {subfolder}",
        subfolder = .path.join("reeve").display()
    )]
    Unmarked {
        /// The folder.
        path: PathBuf,
    },
    /// A data folder keeps something else.
    #[error(
        "{path} keeps {kept}, not {wanted}: name another folder, or use the command that it belongs to"
    )]
    OtherKind {
        /// The folder.
        path: PathBuf,
        /// What it keeps.
        kept: DataKind,
        /// What is asked for.
        wanted: DataKind,
    },
    /// A data folder was written by a later version.
    #[error(
        "{path} has data of format {format}, and this version of Reeve reads formats up to {known}: use the version \
         that wrote it, or a later one"
    )]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its format.
        format: u64,
        /// The newest format that is read.
        known: u64,
    },
    /// A marker cannot be read.
    #[error("{path} is not the marker of a data folder of Reeve: {why}")]
    Marker {
        /// The marker.
        path: PathBuf,
        /// Validates it.
        why: String,
    },
    /// A symbolic link where a file or a folder should be.
    #[error(
        "{path} is a symbolic link, and Reeve keeps no data behind links: put the file or folder itself in its place"
    )]
    Symlink {
        /// The link.
        path: PathBuf,
    },
    /// Something else where a folder should be.
    #[error("{path} is not a folder")]
    NotFolder {
        /// What is there.
        path: PathBuf,
    },
    /// Something else where a file should be.
    #[error("{path} is not a regular file")]
    NotFile {
        /// What is there.
        path: PathBuf,
    },
    /// A folder of servers has an entry that cannot be one.
    #[error("{path} cannot be the folder of a cluster: its name is not a DNS label ({why})")]
    Name {
        /// The entry.
        path: PathBuf,
        /// Validates its name.
        why: String,
    },
    /// The content of a file is not what was written.
    #[error("{path} is damaged at byte {offset}: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it the part begins that cannot be read.
        offset: u64,
        /// Validates it.
        why: String,
    },
    /// A file that has to be there is not.
    #[error("{path} is missing")]
    Missing {
        /// The file or folder.
        path: PathBuf,
    },
    /// The authority cannot be made or read.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

impl DataError {
    fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }

    fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}

/// A folder in which servers keep what they have, held against other processes until this and all that came from it are
/// gone.
pub struct Data {
    path: PathBuf,
    lock: Arc<File>,
}

/// The folder of one server.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: Arc<File>,
}

impl Data {
    /// Opens a data folder of a kind. One that does not exist is made for its owner only; an empty one is taken as it is.
    pub fn open(path: &Path, kind: DataKind) -> Result<Self, DataError> {
        let lock = marker::claim(path, kind)?;
        Ok(Self {
            path: path.to_owned(),
            lock: Arc::new(lock),
        })
    }

    /// The folder of the only server, or of the one server of its kind.
    pub fn folder(&self, name: &str) -> Result<Folder, DataError> {
        self.own(self.path.join(name))
    }

    /// The folder of one server among many of its kind.
    pub fn folder_in(&self, group: &str, name: &str) -> Result<Folder, DataError> {
        let path = self.path.join(group);
        own_folder(&path)?;
        self.own(path.join(name))
    }

    fn own(&self, path: PathBuf) -> Result<Folder, DataError> {
        own_folder(&path)?;
        check_entries(&path)?;
        Ok(Folder {
            path,
            _lock: Arc::clone(&self.lock),
        })
    }

    /// The names of the servers of a group, in order. An entry that is no folder, or has no name for a server, is an error.
    pub fn names_in(&self, group: &str) -> Result<Vec<String>, DataError> {
        let path = self.path.join(group);
        if !folder_exists(&path)? {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(DataError::read(&path))? {
            let entry = entry.map_err(DataError::read(&path))?;
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str() else {
                let why = "it is not UTF-8".to_owned();
                return Err(DataError::Name { path, why });
            };
            if let Some(why) = names::label(name).into_iter().next() {
                return Err(DataError::Name { path, why });
            }
            folder_exists(&path)?;
            found.push(name.to_owned());
        }
        found.sort();
        Ok(found)
    }
}

impl Folder {
    /// The certificate authority of the server and its clients, the same since the folder was created.
    pub fn authority(&self) -> Result<Authority, DataError> {
        keys::authority(&self.path)
    }

    fn snapshot(&self, revision: u64) -> PathBuf {
        self.path.join(format!("snapshot.{revision:020}"))
    }

    fn log(&self, after: u64) -> PathBuf {
        self.path.join(format!("log.{after:020}"))
    }

    /// The revisions in the names of files of a kind, in order.
    fn revisions(&self, of: &str) -> Result<Vec<u64>, DataError> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(DataError::read(&self.path))? {
            let entry = entry.map_err(DataError::read(&self.path))?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(of));
            let number = number.and_then(|rest| rest.strip_prefix('.'));
            found.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Forces the names of files to the disk.
    fn sync(&self) -> Result<(), DataError> {
        let folder = File::open(&self.path).map_err(DataError::read(&self.path))?;
        folder.sync_all().map_err(DataError::write(&self.path))
    }
}
