//! The folder with the kubeconfigs that the controllers of a fleet are told to use.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Begins the name of every such folder.
const PREFIX: &str = "reeve-up-";
/// Locked as long as the process runs.
const LOCK: &str = "lock";

/// A temporary folder that goes with this. What an earlier process could not remove, because it was killed, goes when the
/// next one is made.
pub struct Scratch {
    folder: tempfile::TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one among the temporary files of this machine.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create_new(folder.path().join(LOCK))?;
        lock.try_lock()?;
        let owner = fs::symlink_metadata(folder.path())?.uid();
        for abandoned in abandoned(parent, owner) {
            // Whatever hinders that hinders nobody else.
            let removed = fs::remove_dir_all(&abandoned);
            tracing::debug!(folder = %abandoned.display(), ?removed, "abandoned folder removed");
        }
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The folders of processes that have ended: nobody locks them. A folder without a lock is being made, or none of ours.
fn abandoned(parent: &Path, owner: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_abandoned = |path: &PathBuf| {
        let is_ours = fs::symlink_metadata(path)
            .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == owner);
        let lock = || File::open(path.join(LOCK));
        is_ours && lock().is_ok_and(|lock| lock.try_lock().is_ok())
    };
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .filter(is_abandoned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_folders_go_with_the_next_start_and_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for (name, file) in [
            ("reeve-up-killed", LOCK),
            ("reeve-up-of-a-user", "notes"),
            ("other", LOCK),
        ] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(at("other"), at("reeve-up-link")).unwrap();
        let running = Scratch::new_in(parent.path()).unwrap();
        let second = Scratch::new_in(parent.path()).unwrap();
        assert!(running.path().exists() && second.path().exists());
        assert!(!at("reeve-up-killed").exists());
        assert!(at("reeve-up-of-a-user").exists() && at("other").join(LOCK).exists());
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
