//! `patches`, `patchesStrategicMerge` and `patchesJson6902` of a kustomization.

use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::runes::quote;
use reeve_go_compat::value::{Key, Map, Value};
use reeve_go_compat::yaml;
use serde_json::Value as Json;

use super::json_patch::JsonPatch;
use super::loading::Folder;
use super::resources::check_identity;
use super::targets::Target;
use super::trees::{check_depth, tree};
use super::{copy_texts, lists, objects_of};
use crate::error::Error;
use crate::merge::{Allowed, Id, Resource, Schema, merge_into, position_of, typed};
use crate::messages;
use crate::values::{is_set, map_field, maps_field, nonempty_field, set, texts_field};

/// The patches of a kustomization.
pub(super) struct Patches {
    merges: Vec<Map>,
    entries: Vec<Patch>,
    operations: Vec<Patch>,
    schema: Schema,
}

/// An entry of `patches`.
struct Patch {
    /// What it says, as errors show it.
    shown: String,
    target: Option<Target>,
    allowed: Allowed,
    change: Change,
}

enum Change {
    Merge(Vec<Map>),
    Operations(JsonPatch),
}

impl Patches {
    /// The patches of a kustomization, of which all are read before any is applied.
    pub(super) fn read(folder: &Folder<'_>, kustomization: &Map) -> Result<Self, Error> {
        let entries = maps_field(kustomization, "patches");
        let patches = entries.iter().map(|entry| {
            let configured = configured("PatchTransformer", entry);
            Patch::read(folder, entry).map_err(|error| error.within(configured))
        });
        let merges = merges(folder, kustomization)?;
        let entries = patches.collect::<Result<_, _>>()?;
        let operations = maps_field(kustomization, "patchesJson6902");
        let operations = operations.iter().map(|entry| operations_of(folder, entry));
        Ok(Self {
            merges,
            entries,
            operations: operations.collect::<Result<_, _>>()?,
            schema: Schema::builtin(),
        })
    }

    /// Applies those that come before all other changes.
    pub(super) fn apply_first(&self, resources: &mut Vec<Resource>) -> Result<(), Error> {
        for patch in &self.merges {
            let id = Id::of(patch);
            let position = position_of(resources, &id)?;
            self.merge_copy(resources, position, patch, Allowed::default())?;
        }
        self.entries
            .iter()
            .try_for_each(|patch| patch.apply(resources, self))
    }

    /// Applies `patchesJson6902`, for which objects have their new names already.
    pub(super) fn apply_last(&self, resources: &mut Vec<Resource>) -> Result<(), Error> {
        self.operations
            .iter()
            .try_for_each(|patch| patch.apply(resources, self))
    }

    /// Merges a copy of a patch into an object. kustomize copies labels and annotations as texts, and none not at all.
    fn merge_copy(
        &self,
        resources: &mut Vec<Resource>,
        position: usize,
        patch: &Map,
        allowed: Allowed,
    ) -> Result<(), Error> {
        let patch = patch.deep_copy();
        if let Some(metadata) = map_field(&patch, "metadata") {
            copy_texts(&metadata, "labels");
            copy_texts(&metadata, "annotations");
        }
        self.merge(resources, position, &patch, allowed)
    }

    /// Merges a patch into an object, which is gone if nothing is left of it. The object keeps parts of the patch.
    fn merge(
        &self,
        resources: &mut Vec<Resource>,
        position: usize,
        patch: &Map,
        allowed: Allowed,
    ) -> Result<(), Error> {
        let resource = resources.remove(position);
        if let Some(merged) = merge_into(resource, patch, allowed, &self.schema)? {
            resources.insert(position, merged);
        }
        Ok(())
    }
}

