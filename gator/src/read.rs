//! Reading of files: objects in YAML and JSON, several to a file.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use reeve_gatekeeper::Json;
use reeve_go_compat::{json, yaml};

use crate::messages;

/// How text without quotes is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `yes` and `on` are texts: what suites refer to.
    Suite,
    /// `yes` and `on` are booleans: what `gator test` reads.
    Objects,
}

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Whether a file may have objects.
pub fn is_manifest(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Whether a file may be a suite.
pub fn is_yaml(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| EXTENSIONS[..2].contains(&extension))
}

/// The objects of the files and folders, and of standard input if it is given.
pub fn sources(paths: &[PathBuf], input: Option<&mut dyn Read>) -> Result<Vec<Json>, String> {
    let mut objects = Vec::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| messages::cannot_read(path, &error))?;
        if metadata.is_dir() {
            for file in files_of(path)? {
                objects.extend(file_objects(&file)?);
            }
        } else {
            objects.extend(file_objects(path)?);
        }
    }
    if let Some(input) = input {
        let name = Path::new("-");
        let mut bytes = Vec::new();
        input
            .read_to_end(&mut bytes)
            .map_err(|error| messages::cannot_read(name, &error))?;
        let read = documents(&String::from_utf8_lossy(&bytes), Dialect::Objects);
        objects.extend(read.map_err(|error| messages::cannot_parse(name, &error))?);
    }
    Ok(objects)
}

fn file_objects(path: &Path) -> Result<Vec<Json>, String> {
    objects(path, Dialect::Objects)
}

/// The objects of a file.
pub fn objects(path: &Path, dialect: Dialect) -> Result<Vec<Json>, String> {
    let text = text(path)?;
    documents(&text, dialect).map_err(|error| messages::cannot_parse(path, &error))
}

/// The text of a file.
pub fn text(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| messages::cannot_read(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The files with objects in a folder and in those in it, by path.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                pending.push(path);
            } else if is_manifest(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The entries of a folder by name. Links to folders are not followed into a circle: they are left out.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot_read = |error| messages::cannot_read(folder, &error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot_read)? {
        let entry = entry.map_err(cannot_read)?;
        let kind = entry.file_type().map_err(cannot_read)?;
        if kind.is_symlink() && entry.path().is_dir() {
            continue;
        }
        paths.push(entry.path());
    }
    paths.sort();
    Ok(paths)
}

/// The objects of a text; empty documents are none, and the items of lists are objects of their own.
fn documents(text: &str, dialect: Dialect) -> Result<Vec<Json>, String> {
    let mut objects = Vec::new();
    for document in split(text) {
        let object = document_of(document, dialect)?;
        if object.is_null() {
            continue;
        }
        let is_list = object["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"));
        match object["items"].as_array() {
            Some(items) if is_list => objects.extend(items.iter().cloned()),
            _ => objects.push(object),
        }
    }
    Ok(objects)
}

/// One document.
pub fn document_of(text: &str, dialect: Dialect) -> Result<Json, String> {
    if dialect == Dialect::Objects {
        return yaml::decode_sigs_json(text.as_bytes()).map_err(|error| error.to_string());
    }
    let value = yaml::decode(text.as_bytes()).map_err(|error| error.to_string())?;
    let encoded = json::encode(&value, json::Escape::None).map_err(|error| error.to_string())?;
    json::tree(&encoded).map_err(|error| error.to_string())
}

/// The documents of a stream: lines that begin with three hyphens are between them.
fn split(text: &str) -> Vec<&str> {
    let mut documents = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            documents.extend(text.get(start..at));
            start = at + line.trim_end().len().min(3);
        }
        at += line.len();
    }
    documents.extend(text.get(start..));
    documents.retain(|document| !document.trim().is_empty());
    documents
}

/// The group of an object's API version.
pub fn group(object: &Json) -> &str {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

/// The kind of an object.
pub fn kind(object: &Json) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

/// The name of an object.
pub fn name(object: &Json) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The namespace of an object.
pub fn namespace(object: &Json) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// Whether it is a constraint template.
pub fn is_template(object: &Json) -> bool {
    group(object) == reeve_gatekeeper::TEMPLATE_GROUP && kind(object) == "ConstraintTemplate"
}

/// Whether it is a constraint.
pub fn is_constraint(object: &Json) -> bool {
    group(object) == reeve_gatekeeper::CONSTRAINT_GROUP
}

/// Whether it is an expansion template.
pub fn is_expansion(object: &Json) -> bool {
    group(object) == "expansion.gatekeeper.sh" && kind(object) == "ExpansionTemplate"
}

/// A constraint with the numbers of its parameters as `gator test` decodes them: floats, which Rego prints as `1e+06`.
pub fn with_float_parameters(constraint: &Json) -> Json {
    let mut constraint = constraint.clone();
    if let Some(parameters) = constraint.pointer_mut("/spec/parameters") {
        numbers_to_floats(parameters);
    }
    constraint
}

fn numbers_to_floats(value: &mut Json) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Json::Number(number) => {
                if let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64) {
                    *number = float;
                }
            }
            Json::Array(list) => pending.extend(list),
            Json::Object(object) => pending.extend(object.values_mut()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, documents};

    #[test]
    fn documents_are_split_and_lists_are_unpacked() {
        let text = "# none\n---\na: 1\n--- # next\nb: yes\n---\n---\nkind: PodList\nitems: [{c: 1}, {d: 2}]\n";
        let read = documents(text, Dialect::Objects).unwrap();
        let shown: Vec<String> = read.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [r#"{"a":1}"#, r#"{"b":true}"#, r#"{"c":1}"#, r#"{"d":2}"#]
        );
    }

    #[test]
    fn yes_is_text_for_suites() {
        let read = documents("a: yes\nb: true\n", Dialect::Suite).unwrap();
        assert_eq!(read[0].to_string(), r#"{"a":"yes","b":true}"#);
    }
}
