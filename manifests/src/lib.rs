//! Reads what users name on a command line: files, folders, standard input and kustomizations. Every object comes
//! with its position, every file that holds none with the reason why it was skipped, and every error names the file,
//! the document, the line and what is wrong. Nothing here reaches a cluster. What commands write
//! goes into files by one function, too.

mod error;
pub mod kustomize;
mod messages;
mod object;
mod parse;
mod position;
mod replace;
mod stdin;
mod walk;

#[cfg(test)]
mod tests;

pub use error::{ManifestError, ObjectError, os_words};
pub use object::Object;
pub use parse::{Document, YamlError, documents, from_yaml, nearest};
pub use position::Position;
pub use replace::{Readers, replace_file};
pub use stdin::stdin_bytes;
pub use walk::{Found, Input, Skipped, files, instead, read, read_stdin_text, read_text};

/// The path that names standard input.
pub const STDIN: &str = "-";
