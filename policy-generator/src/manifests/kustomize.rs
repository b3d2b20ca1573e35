//! Directories with a `kustomization.yaml`: built in as far as most of them go, by an installed kustomize or kubectl beyond that.

use std::path::{Path, PathBuf};

use reeve_go_compat::value::{Map, Value};
use reeve_go_compat::yaml;
use reeve_manifests::kustomize::{self, RenderError};

use super::names::{fix_references, rename};
use super::namespaces::set_namespace;
use super::{KUSTOMIZATIONS, file, lists, objects_of};
use crate::error::Error;
use crate::merge::{Resource, Schema, apply_all};
use crate::messages;
use crate::settings::{Settings, Switches};
use crate::values::{map_field, maps_field, set, text_field, text_of};

/// Directories of directories beyond this depth are taken for a circle.
const MAX_DEPTH: usize = 64;

/// The fields that are built in.
const BUILTIN: [&str; 11] = [
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "images",
    "patches",
    "patchesStrategicMerge",
];

/// The other fields that kustomize knows.
const OTHERS: [&str; 20] = [
    "bases",
    "buildMetadata",
    "commonAnnotations",
    "commonLabels",
    "components",
    "configMapGenerator",
    "configurations",
    "crds",
    "generatorOptions",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "openapi",
    "patchesJson6902",
    "replacements",
    "replicas",
    "secretGenerator",
    "sortOptions",
    "transformers",
];

