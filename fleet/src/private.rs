//! Files that only their owner may read.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file that holds a key: a new one, which takes the place of what was there. Its rights are never those of
/// another file.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let draft = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options
        .open(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    let moved = written.and_then(|()| std::fs::rename(&draft, path));
    if moved.is_err() {
        // What is left of it holds a key, too. If it cannot be taken away, nobody else can read it.
        let _ = std::fs::remove_file(&draft);
    }
    moved
}
