//! `configMapGenerator` and `secretGenerator` of a kustomization.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_go_compat::value::{Key, Map, Value};

use super::copy_texts;
use super::loading::Folder;
use super::pairs::{Pair, pairs};
use crate::error::Error;
use crate::merge::Resource;
use crate::messages;
use crate::values::{is_set, map_field, maps_field, nonempty_field, set, text_field};

/// kustomize breaks what it encodes into lines of this length.
const LINE: usize = 70;

/// What a generated object does to one that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behavior {
    Unspecified,
    Create,
    Merge,
    Replace,
}

impl Behavior {
    fn read(generator: &Map) -> Self {
        match text_field(generator, "behavior").as_deref() {
            Some("create") => Self::Create,
            Some("merge") => Self::Merge,
            Some("replace") => Self::Replace,
            _ => Self::Unspecified,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Create => "create",
            Self::Merge => "merge",
            Self::Replace => "replace",
        }
    }
}

/// Adds the objects of the generators, or what they have to those that are there.
pub(super) fn generate(
    folder: &Folder<'_>,
    kustomization: &Map,
    resources: &mut Vec<Resource>,
) -> Result<(), Error> {
    let options = map_field(kustomization, "generatorOptions").unwrap_or_else(Map::dict);
    for (field, kind) in [
        ("configMapGenerator", "ConfigMap"),
        ("secretGenerator", "Secret"),
    ] {
        for generator in maps_field(kustomization, field) {
            let generated = Generator {
                entry: &generator,
                options: &options,
                kind,
            };
            let resource = generated.generate(folder)?;
            absorb(resource, Behavior::read(&generator), resources)
                .map_err(|error| error.within(messages::IN_GENERATOR))?;
        }
    }
    Ok(())
}

/// An entry of a generator.
struct Generator<'a> {
    entry: &'a Map,
    /// The options for all generators.
    options: &'a Map,
    kind: &'static str,
}

impl Generator<'_> {
    fn generate(&self, folder: &Folder<'_>) -> Result<Resource, Error> {
        let text = |key| nonempty_field(self.entry, key);
        let name = text("name").ok_or_else(|| Error::new(messages::NO_GENERATED_NAME))?;
        let pairs = pairs(folder, self.entry).map_err(|error| error.within(messages::IN_PAIRS))?;
        let metadata = Map::dict();
        set(&metadata, "name", name.as_str());
        if let Some(namespace) = text("namespace") {
            set(&metadata, "namespace", namespace);
        }
        let own = map_field(self.entry, "options").unwrap_or_else(Map::dict);
        for field in ["labels", "annotations"] {
            for options in [self.options, &own] {
                if let Some(pairs) = map_field(options, field) {
                    add_all(&metadata, field, &pairs);
                }
            }
        }
        let object = Map::dict();
        set(&object, "apiVersion", "v1");
        set(&object, "kind", self.kind);
        set(&object, "metadata", Value::Map(metadata));
        if self.kind == "Secret" {
            set(
                &object,
                "type",
                text("type").unwrap_or_else(|| "Opaque".to_owned()),
            );
            set(&object, "data", Value::Map(Map::dict()));
        }
        self.add_pairs(&object, &name, pairs)?;
        let is_either_set = |field| is_set(self.options, field) || is_set(&own, field);
        if is_either_set("immutable") {
            set(&object, "immutable", Value::Bool(true));
        }
        let mut resource = Resource::new(object);
        resource.has_hash = !is_either_set("disableNameSuffixHash");
        Ok(resource)
    }

    fn add_pairs(&self, object: &Map, name: &str, pairs: Vec<Pair>) -> Result<(), Error> {
        for Pair { key, value } in pairs {
            let has =
                |field| map_field(object, field).is_some_and(|map| map.get_str(&key).is_some());
            if has("data") || has("binaryData") {
                return Err(Error::new(messages::repeated_key(name, &key)));
            }
            let (field, value) = match String::from_utf8(value) {
                Ok(text) if self.kind != "Secret" => ("data", Value::str(text)),
                Ok(text) => ("data", Value::str(encoded(text.as_bytes()))),
                Err(error) if self.kind == "Secret" => {
                    ("data", Value::str(encoded(error.as_bytes())))
                }
                Err(error) => ("binaryData", Value::str(encoded(error.as_bytes()))),
            };
            add_all(
                object,
                field,
                &Map::from_entries([(Key::Str(key.into()), value)].into()),
            );
        }
        Ok(())
    }
}

