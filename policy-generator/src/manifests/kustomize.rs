//! Directories with a `kustomization.yaml`: built in as far as most of them go, by an installed kustomize or kubectl beyond that.

use std::path::{Path, PathBuf};

use reeve_go_compat::value::{Map, Value};
use reeve_go_compat::yaml;
use reeve_manifests::kustomize::{self, RenderError};

use super::images::Image;
use super::names::{fix_references, rename};
use super::namespaces::set_namespace;
use super::{KUSTOMIZATIONS, file, lists, objects_of};
use crate::error::Error;
use crate::merge::{Resource, Schema, apply_all};
use crate::messages;
use crate::settings::{Settings, Switches};
use crate::values::{json_type, map_field, maps_field, set, text_field, text_of};

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
const OTHERS: [&str; 23] = [
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
    "imageTags",
    "openapi",
    "patchesJson6902",
    "replacements",
    "replicas",
    "secretGenerator",
    "sortOptions",
    "transformers",
    "validators",
    "vars",
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
    built(root, &checked(root)?, switches, depth)
}

/// The kustomization of a directory, which has only fields that are built in.
fn checked(root: &Path) -> Result<Map, NotBuilt> {
    let kustomization = read(root)?;
    let mut beyond = None;
    for (key, value) in kustomization.entries() {
        let key = text_of(&key.to_value());
        let is_other = OTHERS.contains(&key.as_str());
        if !is_other && !BUILTIN.contains(&key.as_str()) {
            return Err(Error::new(messages::unknown_kustomize_field(&key)).into());
        }
        if is_other && !value.is_nil() {
            beyond = beyond.or(Some(key));
        }
    }
    if is_empty(&kustomization) {
        return Err(Error::new(messages::EMPTY_KUSTOMIZATION).into());
    }
    match beyond {
        Some(field) => Err(NotBuilt::Beyond(field)),
        None => Ok(kustomization),
    }
}

fn built(
    root: &Path,
    kustomization: &Map,
    switches: Switches,
    depth: usize,
) -> Result<Vec<Resource>, NotBuilt> {
    let mut resources = Vec::new();
    for resource in texts(kustomization, "resources") {
        resources.extend(of_resource(root, &resource, switches, depth)?);
    }
    let patches = patches(root, kustomization, switches)?;
    let mut resources = apply_all(resources, &patches, &Schema::builtin())?;
    // In the order of kustomize.
    if let Some(namespace) = scalar(kustomization, "namespace")?.filter(|text| !text.is_empty()) {
        resources.iter_mut().for_each(Resource::store_id);
        let objects: Vec<Map> = resources.iter().map(|one| one.object.clone()).collect();
        set_namespace(&objects, &namespace)?;
    }
    let images = Image::all(kustomization)?;
    let prefix = scalar(kustomization, "namePrefix")?.unwrap_or_default();
    let suffix = scalar(kustomization, "nameSuffix")?.unwrap_or_default();
    for resource in &mut resources {
        rename(resource, &prefix, &suffix);
        add_labels(&resource.object, kustomization)?;
        for image in &images {
            image.set(&resource.object);
        }
    }
    Ok(resources)
}

fn read(root: &Path) -> Result<Map, Error> {
    let shown = root.display().to_string();
    let files = KUSTOMIZATIONS.iter().map(|name| root.join(name));
    let mut files = files.filter(|at| at.is_file());
    let at = match (files.next(), files.next()) {
        (Some(at), None) => at,
        (None, _) => return Err(Error::new(messages::no_kustomization(&shown))),
        (Some(_), Some(_)) => return Err(Error::new(messages::several_kustomizations(&shown))),
    };
    let text = std::fs::read(at).map_err(|_| Error::new(messages::unreadable_manifest(&shown)))?;
    match yaml::decode(&text).map_err(|error| Error::new(error.to_string()))? {
        Value::Map(map) => Ok(map),
        Value::Nil => Err(Error::new(messages::EMPTY_KUSTOMIZATION)),
        other => {
            let is = json_type(&other).unwrap_or("string");
            Err(Error::new(messages::not_a_kustomization(is)))
        }
    }
}

