//! What a server keeps on disk: a folder with a snapshot of its objects and a log of the changes since.
//!
//! A folder of servers ([`Data`]) has the certificate authority that vouches for all of them, and a folder for each
//! ([`Folder`]): `snapshot.N` has the objects as they were at revision N, `log.N` every change after it, in the order of
//! their revisions (`record` has the form). A change is in the log before anybody sees it, and before it is answered. It
//! got there by a plain write: it outlives the process, however that ends. It is not forced to the disk one by one, which
//! would cost milliseconds each, so when the *machine* dies, the last seconds may be gone. What is forced to the disk are
//! snapshots, the end of a log that is followed by another, and the log when the server ends in peace.

mod journal;
mod keys;
mod record;
mod restore;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use journal::Journal;
pub(crate) use keys::secret;
pub(crate) use record::Entry;
pub(crate) use restore::restore;

use crate::authority::{Authority, AuthorityError};

/// Why nothing can be kept in a folder, or read from it.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another process has it.
    #[error("{path} is in use by another process")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// What a file says cannot be what was written.
    #[error("{path} is damaged at byte {offset}: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it the part begins that cannot be read.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A file that has to be there is not.
    #[error("{path} is missing")]
    Missing {
        /// Which.
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
    authority: Arc<Authority>,
    lock: Arc<File>,
}

/// The folder of one server.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: Arc<File>,
}

impl Data {
    /// Opens a folder, and makes it with an authority if it is not there. It can be read by its owner only.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        make_folder(path)?;
        let name = path.join("lock");
        let lock = private(&name).map_err(DataError::write(&name))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.to_owned();
                return Err(DataError::InUse { path });
            }
            Err(TryLockError::Error(source)) => return Err(DataError::write(&name)(source)),
        }
        Ok(Self {
            path: path.to_owned(),
            authority: Arc::new(keys::authority(path)?),
            lock: Arc::new(lock),
        })
    }

    /// Who vouches for the servers and their clients, today as when the folder was made.
    pub fn authority(&self) -> &Arc<Authority> {
        &self.authority
    }

    /// The folder of a server, which is made if it is not there.
    pub fn folder(&self, name: &str) -> Result<Folder, DataError> {
        let path = self.path.join(name);
        make_folder(&path)?;
        Ok(Folder {
            path,
            _lock: Arc::clone(&self.lock),
        })
    }

    /// The names of the servers that have a folder here, in order.
    pub fn servers(&self) -> Result<Vec<String>, DataError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(DataError::read(&self.path))? {
            let entry = entry.map_err(DataError::read(&self.path))?;
            if entry.path().is_dir()
                && let Some(name) = entry.file_name().to_str()
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }
}

impl Folder {
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

/// A folder that its owner may look into, and nobody else.
fn make_folder(path: &Path) -> Result<(), DataError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(DataError::write(path))?;
    let rights = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(path, rights).map_err(DataError::write(path))
}

/// Opens a file that its owner may read and write, and nobody else; makes it if it is not there.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

/// Puts a file there whole or not at all: written, forced to the disk, and named as the last step.
fn put_file(
    path: &Path,
    write: impl FnOnce(&mut io::BufWriter<File>) -> io::Result<()>,
) -> Result<u64, DataError> {
    let draft = path.with_extension("draft");
    let put = || {
        // What a process left behind that was killed here.
        match std::fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = io::BufWriter::new(private(&draft)?);
        write(&mut file)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        let length = file.metadata()?.len();
        std::fs::rename(&draft, path)?;
        Ok(length)
    };
    let length = put().map_err(DataError::write(path))?;
    if let Some(folder) = path.parent() {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(DataError::write(folder))?;
    }
    Ok(length)
}
