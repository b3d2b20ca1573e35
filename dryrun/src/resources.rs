//! The objects of the cluster, from files and standard input.

use std::path::{Path, PathBuf};

use reeve_manifests::{Object, Position, documents};
use serde_json::Value;

use crate::json::from_yaml;
use crate::messages;

/// What a server sets, and an object that is given must not have.
const OF_SERVER: [&str; 5] = [
    "creationTimestamp",
    "generatedName",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Reads the objects of standard input, if there is one, and then of the paths.
pub(crate) fn read(stdin: Option<&str>, paths: &[PathBuf]) -> Result<Vec<Object>, String> {
    let mut all = Vec::new();
    if let Some(input) = stdin {
        add(Path::new(reeve_manifests::STDIN), input, &mut all)?;
    }
    let is_stdin = |path: &PathBuf| path.as_path() == Path::new(reeve_manifests::STDIN);
    for path in paths.iter().filter(|path| !is_stdin(path)) {
        for file in files(path)? {
            let input = std::fs::read_to_string(&file);
            let input = input.map_err(|error| messages::unreadable(&file, &error))?;
            add(&file, &input, &mut all)?;
        }
    }
    Ok(all)
}

/// A file itself, or the files of a folder by name, without those of the folders in it.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| messages::unreadable(path, &error);
    if !std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let entries = entries.map(|entry| Ok(entry?.path()));
    let entries = entries.collect::<std::io::Result<Vec<_>>>();
    let mut files = entries.map_err(failed)?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

fn add(path: &Path, input: &str, all: &mut Vec<Object>) -> Result<(), String> {
    for document in documents(input)
        .iter()
        .filter(|document| !document.is_empty())
    {
        let position = Position {
            path: path.to_owned(),
            line: document.line,
            document: document.number,
            item: None,
        };
        let value = from_yaml(document.text);
        let value = value.map_err(|why| messages::incomplete(&position.to_string(), &why))?;
        add_value(&position, value, all)?;
    }
    Ok(())
}

fn add_value(position: &Position, mut value: Value, all: &mut Vec<Object>) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    let kind = value["kind"].as_str().unwrap_or_default();
    if kind.ends_with("List") && value["items"].is_array() {
        let items = value["items"].take();
        let items = items.as_array().into_iter().flatten().enumerate();
        for (index, item) in items {
            let position = Position {
                item: Some(index),
                ..position.clone()
            };
            add_value(&position, item.clone(), all)?;
        }
        return Ok(());
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in OF_SERVER {
            metadata.remove(field);
        }
    }
    let object = Object::new(position.clone(), value);
    let object =
        object.map_err(|why| messages::incomplete(&position.to_string(), &why.to_string()))?;
    all.push(object);
    Ok(())
}
