//! The folder with the kubeconfigs of a fleet's controllers.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The prefix of every such folder's name.
const PREFIX: &str = "reeve-up-";
/// The lock file; locked as long as the process runs.
const LOCK: &str = ".reeve-up";
/// The name of the lock file until it is locked.
const DRAFT: &str = ".reeve-up.new";

/// A temporary folder that is removed on drop. A new one also removes the folders of processes that were killed.
pub struct Scratch {
    folder: tempfile::TempDir,
    _lock: File,
}

impl Scratch {
    /// Creates one in the temporary directory of this machine.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let draft = folder.path().join(DRAFT);
        let lock = File::create_new(&draft)?;
        lock.try_lock()?;
        // The lock file gets its name only when it is locked: other processes never find it unlocked.
        fs::rename(draft, folder.path().join(LOCK))?;
        let owner = fs::symlink_metadata(folder.path())?.uid();
        for abandoned in abandoned(parent, owner) {
            // A folder that cannot be removed does not stop this process.
            match remove(&abandoned) {
                Ok(()) => {
                    tracing::debug!(folder = %abandoned.display(), "abandoned folder removed");
                }
                Err(error) => {
                    tracing::debug!(folder = %abandoned.display(), %error, "abandoned folder not removed");
                }
            }
        }
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the files that a fleet writes. A folder with any other file stays.
fn remove(folder: &Path) -> io::Result<()> {
    let mut ours = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_lock = path.file_name().is_some_and(|name| name == LOCK);
        let is_kubeconfig = path.extension().is_some_and(|end| end == "kubeconfig");
        if !is_lock && !is_kubeconfig {
            return Err(io::Error::other("it has files of others"));
        }
        ours.push(path);
    }
    for path in ours {
        fs::remove_file(path)?;
    }
    fs::remove_dir(folder)
}

/// The folders of processes that have ended: their locks are free. A folder without a lock file is skipped: a process
/// is just creating it, or it is not a fleet's.
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
    fn abandoned_folders_are_removed_at_next_start_and_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for (name, files) in [
            ("reeve-up-killed", &[LOCK, "hub.kubeconfig"][..]),
            ("reeve-up-of-a-user", &["notes"]),
            ("reeve-up-data", &["lock", "reeve-data.json"]),
            ("reeve-up-mixed", &[LOCK, "notes"]),
            ("other", &[LOCK]),
        ] {
            fs::create_dir(at(name)).unwrap();
            for file in files {
                fs::write(at(name).join(file), "").unwrap();
            }
        }
        std::os::unix::fs::symlink(at("other"), at("reeve-up-link")).unwrap();
        let running = Scratch::new_in(parent.path()).unwrap();
        let second = Scratch::new_in(parent.path()).unwrap();
        assert!(running.path().exists() && second.path().exists());
        assert!(!at("reeve-up-killed").exists());
        for (name, file) in [
            ("reeve-up-of-a-user", "notes"),
            ("reeve-up-data", "lock"),
            ("reeve-up-mixed", "notes"),
            ("other", LOCK),
        ] {
            assert!(at(name).join(file).exists(), "{name}");
        }
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