impl Patch {
    fn read(folder: &Folder<'_>, entry: &Map) -> Result<Self, Error> {
        let text = |key| nonempty_field(entry, key);
        let (text, shown) = match (text("patch"), text("path")) {
            (Some(text), None) => {
                let text = text.trim().to_owned();
                let shown = format!("[patch: {}]", quote(&text));
                (text, shown)
            }
            (None, Some(path)) => {
                let unread = |error| Error::new(messages::unread_patch(&path, &error));
                let text = folder.read(&path).map_err(unread)?;
                let text = String::from_utf8_lossy(&text).into_owned();
                (text, format!("[path: {}]", quote(&path)))
            }
            (Some(_), Some(_)) => {
                let entry = written(entry);
                return Err(Error::new(messages::patch_and_path(entry.trim_end())));
            }
            (None, None) => {
                let entry = written(entry);
                return Err(Error::new(messages::no_patch_nor_path(entry.trim_end())));
            }
        };
        let merge = objects(&text);
        let change = match (merge, operations(&text)) {
            (Ok(objects), Err(_)) => Change::Merge(objects),
            // Nothing but comments.
            (Ok(objects), Ok(_)) if objects.is_empty() => Change::Merge(objects),
            (Err(_), Ok(operations)) => Change::Operations(operations),
            (Err(_), Err(_)) => return Err(Error::new(messages::unparsed_patch(&shown))),
            (Ok(_), Ok(_)) => return Err(Error::new(messages::patch_of_both_kinds(&shown))),
        };
        let options = map_field(entry, "options").unwrap_or_else(Map::dict);
        Ok(Self {
            shown,
            target: map_field(entry, "target").as_ref().map(Target::read),
            allowed: Allowed {
                name: is_set(&options, "allowNameChange"),
                kind: is_set(&options, "allowKindChange"),
            },
            change,
        })
    }

    fn apply(&self, resources: &mut Vec<Resource>, patches: &Patches) -> Result<(), Error> {
        match &self.change {
            Change::Operations(operations) => {
                let Some(target) = &self.target else {
                    return Err(Error::new(messages::operations_without_target(&self.shown)));
                };
                for position in target.select(resources)? {
                    if let Some(resource) = resources.get_mut(position) {
                        operate(resource, operations)?;
                    }
                }
            }
            Change::Merge(objects) => self.merge(objects, resources, patches)?,
        }
        Ok(())
    }

    fn merge(
        &self,
        objects: &[Map],
        resources: &mut Vec<Resource>,
        patches: &Patches,
    ) -> Result<(), Error> {
        let allowed = self.allowed;
        let Some(target) = &self.target else {
            for object in objects {
                let id = Id::of(object);
                let words =
                    |error| Error::new(messages::no_resource_for_patch(&id.to_string(), &error));
                let position = position_of(resources, &id).map_err(words)?;
                patches.merge(resources, position, &object.deep_copy(), allowed)?;
            }
            return Ok(());
        };
        match objects {
            [] => Ok(()),
            [object] => {
                // From behind, as a patch may delete what it is for.
                for position in target.select(resources)?.into_iter().rev() {
                    patches.merge_copy(resources, position, object, allowed)?;
                }
                Ok(())
            }
            _ => Err(Error::new(messages::several_patches_for_target(
                &self.shown,
            ))),
        }
    }
}

/// Applies operations to an object.
fn operate(resource: &mut Resource, operations: &JsonPatch) -> Result<(), Error> {
    resource.store_id();
    let mut json = tree(&Value::Map(resource.object.clone()))?;
    operations.apply(&mut json)?;
    let decoded = yaml::decode(json.to_string().as_bytes());
    match decoded.map_err(|error| Error::new(error.to_string()))? {
        Value::Map(object) => resource.object = object,
        _ => return Err(Error::new(messages::NOT_AN_OBJECT)),
    }
    check_identity(&resource.object)
}

/// The objects of strategic merge patches, each with a kind and a name.
fn objects(text: &str) -> Result<Vec<Map>, Error> {
    let objects = objects_of(text.as_bytes()).map_err(|error| Error::new(error.to_string()))?;
    let mut patches = Vec::new();
    for object in lists::opened(objects)? {
        check_depth(&Value::Map(object.clone()))?;
        let patch = typed(object)?;
        check_identity(&patch)?;
        patches.push(patch);
    }
    Ok(patches)
}

/// The operations of a JSON patch, in JSON or YAML.
fn operations(text: &str) -> Result<JsonPatch, Error> {
    if text.is_empty() {
        return Err(Error::new(messages::NO_OPERATIONS));
    }
    JsonPatch::read(operations_tree(text)?)
}