/// Whether no field says anything. To kustomize an empty list says something.
fn is_empty(kustomization: &Map) -> bool {
    kustomization.entries().iter().all(|(key, value)| {
        matches!(text_of(&key.to_value()).as_str(), "apiVersion" | "kind")
            || value.is_nil()
            || matches!(value, Value::Str(text) if text.is_empty())
    })
}

/// A field that has to be text.
fn scalar(kustomization: &Map, key: &str) -> Result<Option<String>, Error> {
    match kustomization.get_str(key).as_ref().and_then(json_type) {
        Some(found) => Err(Error::new(messages::not_text_in_kustomization(key, found))),
        None => Ok(text_field(kustomization, key)),
    }
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
    let at = joined.canonicalize().map_err(|error| {
        let joined = joined.display().to_string();
        Error::new(messages::unresolved_in_kustomization(
            &joined,
            &messages::io(&error),
        ))
    })?;
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
    // kustomize tries each entry as a file and then as a directory, and says both.
    let at = locate(root, resource, switches).map_err(|error| {
        let as_directory = match root.join(resource).canonicalize() {
            Ok(at) => messages::not_a_directory(&at.display().to_string()),
            Err(_) => messages::invalid_directory(&error),
        };
        Error::new(messages::not_accumulated(resource, &error, &as_directory))
    })?;
    if at.is_dir() {
        if depth >= MAX_DEPTH {
            return Err(NotBuilt::Beyond(format!("resources: {resource}")));
        }
        return of_directory(&at, resource, switches, depth + 1);
    }
    let objects = lists::opened(file(resource, &at)?)?;
    Ok(objects.into_iter().map(Resource::new).collect())
}

/// The objects of a directory among the resources. kustomize tells a directory that is no kustomization from one that fails.
fn of_directory(
    at: &Path,
    resource: &str,
    switches: Switches,
    depth: usize,
) -> Result<Vec<Resource>, NotBuilt> {
    let shown = at.display().to_string();
    let as_file = messages::not_a_file(&shown);
    let within = |as_directory: String| {
        Error::new(messages::not_accumulated(resource, &as_file, &as_directory))
    };
    let kustomization = checked(at).map_err(|error| match error {
        NotBuilt::Failed(error) => within(messages::no_target(&shown, &error)).into(),
        beyond @ NotBuilt::Beyond(_) => beyond,
    })?;
    built(at, &kustomization, switches, depth).map_err(|error| match error {
        NotBuilt::Failed(error) => within(messages::failed_target(&shown, &error)).into(),
        beyond @ NotBuilt::Beyond(_) => beyond,
    })
}

fn patches(root: &Path, kustomization: &Map, switches: Switches) -> Result<Vec<Map>, NotBuilt> {
    let mut patches = Vec::new();
    let mut add = |text: &str| -> Result<(), NotBuilt> {
        let undecodable = |error: super::NoObjects| Error::new(error.to_string());
        patches.extend(objects_of(text.as_bytes()).map_err(undecodable)?);
        Ok(())
    };
    let of_file = |name: &str, within: &dyn Fn(&Error) -> String| -> Result<String, NotBuilt> {
        let at = locate(root, name, switches).map_err(|error| Error::new(within(&error)))?;
        let text = std::fs::read_to_string(at);
        Ok(text.map_err(|_| Error::new(messages::unreadable_manifest(name)))?)
    };
    for patch in maps_field(kustomization, "patches") {
        if patch.get_str("target").is_some() || patch.get_str("options").is_some() {
            return Err(NotBuilt::Beyond("patches.target".to_owned()));
        }
        let text = match (text_field(&patch, "patch"), text_field(&patch, "path")) {
            (Some(text), _) => text,
            (None, Some(path)) => of_file(&path, &|error| messages::unread_patch(&path, error))?,
            (None, None) => continue,
        };
        add(&text)?;
    }
    let merges = texts(kustomization, "patchesStrategicMerge");
    for patch in &merges {
        // An entry is a file or the patch itself.
        if patch.contains('\n') {
            add(patch)?;
        } else {
            add(&of_file(patch, &|error| {
                messages::unread_merge_patch(&merges, error)
            })?)?;
        }
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
        if pairs.is_empty() {
            continue;
        }
        let own = map_field(&metadata, "labels").unwrap_or_else(Map::dict);
        for (key, value) in pairs.entries() {
            own.insert(key, value);
        }
        set(&metadata, "labels", Value::Map(own));
    }
    Ok(())
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
