//! Files and folders that data is kept in: made for their owner only, and never reached through a symbolic link.

use std::fs::{DirBuilder, File, FileType, OpenOptions};
use std::io::{self, BufWriter, IntoInnerError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use super::DataError;

/// The folder that a user names, which is made with those above it if it does not exist. One that exists keeps its mode,
/// and may be a symbolic link: the user has named it.
pub(super) fn root_folder(path: &Path) -> Result<(), DataError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(DataError::NotFolder {
            path: path.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(DataError::write(path))
        }
        Err(error) => Err(DataError::read(path)(error)),
    }
}

/// A folder of Reeve's own, which is made if it does not exist. Servers that start side by side may ask for the same one.
pub(super) fn own_folder(path: &Path) -> Result<(), DataError> {
    let made = DirBuilder::new().mode(0o700).create(path);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder_exists(path)? => {
            Ok(())
        }
        made => made.map_err(DataError::write(path)),
    }
}

/// Whether a folder of Reeve's own exists. A symbolic link or a file in its place is an error.
pub(super) fn folder_exists(path: &Path) -> Result<bool, DataError> {
    match kind_of(path)? {
        None => Ok(false),
        Some(kind) if kind.is_dir() => Ok(true),
        Some(_) => Err(DataError::NotFolder {
            path: path.to_owned(),
        }),
    }
}

/// Whether a file of Reeve's own exists. A symbolic link or anything else in its place is an error.
pub(super) fn file_exists(path: &Path) -> Result<bool, DataError> {
    match kind_of(path)? {
        None => Ok(false),
        Some(kind) if kind.is_file() => Ok(true),
        Some(_) => Err(DataError::NotFile {
            path: path.to_owned(),
        }),
    }
}

/// What a path itself is, if it exists. A symbolic link is an error.
fn kind_of(path: &Path) -> Result<Option<FileType>, DataError> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(DataError::Symlink {
            path: path.to_owned(),
        }),
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DataError::read(path)(error)),
    }
}

/// Refuses a folder with symbolic links, pipes or devices in it.
pub(super) fn check_entries(folder: &Path) -> Result<(), DataError> {
    for entry in std::fs::read_dir(folder).map_err(DataError::read(folder))? {
        let path = entry.map_err(DataError::read(folder))?.path();
        match kind_of(&path)? {
            Some(kind) if !kind.is_file() && !kind.is_dir() => {
                return Err(DataError::NotFile { path });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The text of a file of Reeve's own, if it exists.
pub(super) fn text(path: &Path) -> Result<Option<String>, DataError> {
    if !file_exists(path)? {
        return Ok(None);
    }
    let read = open(path).and_then(io::read_to_string);
    read.map(Some).map_err(DataError::read(path))
}

/// Opens a file to be read.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(not_through_links());
    options.open(path)
}

/// Opens a file that only its owner may read and write, and creates it if it does not exist.
pub(super) fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(not_through_links());
    options.open(path)
}

/// The kernel refuses a link that was placed after the check.
fn not_through_links() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}

/// Puts a file there whole or not at all: written, forced to the disk, and named as the last step.
pub(super) fn put_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<u64, DataError> {
    let draft = path.with_extension("draft");
    let put = || {
        // What a process left behind that was killed here.
        match std::fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = BufWriter::new(private(&draft)?);
        write(&mut file)?;
        let file = file.into_inner().map_err(IntoInnerError::into_error)?;
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
