//! Writes files that a command was told to write: whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its permissions stay; those of a new file are by the umask.
    Usual,
    /// Its owner only, also when others could read it before.
    Owner,
}

/// Puts a text in the place of a file, or of the file that a symbolic link names: written to a draft beside it, forced to the disk, and
/// renamed as the last step, so that an interruption leaves the one text or the other. What is no file, such as a pipe or a terminal,
/// is written to.
///
/// # Errors
/// When the folder or the file cannot be written. Then the file is as it was.
pub fn replace_file(path: &Path, text: &[u8], readers: Readers) -> io::Result<()> {
    let target = target(path)?;
    let before = match fs::metadata(&target) {
        Ok(before) if !before.is_file() => return fs::write(&target, text),
        Ok(before) => Some(before.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mode = match readers {
        Readers::Usual => 0o666,
        Readers::Owner => 0o600,
    };
    let mut draft = Builder::new()
        .prefix(".reeve-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    draft.write_all(text)?;
    if let (Some(before), Readers::Usual) = (before, readers) {
        draft.as_file().set_permissions(before)?;
    }
    draft.as_file().sync_all()?;
    draft.persist(&target)?;
    // The name is on the disk, too.
    File::open(folder)?.sync_all()
}

/// The file that a path names, through symbolic links.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => fs::canonicalize(path),
        _ => Ok(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn file_is_replaced_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        replace_file(&path, b"one", Readers::Owner).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), mode(&path)),
            (b"one".to_vec(), 0o600)
        );
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let open = File::open(&path).unwrap();
        replace_file(&path, b"two", Readers::Usual).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), mode(&path)),
            (b"two".to_vec(), 0o640)
        );
        replace_file(&path, b"three", Readers::Owner).unwrap();
        assert_eq!(mode(&path), 0o600);
        // An open file keeps the content that it had.
        assert_eq!(io::read_to_string(open).unwrap(), "one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "one").unwrap();
        symlink("file", &link).unwrap();
        replace_file(&link, b"two", Readers::Usual).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn what_cannot_be_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("file");
        let error = replace_file(&path, b"one", Readers::Usual).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(replace_file(Path::new("/dev/null"), b"one", Readers::Usual).is_ok());
        assert!(replace_file(folder.path(), b"one", Readers::Usual).is_err());
    }
}
