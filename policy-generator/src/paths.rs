//! Where the files are. Paths of a document are relative to the working directory, and manifests must be below it.

use std::path::{Component, Path, PathBuf};

use crate::error::Error;
use crate::messages;

/// The directory that all paths are relative to.
#[derive(Clone, Debug)]
pub struct Base {
    /// As paths are joined with it.
    dir: PathBuf,
    /// With all symbolic links resolved.
    resolved: PathBuf,
}

impl Base {
    /// A working directory.
    pub fn new(dir: &Path) -> Result<Self, Error> {
        let resolved = dir.canonicalize().map_err(|error| {
            let dir = dir.display().to_string();
            Error::new(messages::unresolved_base(&dir, &messages::io(&error)))
        })?;
        Ok(Self {
            dir: dir.to_owned(),
            resolved,
        })
    }

    /// A path of the document as the operating system takes it.
    pub fn join(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    /// Refuses a path that is the directory itself or outside of it. `word` says what the path is for.
    pub fn check(&self, path: &str, word: &str) -> Result<(), Error> {
        let resolved = self
            .join(path)
            .canonicalize()
            .map_err(|_| Error::new(messages::unresolved_path(path, word)))?;
        let Ok(relative) = resolved.strip_prefix(&self.resolved) else {
            return Err(Error::new(if self.resolved == resolved {
                messages::path_is_base(path, word)
            } else {
                messages::path_outside_base(path, word)
            }));
        };
        let mut parts = relative.components();
        match parts.next() {
            None | Some(Component::CurDir) => Err(Error::new(messages::path_is_base(path, word))),
            Some(_) => Ok(()),
        }
    }
}