/// The objects of a kustomize directory, with the types of JSON.
pub(super) fn build(path: &str, at: &Path, settings: &Settings) -> Result<Vec<Map>, Error> {
    let switches = settings.switches;
    let root = at
        .canonicalize()
        .map_err(|_| Error::new(messages::unreadable_manifest_path(path)))?;
    match built_in(&root, switches, 0) {
        Ok(resources) => {
            fix_references(&resources)?;
            Ok(resources.into_iter().map(|one| one.object).collect())
        }
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

fn built_in(root: &Path, switches: Switches, depth: usize) -> Result<Vec<Resource>, NotBuilt> {
    let kustomization = read(root)?;
    for (key, _) in kustomization.entries() {
        let key = text_of(&key.to_value());
        if OTHERS.contains(&key.as_str()) {
            return Err(NotBuilt::Beyond(key));
        }
        if !BUILTIN.contains(&key.as_str()) {
            return Err(Error::new(messages::unknown_kustomize_field(&key)).into());
        }
    }
    let mut resources = Vec::new();
    for resource in texts(&kustomization, "resources") {
        resources.extend(of_resource(root, &resource, switches, depth)?);
    }
    let patches = patches(root, &kustomization, switches)?;
    let mut resources = apply_all(resources, &patches, &Schema::builtin())?;
    // In the order of kustomize.
    if let Some(namespace) = scalar(&kustomization, "namespace")? {
        resources.iter_mut().for_each(Resource::store_id);
        let objects: Vec<Map> = resources.iter().map(|one| one.object.clone()).collect();
        set_namespace(&objects, &namespace)?;
    }
    let prefix = scalar(&kustomization, "namePrefix")?.unwrap_or_default();
    let suffix = scalar(&kustomization, "nameSuffix")?.unwrap_or_default();
    for resource in &mut resources {
        rename(resource, &prefix, &suffix);
        add_labels(&resource.object, &kustomization)?;
        for image in maps_field(&kustomization, "images") {
            set_images(&Value::Map(resource.object.clone()), &image);
        }
    }
    Ok(resources)
}

fn read(root: &Path) -> Result<Map, Error> {
    let unreadable = || Error::new(messages::unreadable_manifest(&root.display().to_string()));
    let at = KUSTOMIZATIONS
        .iter()
        .map(|name| root.join(name))
        .find(|at| at.is_file());
    let text = std::fs::read(at.ok_or_else(unreadable)?).map_err(|_| unreadable())?;
    match yaml::decode(&text).map_err(|error| Error::new(error.to_string()))? {
        Value::Map(map) => Ok(map),
        _ => Err(Error::new(messages::EMPTY_KUSTOMIZATION)),
    }
}

/// A field that has to be text.
fn scalar(kustomization: &Map, key: &str) -> Result<Option<String>, Error> {
    let found = match kustomization.get_str(key) {
        None | Some(Value::Nil) => return Ok(None),
        Some(Value::Bool(_)) => "bool",
        Some(Value::Int(_) | Value::Uint64(_) | Value::Float(_)) => "number",
        Some(Value::List(_)) => "array",
        Some(Value::Map(_)) => "object",
        Some(_) => return Ok(text_field(kustomization, key)),
    };
    Err(Error::new(messages::not_text_in_kustomization(key, found)))
}

fn texts(map: &Map, key: &str) -> Vec<String> {
    match map.get_str(key) {
        Some(Value::List(list)) => list.to_vec().iter().map(text_of).collect(),
        _ => Vec::new(),
    }
}

/// A file of a kustomization, which has to be below its directory.
fn locate(root: &Path, name: &str, switches: Switches) -> Result<PathBuf, Error> {
    let joined = root.join(name);
    let at = joined
        .canonicalize()
        .map_err(|_| Error::new(messages::unreadable_manifest(&joined.display().to_string())))?;
    if at.is_file() && !switches.unrestricted && !at.starts_with(root) {
        let (at, root) = (at.display().to_string(), root.display().to_string());
        return Err(Error::new(messages::outside_root(&at, &root)));
    }
    Ok(at)
}

fn of_resource(
    root: &Path,
    resource: &str,
    switches: Switches,
    depth: usize,
) -> Result<Vec<Resource>, NotBuilt> {
    if !root.join(resource).exists()
        && (resource.contains("://") || resource.contains("github.com"))
    {
        return Err(NotBuilt::Beyond(format!("resources: {resource}")));
    }
    let at = locate(root, resource, switches)?;
    if at.is_dir() {
        if depth >= MAX_DEPTH {
            return Err(NotBuilt::Beyond(format!("resources: {resource}")));
        }
        return built_in(&at, switches, depth + 1);
    }
    let objects = lists::opened(file(resource, &at)?)?;
    Ok(objects.into_iter().map(Resource::new).collect())
}

fn patches(root: &Path, kustomization: &Map, switches: Switches) -> Result<Vec<Map>, NotBuilt> {
    let mut patches = Vec::new();
    let mut add = |text: &str| -> Result<(), NotBuilt> {
        let undecodable = |error: super::NoObjects| Error::new(error.to_string());
        patches.extend(objects_of(text.as_bytes()).map_err(undecodable)?);
        Ok(())
    };
    let of_file = |name: &str| -> Result<String, NotBuilt> {
        let at = locate(root, name, switches)?;
        let text = std::fs::read_to_string(at);
        Ok(text.map_err(|_| Error::new(messages::unreadable_manifest(name)))?)
    };
    for patch in maps_field(kustomization, "patches") {
        if patch.get_str("target").is_some() || patch.get_str("options").is_some() {
            return Err(NotBuilt::Beyond("patches.target".to_owned()));
        }
        let text = match (text_field(&patch, "patch"), text_field(&patch, "path")) {
            (Some(text), _) => text,
            (None, Some(path)) => of_file(&path)?,
            (None, None) => continue,
        };
        add(&text)?;
    }
    for patch in texts(kustomization, "patchesStrategicMerge") {
        // An entry is a file or the patch itself.
        let text = if patch.contains('\n') {
            patch
        } else {
            of_file(&patch)?
        };
        add(&text)?;
    }
    Ok(patches)
}

fn add_labels(object: &Map, kustomization: &Map) -> Result<(), NotBuilt> {
    for labels in maps_field(kustomization, "labels") {
        for option in ["includeSelectors", "includeTemplates", "fields"] {
            if labels.get_str(option).is_some_and(|value| value.truth()) {
                return Err(NotBuilt::Beyond(format!("labels.{option}")));
            }
        }
        let (Some(pairs), Some(metadata)) =
            (map_field(&labels, "pairs"), map_field(object, "metadata"))
        else {
            continue;
        };
        let own = map_field(&metadata, "labels").unwrap_or_else(Map::dict);
        for (key, value) in pairs.entries() {
            own.insert(key, value);
        }
        set(&metadata, "labels", Value::Map(own));
    }
    Ok(())
}

/// Changes the images of all containers below a value.
fn set_images(value: &Value, image: &Map) {
    match value {
        Value::Map(map) => {
            for (key, child) in map.entries() {
                let key = text_of(&key.to_value());
                if matches!(
                    key.as_str(),
                    "containers" | "initContainers" | "ephemeralContainers"
                ) && let Value::List(containers) = &child
                {
                    for container in containers.iter() {
                        if let Value::Map(container) = container {
                            set_image(container, image);
                        }
                    }
                }
                set_images(&child, image);
            }
        }
        Value::List(list) => {
            for item in list.iter() {
                set_images(item, image);
            }
        }
        _ => {}
    }
}

fn set_image(container: &Map, image: &Map) {
    let Some(current) = text_field(container, "image") else {
        return;
    };
    let (name, suffix) = split_image(&current);
    if text_field(image, "name").as_deref() != Some(name) {
        return;
    }
    let new_name = text_field(image, "newName").unwrap_or_else(|| name.to_owned());
    let option = |key| {
        image
            .get_str(key)
            .as_ref()
            .map(text_of)
            .filter(|text| !text.is_empty())
    };
    let suffix = match (option("digest"), option("newTag")) {
        (Some(digest), _) => format!("@{digest}"),
        (None, Some(tag)) => format!(":{tag}"),
        (None, None) => suffix.to_owned(),
    };
    set(container, "image", format!("{new_name}{suffix}"));
}

/// The name of an image, and its tag or digest with the sign before it.
fn split_image(image: &str) -> (&str, &str) {
    if let Some(at) = image.find('@') {
        return image.split_at(at);
    }
    let after_registry = image.rfind('/').map_or(0, |slash| slash + 1);
    match image.get(after_registry..).and_then(|rest| rest.find(':')) {
        Some(at) => image.split_at(after_registry + at),
        None => (image, ""),
    }
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
