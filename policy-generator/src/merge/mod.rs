//! Strategic merge patches, as kustomize applies them: kyaml's `merge2` with the lists of a patch before those of the object.

mod directives;
mod resource;
mod schema;

use reeve_go_compat::value::{Map, Value};

use crate::error::Error;
use crate::messages;
use crate::paths::Base;
use crate::values::{json_typed, set, shown, text_field};

use directives::{DIRECTIVE, merged_object, unknown_directive};
pub use resource::{Id, Resource};
pub use schema::Schema;

/// The fields that say which object a patch is for.
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata.name"];

/// Applies the patches to the objects of one path. The result has the types of JSON.
pub fn apply(
    objects: Vec<Map>,
    patches: &[Map],
    openapi: &str,
    base: &Base,
) -> Result<Vec<Map>, Error> {
    check_objects(&objects)?;
    match objects.as_slice() {
        [only] => {
            for patch in patches {
                complete(patch, only)?;
            }
        }
        _ => check_patches(patches)?,
    }
    let schema = if openapi.is_empty() {
        Schema::builtin()
    } else {
        Schema::read(openapi, &base.join(openapi))?
    };
    let failed = |error: Error| error.within(messages::APPLY_PATCHES);
    let results = apply_all(objects, patches, &schema).map_err(failed)?;
    Ok(results.into_iter().map(|one| one.object).collect())
}

/// What a patch may change of what an object is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowed {
    pub name: bool,
    pub kind: bool,
}

/// Applies complete patches. One that is for an object by a former name of it does not rename it.
fn apply_all(objects: Vec<Map>, patches: &[Map], schema: &Schema) -> Result<Vec<Resource>, Error> {
    let mut ids: Vec<Id> = Vec::with_capacity(objects.len());
    let mut results = Vec::with_capacity(objects.len());
    for object in objects {
        let resource = Resource::new(typed(object)?);
        let id = resource.id();
        if ids.iter().any(|known| known.is(&id)) {
            return Err(Error::new(messages::repeated_id(&id.to_string())));
        }
        ids.push(id);
        results.push(resource);
    }
    for patch in patches {
        let patch = typed(patch.clone())?;
        let id = Id::of(&patch);
        let words =
            |error: Error| Error::new(messages::no_resource_for_patch(&id.to_string(), &error));
        let position = position_of(&results, &id).map_err(words)?;
        // What an earlier patch has deleted is no target.
        let resource = results.remove(position);
        let merged = merge_into(resource, &patch, Allowed::default(), schema)?;
        if let Some(resource) = merged {
            results.insert(position, resource);
        }
    }
    Ok(results)
}

/// An object with a patch applied, none if the patch deletes it. Its namespace stays as it is, its kind and its name unless they are
/// allowed to change.
pub fn merge_into(
    mut resource: Resource,
    patch: &Map,
    allowed: Allowed,
    schema: &Schema,
) -> Result<Option<Resource>, Error> {
    let id = resource.id();
    let schema = schema.of(&id.api_version, &id.kind);
    if let Some(word) = unknown_directive(patch, &schema) {
        return Err(Error::new(messages::unknown_directive(&word)));
    }
    if allowed.name || allowed.kind {
        resource.store_id();
    }
    // kustomize loses what replaces a whole object.
    if text_field(patch, DIRECTIVE).as_deref() == Some("replace") {
        return Ok(Some(resource));
    }
    let Some(object) = merged_object(&resource.object, patch, &schema)? else {
        return Ok(None);
    };
    id.restore(&object, allowed);
    Ok(Some(Resource { object, ..resource }))
}

/// The position of the only resource that something means, by what the resource is or was.
pub fn position_of(resources: &[Resource], id: &Id) -> Result<usize, Error> {
    let resources = resources.iter().enumerate();
    let mut found = resources.filter(|(_, resource)| resource.is_or_was(id));
    match (found.next(), found.next()) {
        (Some((position, _)), None) => Ok(position),
        (None, _) => Err(Error::new(messages::no_match(&id.to_string()))),
        (Some(_), Some(_)) => Err(Error::new(messages::several_matches(&id.to_string()))),
    }
}

/// The object with the types of JSON.
pub fn typed(object: Map) -> Result<Map, Error> {
    match json_typed(&Value::Map(object)).map_err(Error::new)? {
        Value::Map(map) => Ok(map),
        _ => Err(Error::new(messages::NOT_AN_OBJECT)),
    }
}

fn check_objects(objects: &[Map]) -> Result<(), Error> {
    if objects.is_empty() {
        return Err(Error::new(messages::NO_MANIFESTS_TO_PATCH));
    }
    match objects.iter().find_map(lacking) {
        Some(field) => Err(Error::new(messages::manifest_lacks(field))),
        None => Ok(()),
    }
}

fn check_patches(patches: &[Map]) -> Result<(), Error> {
    match patches.iter().find_map(lacking) {
        Some(field) => Err(Error::new(messages::patch_lacks(field))),
        None => Ok(()),
    }
}

/// The first field of the identity that is not there, not text, or empty.
fn lacking(object: &Map) -> Option<&'static str> {
    let id = Id::of(object);
    let values = [&id.api_version, &id.kind, &id.name];
    let (field, _) = IDENTITY
        .into_iter()
        .zip(values)
        .find(|(_, value)| value.is_empty())?;
    Some(field)
}

/// Fills in what a patch for the only object leaves out.
fn complete(patch: &Map, object: &Map) -> Result<(), Error> {
    let id = Id::of(object);
    let wrong = |field: &str, error: String| {
        Error::new(messages::patch_accessor(field, &id.name, &id.kind, &error))
    };
    for (field, value) in [("apiVersion", &id.api_version), ("kind", &id.kind)] {
        fill(patch, field, value, "").map_err(|error| wrong(field, error))?;
    }
    let metadata = match patch.get_str("metadata") {
        None | Some(Value::Nil) => {
            let metadata = Map::dict();
            set(patch, "metadata", Value::Map(metadata.clone()));
            metadata
        }
        Some(Value::Map(map)) => map,
        Some(other) => {
            let (value, is) = (shown(&other), other.type_name());
            let error = messages::accessor(".metadata.name", &value, &is, "map[string]interface{}");
            return Err(wrong("metadata.name", error));
        }
    };
    fill(&metadata, "name", &id.name, ".metadata")
        .map_err(|error| wrong("metadata.name", error))?;
    if !id.namespace.is_empty() {
        fill(&metadata, "namespace", &id.namespace, ".metadata")
            .map_err(|error| wrong("metadata.namespace", error))?;
    }
    Ok(())
}

fn fill(map: &Map, field: &str, value: &str, path: &str) -> Result<(), String> {
    match map.get_str(field) {
        None => set(map, field, value),
        Some(Value::Str(text)) if text.is_empty() => set(map, field, value),
        Some(Value::Str(_)) => {}
        Some(other) => {
            let path = format!("{path}.{field}");
            return Err(messages::accessor(
                &path,
                &shown(&other),
                &other.type_name(),
                "string",
            ));
        }
    }
    Ok(())
}
