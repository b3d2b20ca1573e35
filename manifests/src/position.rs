//! Where an object was read.

use std::fmt;
use std::path::PathBuf;

/// A document of a file, and an item of it where the document is a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The file, `-` for standard input, or the folder of a kustomization.
    pub path: PathBuf,
    /// The first line of the document, from 1.
    pub line: usize,
    /// The number of the document in its file, from 1.
    pub document: usize,
    /// The index in `items`, if the document is a list.
    pub item: Option<usize>,
}

impl Position {
    /// The path as messages print it.
    pub fn file(&self) -> String {
        crate::messages::path(&self.path)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file())?;
        if self.line > 1 || self.document > 1 {
            write!(
                formatter,
                ": document {} (line {})",
                self.document, self.line
            )?;
        }
        match self.item {
            Some(item) => write!(formatter, ": items[{item}]"),
            None => Ok(()),
        }
    }
}
