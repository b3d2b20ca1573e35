//! Files that only their owner may read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file that holds a key: a new one, which takes the place of what was there. Its rights are never those of
/// another file. It is locked as long as the answer lives.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<File> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let draft = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.try_lock()?;
        file.write_all(text.as_bytes())?;
        Ok(file)
    });
    let moved = written.and_then(|file| {
        std::fs::rename(&draft, path)?;
        Ok(file)
    });
    if moved.is_err() {
        // What is left of it holds a key, too. If it cannot be taken away, nobody else can read it.
        let _ = std::fs::remove_file(&draft);
    }
    moved
}
