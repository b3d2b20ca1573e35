//! The folder with the kubeconfigs that the controllers of a fleet are told to use.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Begins the name of every such folder.
const PREFIX: &str = "reeve-up-";
/// Locked as long as the process runs.
const LOCK: &str = ".reeve-up";
/// The lock before it is one.
const DRAFT: &str = ".reeve-up.new";

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
        let draft = folder.path().join(DRAFT);
        let lock = File::create_new(&draft)?;
        lock.try_lock()?;
        // Nobody finds a lock that is not held.
        fs::rename(draft, folder.path().join(LOCK))?;
        let owner = fs::symlink_metadata(folder.path())?.uid();
        for abandoned in abandoned(parent, owner) {
            // Whatever hinders that hinders nobody else.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what a fleet has written. A folder with anything else stays: it is somebody's.
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