fn operations_tree(text: &str) -> Result<Json, Error> {
    let value = if text.starts_with('[') {
        json::decode(text.as_bytes()).map_err(|error| error.to_string())
    } else {
        yaml::decode_sigs(text.as_bytes()).map_err(|error| error.to_string())
    };
    tree(&value.map_err(Error::new)?)
}

/// An entry of `patchesJson6902`.
fn operations_of(folder: &Folder<'_>, entry: &Map) -> Result<Patch, Error> {
    let config = entry.deep_copy();
    if let Some(patch) = config.remove(&Key::Str("patch".into())) {
        set(&config, "jsonOp", patch);
    }
    let read = || {
        let target = map_field(entry, "target").unwrap_or_else(Map::dict);
        let text = |key| nonempty_field(entry, key);
        if nonempty_field(&target, "name").is_none() {
            return Err(Error::new(messages::NO_TARGET_NAME));
        }
        let text = match (text("patch"), text("path")) {
            (Some(text), None) => text,
            (None, Some(path)) => String::from_utf8_lossy(&folder.read(&path)?).into_owned(),
            (Some(_), Some(_)) => return Err(Error::new(messages::OPERATIONS_AND_PATH)),
            (None, None) => return Err(Error::new(messages::NO_OPERATIONS_NOR_PATH)),
        };
        let shown = if text.starts_with('[') {
            text.clone()
        } else {
            operations_tree(&text)?.to_string()
        };
        let undecoded = |error| Error::new(messages::undecoded_operations(&shown, &error));
        Ok(Patch {
            shown: String::new(),
            target: Some(Target::read(&target)),
            allowed: Allowed::default(),
            change: Change::Operations(operations(&text).map_err(undecoded)?),
        })
    };
    read().map_err(|error| error.within(configured("PatchJson6902Transformer", &config)))
}

/// The patches of `patchesStrategicMerge`, whose entries are files or patches.
fn merges(folder: &Folder<'_>, kustomization: &Map) -> Result<Vec<Map>, Error> {
    let entries: Vec<String> = texts_field(kustomization, "patchesStrategicMerge").collect();
    let mut merges = Vec::new();
    for entry in &entries {
        let read = folder
            .read(entry)
            .and_then(|text| objects(&String::from_utf8_lossy(&text)));
        let patches = match read {
            Ok(patches) => patches,
            // What is no file is a patch, if it is one.
            Err(error) => match objects(entry) {
                Ok(patches) if entry.contains('\n') || !patches.is_empty() => patches,
                _ => return Err(error.within(configured_merges(&entries))),
            },
        };
        merges.extend(patches);
    }
    if merges.is_empty() && !entries.is_empty() {
        let error = Error::new(messages::empty_patches(&entries.join(" ")));
        return Err(error.within(configured_merges(&entries)));
    }
    Ok(merges)
}

fn configured_merges(entries: &[String]) -> String {
    let config = Map::dict();
    let paths = entries.iter().map(|entry| Value::str(entry.as_str()));
    set(&config, "paths", Value::list(paths));
    configured("PatchStrategicMergeTransformer", &config)
}

/// The text before an error about the configuration of one of kustomize's transformers.
fn configured(transformer: &str, config: &Map) -> String {
    messages::in_transformer(transformer, &written(config))
}

/// A configuration as kustomize writes it.
fn written(config: &Map) -> String {
    let json = json::encode(&Value::Map(said(config)), Escape::None).unwrap_or_default();
    let json = json::tree(&json).unwrap_or_default();
    let written = yaml::encode_sigs(&json).unwrap_or_default();
    String::from_utf8_lossy(&written).into_owned()
}

/// The fields of a map that have a value.
fn said(map: &Map) -> Map {
    let said = Map::dict();
    for (key, value) in map.entries() {
        match value {
            Value::Map(map) => {
                said.insert(key, Value::Map(self::said(&map)));
            }
            value if value.truth() => {
                said.insert(key, value);
            }
            _ => {}
        }
    }
    said
}
