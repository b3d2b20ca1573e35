//! Directories with a `kustomization.yaml`: built in as far as most of them go, by an installed kustomize or kubectl beyond that.

mod fields;
mod generators;
mod hashes;
mod images;
mod json_patch;
mod labels;
mod loading;
mod names;
mod namespaces;
mod pairs;
mod patches;
mod references;
mod replicas;
mod resources;
mod specs;
mod targets;
mod trees;

use std::path::Path;

use reeve_go_compat::value::{Map, Value};
use reeve_manifests::kustomize::{self, RenderError};

use self::hashes::add_hashes;
use self::images::Image;
use self::loading::Folder;
use self::names::{fix_references, rename};
use self::namespaces::set_namespace;
use self::patches::Patches;
use self::replicas::set_replicas;
use self::resources::{Builder, Parts};
use super::{lists, objects_of};
use crate::error::Error;
use crate::merge::Resource;
use crate::messages;
use crate::settings::{Settings, Switches};
use crate::values::{map_field, nonempty_field, text_of, unset};

/// The annotation of objects that are for programs on the author's machine.
const LOCAL: &str = "config.kubernetes.io/local-config";

/// The objects of a kustomize directory, with the types of JSON.
pub(super) fn build(path: &str, at: &Path, settings: &Settings) -> Result<Vec<Map>, Error> {
    let switches = settings.switches;
    let root = at
        .canonicalize()
        .map_err(|_| Error::new(messages::unreadable_manifest_path(path)))?;
    match built_in(&Folder::new(root, switches)) {
        Ok(objects) => Ok(objects),
        Err(NotBuilt::Failed(error)) => Err(error),
        Err(NotBuilt::Beyond(field)) => installed(&settings.base.join(path), switches, &field),
    }
}

/// Why the built-in kustomize has no objects.
enum NotBuilt {
    Failed(Error),
    /// A field, or an entry of it, is not built in.
    Beyond(String),
}

impl From<Error> for NotBuilt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl NotBuilt {
    /// The same in the words of a directory above.
    fn map(self, words: impl FnOnce(Error) -> Error) -> Self {
        match self {
            Self::Failed(error) => Self::Failed(words(error)),
            beyond @ Self::Beyond(_) => beyond,
        }
    }
}

fn built_in(folder: &Folder<'_>) -> Result<Vec<Map>, NotBuilt> {
    let kustomization = folder.kustomization()?;
    let mut resources = Builder::default().build(folder, &kustomization, Vec::new())?;
    add_hashes(&mut resources)?;
    fix_references(&resources)?;
    let objects = resources.into_iter().map(|one| one.object);
    Ok(objects.filter_map(finished).collect())
}

/// What kustomize changes in all objects at the end: annotations are text, and none are not written. An object for the author's machine
/// is left out.
fn finished(object: Map) -> Option<Map> {
    let Some(metadata) = map_field(&object, "metadata") else {
        return Some(object);
    };
    let annotations = map_field(&metadata, "annotations");
    let local = annotations.and_then(|annotations| annotations.get_str(LOCAL));
    if local.is_some_and(|value| text_of(&value) != "false") {
        return None;
    }
    copy_texts(&metadata, "annotations");
    Some(object)
}

/// Makes texts of the values of a map, as kustomize copies labels and annotations. An empty one is not copied.
fn copy_texts(metadata: &Map, field: &str) {
    match metadata.get_str(field) {
        Some(Value::Map(map)) if !map.is_empty() => {
            for (key, value) in map.entries() {
                let text = match value {
                    Value::Str(_) | Value::Map(_) | Value::List(_) => continue,
                    Value::Nil => "null".to_owned(),
                    other => text_of(&other),
                };
                map.insert(key, Value::str(text));
            }
        }
        Some(Value::Map(_) | Value::Nil) => unset(metadata, field),
        _ => {}
    }
}

/// The fields of a kustomization that change the objects it has, in the order of kustomize.
fn transform(parts: &Parts<'_>, mut resources: Vec<Resource>) -> Result<Vec<Resource>, NotBuilt> {
    let kustomization = parts.kustomization;
    let text = |key| nonempty_field(kustomization, key);
    let patches = Patches::read(parts.folder, kustomization)?;
    let images = Image::all(kustomization)?;
    patches.apply_first(&mut resources)?;
    if let Some(namespace) = text("namespace") {
        resources.iter_mut().for_each(Resource::store_id);
        let objects: Vec<Map> = resources.iter().map(|one| one.object.clone()).collect();
        set_namespace(&objects, &namespace)?;
    }
    let prefix = text("namePrefix").unwrap_or_default();
    let suffix = text("nameSuffix").unwrap_or_default();
    for resource in &mut resources {
        rename(resource, &prefix, &suffix);
    }
    for resource in &resources {
        labels::set_labels(&resource.object, kustomization)?;
        labels::set_annotations(&resource.object, kustomization)?;
    }
    patches.apply_last(&mut resources)?;
    set_replicas(&resources, kustomization)?;
    for resource in &resources {
        for image in &images {
            image.set(&resource.object);
        }
    }
    Ok(resources)
}

/// The output of an installed kustomize or kubectl.
fn installed(dir: &Path, switches: Switches, field: &str) -> Result<Vec<Map>, Error> {
    // As a library, kustomize leaves the objects in their order; its program sorts them.
    let mut options = vec!["--reorder", "none"];
    if switches.helm {
        options.push("--enable-helm");
    }
    if switches.unrestricted {
        options.extend(["--load-restrictor", "LoadRestrictionsNone"]);
    }
    let rendered = kustomize::render(dir, &options).map_err(|error| match error {
        RenderError::NotInstalled => Error::new(messages::unsupported_kustomize_field(field)),
        RenderError::Failed { why, .. } => Error::new(why),
    })?;
    objects_of(rendered.as_bytes()).map_err(|error| Error::new(error.to_string()))
}
