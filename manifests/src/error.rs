//! What is wrong with inputs.

use std::path::PathBuf;

use crate::Position;
use crate::messages;
use crate::parse::YamlError;

/// Why a path cannot be read, or a document of it.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file, folder or standard input cannot be read.
    #[error("cannot read {}: {}", messages::path(.path), os_words(.source))]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Text that is neither YAML nor JSON.
    #[error("{}: {source}", .position.file())]
    Yaml {
        /// The document.
        position: Position,
        /// What is wrong, with line and column.
        source: YamlError,
    },
    /// A document that is not a Kubernetes object.
    #[error("{position}: {source}")]
    Object {
        /// The document.
        position: Position,
        /// What is missing.
        source: ObjectError,
    },
    /// A path holds no object.
    #[error("{}: no objects: {why}", messages::path(.path))]
    Empty {
        /// The path.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// Neither kustomize nor kubectl is installed.
    #[error("-k {}: neither kustomize nor kubectl is installed: install one, or pipe its output to -f -", .path.display())]
    NoKustomize {
        /// The kustomization.
        path: PathBuf,
    },
    /// A document of the policy generator, or a kustomization with one, yields nothing.
    #[error("{}: {why}", messages::path(.path))]
    Generator {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// kustomize failed.
    #[error("-k {}: {program}: {why}", .path.display())]
    Kustomize {
        /// The kustomization.
        path: PathBuf,
        /// The program and its sub-command.
        program: &'static str,
        /// What it printed.
        why: String,
    },
}

/// The words of the operating system for a failed read or write, without their number.
pub fn os_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// Why a document is not a Kubernetes object, in kubectl's words where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Not a mapping.
    #[error("expected an object, found {0}")]
    NotAnObject(&'static str),
    /// The `items` of a list are none.
    #[error("items: expected a list, found {0}")]
    NotAList(&'static str),
    /// No `apiVersion`.
    #[error("apiVersion not set")]
    ApiVersion,
    /// No `kind`.
    #[error("Object 'Kind' is missing")]
    Kind,
    /// No `metadata.name`.
    #[error("{kind}: resource name may not be empty (metadata.name)")]
    Name {
        /// The kind.
        kind: String,
    },
    /// A field is not text.
    #[error("{field}: expected a string, found {found}")]
    NotAString {
        /// The field.
        field: &'static str,
        /// The type of its value.
        found: &'static str,
    },
}
