//! Strategic merge patches, as kustomize applies them: kyaml's `merge2` with the lists of a patch before those of the object.

mod directives;
mod schema;

use reeve_go_compat::value::{Map, Value};

use crate::error::Error;
use crate::messages;
use crate::paths::Base;
use crate::values::{json_typed, map_field, set, text_field, text_of};

use directives::{merged_object, unknown_directive};
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
    apply_all(objects, patches, &schema).map_err(failed)
}

/// Applies complete patches.
pub fn apply_all(objects: Vec<Map>, patches: &[Map], schema: &Schema) -> Result<Vec<Map>, Error> {
    let mut results: Vec<Option<Map>> = Vec::with_capacity(objects.len());
    let mut ids = Vec::with_capacity(objects.len());
    for object in objects {
        let id = Id::of(&object);
        if ids.iter().any(|known: &Id| known.is(&id)) {
            return Err(Error::new(messages::repeated_id(&id.to_string())));
        }
        ids.push(id);
        results.push(Some(typed(object)?));
    }
    for patch in patches {
        let patch = typed(patch.clone())?;
        let id = Id::of(&patch);
        let position = ids.iter().position(|known| known.is(&id));
        let object = position.and_then(|position| results.get_mut(position));
        // What an earlier patch has deleted is no target.
        let Some((object, target)) =
            object.and_then(|object| object.take().map(|target| (object, target)))
        else {
            return Err(Error::new(messages::no_patch_target(&id.to_string())));
        };
        let schema = schema.of(&id.api_version, &id.kind);
        if let Some(word) = unknown_directive(&patch, &schema) {
            return Err(Error::new(messages::unknown_directive(&word)));
        }
        *object = merged_object(&target, &patch, &schema);
    }
    Ok(results.into_iter().flatten().collect())
}

fn typed(object: Map) -> Result<Map, Error> {
    match json_typed(&Value::Map(object)).map_err(Error::new)? {
        Value::Map(map) => Ok(map),
        _ => Err(Error::new(messages::NOT_AN_OBJECT)),
    }
}

/// Which object something is, in kustomize's words.
pub struct Id {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
}

impl Id {
    /// The identity of an object or a patch.
    pub fn of(object: &Map) -> Self {
        let metadata = map_field(object, "metadata");
        let of_metadata = |field| {
            let metadata = metadata.as_ref()?;
            text_field(metadata, field)
        };
        Self {
            api_version: text_field(object, "apiVersion").unwrap_or_default(),
            kind: text_field(object, "kind").unwrap_or_default(),
            name: of_metadata("name").unwrap_or_default(),
            namespace: of_metadata("namespace").unwrap_or_default(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        // Kustomize takes no namespace for the default one.
        fn namespace(id: &Id) -> &str {
            match id.namespace.as_str() {
                "" => "default",
                other => other,
            }
        }
        self.api_version == other.api_version
            && self.kind == other.kind
            && self.name == other.name
            && namespace(self) == namespace(other)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (group, version) = self
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &self.api_version));
        let or = |text: &str, none: &str| {
            if text.is_empty() {
                none.to_owned()
            } else {
                text.to_owned()
            }
        };
        write!(
            f,
            "{}.{}.{}/{}.{}",
            or(&self.kind, "[noKind]"),
            or(version, "[noVer]"),
            or(group, "[noGrp]"),
            or(&self.name, "[noName]"),
            or(&self.namespace, "[noNs]"),
        )
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
            let (value, is) = (text_of(&other), other.type_name());
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
                &text_of(&other),
                &other.type_name(),
                "string",
            ));
        }
    }
    Ok(())
}
