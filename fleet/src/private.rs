//! Files that only their owner may read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::Path;

/// Writes a file with a key. The file is new and replaces an existing one. Its mode is private from the start, or
/// that of the file `like` if there is one. The returned file is locked as long as it is open.
pub(crate) fn write_private(path: &Path, text: &str, like: Option<&Metadata>) -> io::Result<File> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let draft = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.try_lock()?;
        file.write_all(text.as_bytes())?;
        if let Some(like) = like {
            fchown(&file, Some(like.uid()), Some(like.gid()))?;
            file.set_permissions(like.permissions())?;
        }
        Ok(file)
    });
    let moved = written.and_then(|file| {
        std::fs::rename(&draft, path)?;
        Ok(file)
    });
    if moved.is_err() {
        // The draft holds a key, too. If it cannot be removed, its mode still protects it.
        let _ = std::fs::remove_file(&draft);
    }
    moved
}
