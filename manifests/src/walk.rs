//! From paths to objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::kustomize::RenderError;
use crate::object::type_of;
use crate::parse::{documents, value};
use crate::stdin::stdin_bytes;
use crate::{ManifestError, Object, ObjectError, Position, STDIN, kustomize, messages};

/// The names of a kustomization's file.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A path on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, a folder that is read recursively, or `-`.
    Path(PathBuf),
    /// A kustomization.
    Kustomization(PathBuf),
}

/// A file that was not read, or a document that holds no object for the reader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// What was skipped.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// What inputs hold.
#[derive(Debug, Default)]
pub struct Found {
    /// The objects in the order of the inputs; in a folder in the order of the paths.
    pub objects: Vec<Object>,
    /// What was not read.
    pub skipped: Vec<Skipped>,
    /// What could not be read. The other documents of a file are read all the same.
    pub errors: Vec<ManifestError>,
}

/// Reads inputs. An input without an object and without an error is an error.
pub fn read(inputs: &[Input]) -> Found {
    let mut found = Found::default();
    for input in inputs {
        let before = (found.objects.len(), found.errors.len());
        let skipped = found.skipped.len();
        let path = match input {
            Input::Kustomization(path) => {
                match kustomize::render(path, &[]) {
                    Ok(text) => add_text(path, &text, &mut found),
                    Err(error) => found.errors.push(unrendered(path, error)),
                }
                path
            }
            Input::Path(path) => {
                read_path(path, &mut found);
                path
            }
        };
        if before == (found.objects.len(), found.errors.len()) {
            let why = instead(found.skipped.get(skipped..).unwrap_or_default());
            found.errors.push(ManifestError::Empty {
                path: path.clone(),
                why,
            });
        }
    }
    found
}

/// What an input without objects has instead.
pub fn instead(skipped: &[Skipped]) -> String {
    match skipped {
        [] => "it is empty".to_owned(),
        some => {
            let some = some.iter().take(3);
            let names: Vec<String> = some
                .map(|one| format!("{} ({})", one.path.display(), one.reason))
                .collect();
            format!("skipped {}", names.join(", "))
        }
    }
}

/// Reads a text that another program made from a file.
pub fn read_text(path: &Path, text: &str) -> Found {
    let mut found = Found::default();
    add_text(path, text, &mut found);
    found
}

/// Reads a text that came by standard input.
pub fn read_stdin_text(text: &str) -> Found {
    let mut found = read_text(Path::new(STDIN), text);
    if found.objects.is_empty() && found.errors.is_empty() {
        found.errors.push(ManifestError::Empty {
            path: STDIN.into(),
            why: instead(&[]),
        });
    }
    found
}

