//! The objects that a path yields: those of a file, of the files of a directory, or of a kustomization.

mod kustomize;
mod lists;
mod warnings;

use std::path::Path;

use reeve_go_compat::value::{Map, Value};
use reeve_go_compat::yaml::{self, YamlError};

use crate::config::ManifestConfig;
use crate::error::Error;
use crate::merge;
use crate::messages;
use crate::paths::Base;
use crate::settings::Settings;
use crate::values::{map_field, set, text_field};

pub use warnings::warnings;

/// The names that make a directory a kustomization to kustomize.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The one of them that upstream's generator does not know.
const UNKNOWN_KUSTOMIZATION: &str = "Kustomization";

/// The objects of a manifest entry, patched.
pub fn expand(manifest: &ManifestConfig, settings: &Settings) -> Result<Vec<Map>, Error> {
    let path = manifest.path.as_str();
    let base = &settings.base;
    let at = base.join(path);
    let metadata = at
        .metadata()
        .map_err(|_| Error::new(messages::unreadable_manifest_path(path)))?;
    let objects = if metadata.is_dir() {
        directory(path, &at, settings)?
    } else {
        let objects = read(path, &at, settings)?;
        if objects.is_empty() {
            return Err(Error::new(messages::empty_manifest(path)));
        }
        objects
    };
    if manifest.patches.is_empty() {
        return Ok(objects);
    }
    patched(manifest, objects, metadata.is_file(), base)
        .map_err(|error| error.within(messages::unprocessed_manifest(path)))
}

/// The objects of a manifest file.
fn read(path: &str, at: &Path, settings: &Settings) -> Result<Vec<Map>, Error> {
    let objects = file(path, at)?;
    if settings.mode.is_extended() {
        return lists::opened(objects)
            .map_err(|error| Error::new(messages::undecodable_manifest(path, &error)));
    }
    Ok(objects)
}

/// The objects of a YAML or JSON file without the null ones.
pub fn file(path: &str, at: &Path) -> Result<Vec<Map>, Error> {
    let text = std::fs::read(at).map_err(|_| Error::new(messages::unreadable_manifest(path)))?;
    objects_of(&text).map_err(|error| Error::new(messages::undecodable_manifest(path, &error)))
}

fn objects_of(text: &[u8]) -> Result<Vec<Map>, NoObjects> {
    let mut objects = Vec::new();
    for document in yaml::decode_all(text)? {
        match document {
            Value::Nil => {}
            Value::Map(map) if map.is_dict() => objects.push(map),
            _ => return Err(NoObjects::Shape),
        }
    }
    Ok(objects)
}

/// Why a text holds no objects.
#[derive(Debug, thiserror::Error)]
enum NoObjects {
    #[error("{}", messages::NOT_AN_OBJECT)]
    Shape,
    #[error(transparent)]
    Yaml(#[from] YamlError),
}

fn directory(path: &str, at: &Path, settings: &Settings) -> Result<Vec<Map>, Error> {
    let unreadable = |_| Error::new(messages::unreadable_manifest_path(path));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(at).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // Links count as what they lead to.
        if !entry.path().is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort();
    let is_kustomization = |name: &String| {
        let is_known = settings.mode.is_extended() || name != UNKNOWN_KUSTOMIZATION;
        is_known && KUSTOMIZATIONS.contains(&name.as_str())
    };
    if names.iter().any(is_kustomization) {
        return kustomize::build(path, at, settings)
            .map_err(|error| error.within(messages::in_kustomize_dir(path)));
    }
    let is_manifest = |name: &&String| {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        matches!(extension, Some("yaml" | "yml"))
    };
    let mut objects = Vec::new();
    for name in names.iter().filter(is_manifest) {
        let shown = format!("{}/{name}", path.trim_end_matches('/'));
        objects.extend(read(&shown, &at.join(name), settings)?);
    }
    Ok(objects)
}

fn patched(
    manifest: &ManifestConfig,
    objects: Vec<Map>,
    is_file: bool,
    base: &Base,
) -> Result<Vec<Map>, Error> {
    let mut patches = Vec::new();
    for patch in &manifest.patches {
        match patch {
            Value::Map(map) => patches.push(map.deep_copy()),
            _ => return Err(Error::new(messages::NULL_PATCH)),
        }
    }
    if let (true, [object], [patch]) = (is_file, objects.as_slice(), patches.as_slice()) {
        rename(object, patch);
    }
    merge::apply(objects, &patches, &manifest.openapi, base)
}

/// The only patch of the only object may rename it.
fn rename(object: &Map, patch: &Map) {
    let (Some(to), Some(from)) = (map_field(object, "metadata"), map_field(patch, "metadata"))
    else {
        return;
    };
    for field in ["name", "namespace"] {
        if let Some(value) = text_field(&from, field).filter(|value| !value.is_empty()) {
            set(&to, field, value);
        }
    }
}