/// Base64 as kustomize writes it.
fn encoded(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    if encoded.len() < LINE {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    for (position, sign) in encoded.chars().enumerate() {
        if position > 0 && position % LINE == 0 {
            lines.push('\n');
        }
        lines.push(sign);
    }
    lines.push('\n');
    lines
}

/// Adds entries to a field that is a map.
fn add_all(object: &Map, field: &str, entries: &Map) {
    if entries.is_empty() {
        return;
    }
    let all = map_field(object, field).unwrap_or_else(Map::dict);
    for (key, value) in entries.entries() {
        all.insert(key, value);
    }
    set(object, field, Value::Map(all));
}

/// Adds a generated object to those that are there.
fn absorb(new: Resource, behavior: Behavior, resources: &mut Vec<Resource>) -> Result<(), Error> {
    let id = new.id();
    let matching: Vec<usize> = resources
        .iter()
        .enumerate()
        .filter(|(_, resource)| resource.is_or_was(&id))
        .map(|(position, _)| position)
        .collect();
    let shown = messages::generated_id(&id.kind, &id.name, &id.namespace);
    match (matching.as_slice(), behavior) {
        ([], Behavior::Merge | Behavior::Replace) => {
            Err(Error::new(messages::nothing_to_merge(&shown)))
        }
        ([], _) => {
            resources.push(new);
            Ok(())
        }
        ([_], Behavior::Create | Behavior::Unspecified) => {
            Err(Error::new(messages::already_there(&shown, behavior.name())))
        }
        ([position], _) => {
            let old = resources.remove(*position);
            resources.insert(*position, merged(&old, new, behavior));
            Ok(())
        }
        (several, _) => {
            let ids = several
                .iter()
                .filter_map(|position| resources.get(*position));
            let ids: Vec<String> = ids.map(|one| one.id().to_string()).collect();
            let error = messages::several_to_merge(&ids.join(" "), &id.to_string());
            Err(Error::new(error))
        }
    }
}

/// A generated object in place of one that is there, of which it has the name and the namespace, and labels, annotations and perhaps entries
/// beside its own.
fn merged(old: &Resource, new: Resource, behavior: Behavior) -> Resource {
    let metadata = map_field(&new.object, "metadata").unwrap_or_else(Map::dict);
    let old_id = old.id();
    set(&metadata, "name", old_id.name.as_str());
    if !old_id.namespace.is_empty() {
        set(&metadata, "namespace", old_id.namespace.as_str());
    }
    if let Some(old) = map_field(&old.object, "metadata").map(|map| map.deep_copy()) {
        for field in ["labels", "annotations"] {
            put_below(&old, &metadata, field);
        }
    }
    if behavior == Behavior::Merge {
        let old = old.object.deep_copy();
        if let Some(texts) = map_field(&old, "stringData") {
            for (key, value) in texts.entries() {
                let text = crate::values::text_of(&value);
                let entry = (key, Value::str(encoded(text.as_bytes())));
                add_all(&old, "data", &Map::from_entries([entry].into()));
            }
        }
        for field in ["data", "binaryData"] {
            put_below(&old, &new.object, field);
        }
    }
    Resource {
        object: new.object,
        previous: old.previous.clone(),
        prefixes: old.prefixes.clone(),
        suffixes: old.suffixes.clone(),
        has_hash: old.has_hash && new.has_hash,
    }
}

/// Adds the entries of an old map that the new one does not have, as texts.
fn put_below(old: &Map, new: &Map, field: &str) {
    copy_texts(old, field);
    let Some(all) = map_field(old, field) else {
        return;
    };
    if let Some(own) = map_field(new, field) {
        for (key, value) in own.entries() {
            all.insert(key, value);
        }
    }
    set(new, field, Value::Map(all));
}