fn read_path(path: &Path, found: &mut Found) {
    if path == Path::new(STDIN) {
        match stdin_bytes() {
            Ok(bytes) => read_bytes(path, bytes, found),
            Err(source) => found.errors.push(unreadable(path, source)),
        }
        return;
    }
    let (files, skipped, errors) = files(path);
    found.skipped.extend(skipped);
    found.errors.extend(errors);
    for file in files {
        match std::fs::read(&file) {
            Ok(bytes) => read_bytes(&file, bytes, found),
            Err(source) => found.errors.push(unreadable(&file, source)),
        }
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> ManifestError {
    ManifestError::Read {
        path: path.to_owned(),
        source,
    }
}

fn unrendered(path: &Path, error: RenderError) -> ManifestError {
    let path = path.to_owned();
    match error {
        RenderError::NotInstalled => ManifestError::NoKustomize { path },
        RenderError::Failed { program, why } => ManifestError::Kustomize { path, program, why },
    }
}

/// A file itself, or the YAML and JSON files of a folder and of the folders in it, in the order of their paths.
pub fn files(path: &Path) -> (Vec<PathBuf>, Vec<Skipped>, Vec<ManifestError>) {
    let mut walk = Walk::default();
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => walk.folder(path),
        Ok(_) => walk.files.push(path.to_owned()),
        Err(source) => walk.errors.push(unreadable(path, source)),
    }
    (walk.files, walk.skipped, walk.errors)
}

#[derive(Default)]
struct Walk {
    files: Vec<PathBuf>,
    skipped: Vec<Skipped>,
    errors: Vec<ManifestError>,
    /// The folders that have been entered: a link must not lead back to one.
    entered: BTreeSet<PathBuf>,
}

impl Walk {
    fn skip(&mut self, path: &Path, reason: &str) {
        self.skipped.push(Skipped {
            path: path.to_owned(),
            reason: reason.to_owned(),
        });
    }

    fn folder(&mut self, folder: &Path) {
        let entries = folder.canonicalize().and_then(|real| {
            if !self.entered.insert(real) {
                self.skip(folder, messages::LOOP);
                return Ok(Vec::new());
            }
            let entries = std::fs::read_dir(folder)?;
            let mut paths: Vec<PathBuf> = entries
                .map(|entry| Ok(entry?.path()))
                .collect::<std::io::Result<_>>()?;
            paths.sort();
            Ok(paths)
        });
        match entries {
            Ok(entries) => entries.iter().for_each(|path| self.entry(path)),
            Err(source) => self.errors.push(unreadable(folder, source)),
        }
    }

    fn entry(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            return self.skip(path, messages::HIDDEN);
        }
        match std::fs::metadata(path) {
            Err(source) => self.errors.push(unreadable(path, source)),
            Ok(metadata) if metadata.is_dir() => self.folder(path),
            Ok(metadata) if !metadata.is_file() => self.skip(path, messages::SPECIAL),
            Ok(_) if KUSTOMIZATIONS.contains(&name.as_ref()) => {
                self.skip(path, messages::KUSTOMIZATION);
            }
            Ok(_) if is_manifest(path) => self.files.push(path.to_owned()),
            Ok(_) => self.skip(path, messages::NOT_A_MANIFEST),
        }
    }
}

fn is_manifest(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end == "yaml" || end == "yml" || end == "json")
}

fn read_bytes(path: &Path, bytes: Vec<u8>, found: &mut Found) {
    match String::from_utf8(bytes) {
        Ok(text) => add_text(path, &text, found),
        Err(_) => found.errors.push(unreadable(
            path,
            std::io::Error::other("it is not UTF-8 text"),
        )),
    }
}

fn add_text(path: &Path, text: &str, found: &mut Found) {
    let before = (found.objects.len(), found.errors.len());
    for document in documents(text) {
        if document.is_empty() {
            continue;
        }
        let position = Position {
            path: path.to_owned(),
            line: document.line + leading(document.text),
            document: document.number,
            item: None,
        };
        match value(&document) {
            Ok(Value::Null) => {}
            Ok(value) => add(position, value, found),
            Err(source) => found.errors.push(ManifestError::Yaml { position, source }),
        }
    }
    if before == (found.objects.len(), found.errors.len()) {
        found.skipped.push(Skipped {
            path: path.to_owned(),
            reason: messages::EMPTY.to_owned(),
        });
    }
}

/// The number of empty and comment lines before the content of a document.
fn leading(text: &str) -> usize {
    let is_content = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    };
    text.lines().position(is_content).unwrap_or_default()
}

/// Adds an object, or the items of a list.
fn add(position: Position, mut value: Value, found: &mut Found) {
    let is_list = value
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("List"));
    let items = value.get_mut("items").filter(|_| is_list);
    if let Some(items) = items {
        match items.take() {
            Value::Array(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    let position = Position {
                        item: Some(index),
                        ..position.clone()
                    };
                    add(position, item, found);
                }
            }
            Value::Null => {}
            other => found.errors.push(ManifestError::Object {
                position,
                source: ObjectError::NotAList(type_of(&other)),
            }),
        }
        return;
    }
    match Object::new(position.clone(), value) {
        Ok(object) => found.objects.push(object),
        Err(source) => found
            .errors
            .push(ManifestError::Object { position, source }),
    }
}
