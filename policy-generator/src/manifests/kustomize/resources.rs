//! What a kustomization has before it changes anything: the objects of its files, of other directories, of components and of generators.

use std::cell::Cell;
use std::path::Path;

use reeve_go_compat::runes::quote;
use reeve_go_compat::value::{Map, Value};

use super::generators::generate;
use super::loading::{Folder, is_component};
use super::trees::check_depth;
use super::{NotBuilt, lists, transform};
use crate::error::Error;
use crate::manifests::{NoObjects, objects_of};
use crate::merge::{Id, Resource, typed};
use crate::messages;
use crate::values::{map_field, shown, texts_field};

/// How many directories are built: few kustomizations can ask for one another very many times.
const MAX_DIRECTORIES: usize = 4096;

/// Errors that are longer than this are not put into quotes.
const MAX_QUOTED: usize = 16 << 10;

/// A kustomization and its directory.
pub(super) struct Parts<'a> {
    pub(super) folder: &'a Folder<'a>,
    pub(super) kustomization: &'a Map,
}

/// Builds directories.
#[derive(Default)]
pub(super) struct Builder {
    directories: Cell<usize>,
}

impl Builder {
    /// The objects of a kustomization, with those before it for a component.
    pub(super) fn build(
        &self,
        folder: &Folder<'_>,
        kustomization: &Map,
        mut resources: Vec<Resource>,
    ) -> Result<Vec<Resource>, NotBuilt> {
        self.directories.set(self.directories.get() + 1);
        if self.directories.get() > MAX_DIRECTORIES {
            return Err(Error::new(messages::too_many_directories(MAX_DIRECTORIES)).into());
        }
        // What kustomize has called `resources` since it was written.
        for name in
            texts_field(kustomization, "resources").chain(texts_field(kustomization, "bases"))
        {
            let more = self.resources(folder, &name, &resources)?;
            resources.extend(more);
        }
        // Components change what is generated, too.
        generate(folder, kustomization, &mut resources)?;
        for name in texts_field(kustomization, "components") {
            resources = self
                .component(folder, &name, resources)
                .map_err(|error| error.map(|error| error.within(messages::IN_COMPONENTS)))?;
        }
        let parts = Parts {
            folder,
            kustomization,
        };
        transform(&parts, resources)
    }

    /// The objects of an entry of `resources`, none of which is among those before.
    fn resources(
        &self,
        folder: &Folder<'_>,
        name: &str,
        before: &[Resource],
    ) -> Result<Vec<Resource>, NotBuilt> {
        check_local(folder, "resources", name)?;
        // kustomize tries each entry as a file and then as a directory, and says both.
        let at = folder.locate(name).map_err(|error| {
            let as_file = messages::not_accumulated_file(name, &error);
            Error::new(messages::not_accumulated(
                &as_file,
                &no_directory(folder, name, &error),
            ))
        })?;
        if at.is_dir() {
            let as_file = messages::not_a_file(&at.display().to_string());
            let as_file = messages::not_accumulated_file(name, &as_file);
            let words =
                |error: Error| Error::new(messages::not_accumulated(&as_file, &error.to_string()));
            return self
                .directory(folder, &at, before)
                .map_err(|error| error.map(words));
        }
        let no_directory = messages::not_a_directory(&at.display().to_string());
        let words =
            |as_file: String| Error::new(messages::not_accumulated(&as_file, &no_directory));
        let accumulated = |error: Error| words(messages::not_accumulated_file(name, &error));
        // A pipe or a device may have no end.
        let text = Some(&at).filter(|at| at.is_file()).map(std::fs::read);
        let Some(Ok(text)) = text else {
            return Err(accumulated(Error::new(messages::unreadable_manifest(name))).into());
        };
        let objects = objects_of(&text).map_err(|error| match error {
            NoObjects::Yaml(error) => Error::new(messages::malformed_resource(name, &error)),
            NoObjects::Shape => accumulated(Error::new(messages::NOT_AN_OBJECT)),
        })?;
        let resources = read(objects).map_err(accumulated)?;
        check_ids(&[], &resources).map_err(accumulated)?;
        let merged = |error: Error| words(messages::not_merged_file(name, &error));
        check_ids(before, &resources).map_err(merged)?;
        Ok(resources)
    }

    /// The objects of a directory among the resources. kustomize tells a directory that is no kustomization from one that fails.
    fn directory(
        &self,
        folder: &Folder<'_>,
        at: &Path,
        before: &[Resource],
    ) -> Result<Vec<Resource>, NotBuilt> {
        let folder = folder.enter(at)?;
        let (kustomization, shown) = target(&folder)?;
        if is_component(&kustomization) {
            return Err(Error::new(messages::unexpected_component(&shown)).into());
        }
        let resources = self
            .build(&folder, &kustomization, Vec::new())
            .map_err(|error| {
                error.map(|error| Error::new(messages::failed_target(&shown, &error)))
            })?;
        check_ids(before, &resources)
            .map_err(|error| Error::new(messages::failed_merge(&shown, &error)))?;
        Ok(resources)
    }

    /// The objects before a component with those that it adds, and its changes.
    fn component(
        &self,
        folder: &Folder<'_>,
        name: &str,
        resources: Vec<Resource>,
    ) -> Result<Vec<Resource>, NotBuilt> {
        check_local(folder, "components", name)?;
        let not_loaded = |error: Error| Error::new(messages::unloaded_component(&quoted(&error)));
        let at = folder.root.join(name);
        let at = match folder.locate(name) {
            Ok(at) if at.is_dir() => at,
            Ok(at) => {
                let error = messages::not_a_directory(&at.display().to_string());
                return Err(not_loaded(Error::new(error)).into());
            }
            Err(error) if at.is_file() => {
                return Err(not_loaded(Error::new(no_directory(folder, name, &error))).into());
            }
            Err(error) => {
                return Err(not_loaded(Error::new(messages::invalid_directory(&error))).into());
            }
        };
        let folder = folder.enter(&at).map_err(|error| error.map(not_loaded))?;
        self.component_in(&folder, resources).map_err(|error| {
            error.map(|error| Error::new(messages::failed_component(&quoted(&error))))
        })
    }

    fn component_in(
        &self,
        folder: &Folder<'_>,
        resources: Vec<Resource>,
    ) -> Result<Vec<Resource>, NotBuilt> {
        let (kustomization, shown) = target(folder)?;
        if !is_component(&kustomization) {
            return Err(Error::new(messages::expected_component(&shown)).into());
        }
        self.build(folder, &kustomization, resources)
            .map_err(|error| error.map(|error| Error::new(messages::failed_target(&shown, &error))))
    }
}

/// The kustomization of a directory that another one names, and the directory as errors show it.
fn target(folder: &Folder<'_>) -> Result<(Map, String), NotBuilt> {
    let shown = folder.root.display().to_string();
    match folder.kustomization() {
        Ok(kustomization) => Ok((kustomization, shown)),
        Err(error) => Err(error.map(|error| Error::new(messages::no_target(&shown, &error)))),
    }
}

/// An entry that is at a remote place is not built in.
fn check_local(folder: &Folder<'_>, field: &str, name: &str) -> Result<(), NotBuilt> {
    let is_remote = name.contains("://") || name.contains("github.com");
    if is_remote && !folder.root.join(name).exists() {
        return Err(NotBuilt::Beyond(format!("{field}: {name}")));
    }
    Ok(())
}

/// An error within another one. Quotes in quotes double what escapes them with each component in a component.
fn quoted(error: &Error) -> String {
    let error = error.to_string();
    if error.len() > MAX_QUOTED {
        error
    } else {
        quote(error)
    }
}

/// Why something that was not found is no directory.
fn no_directory(folder: &Folder<'_>, name: &str, error: &Error) -> String {
    match folder.root.join(name).canonicalize() {
        Ok(at) => messages::not_a_directory(&at.display().to_string()),
        Err(_) => messages::invalid_directory(error),
    }
}

/// Objects as they are read, with those of lists in place of lists.
fn read(objects: Vec<Map>) -> Result<Vec<Resource>, Error> {
    let mut resources = Vec::new();
    for object in lists::opened(objects)? {
        check_depth(&Value::Map(object.clone()))?;
        let object = typed(object)?;
        check_identity(&object)?;
        resources.push(Resource::new(object));
    }
    Ok(resources)
}

/// An object has a kind and a name.
pub(super) fn check_identity(object: &Map) -> Result<(), Error> {
    let id = Id::of(object);
    let lacking = match (id.kind.as_str(), id.name.as_str()) {
        ("", _) => "kind",
        // A list has its items instead.
        (kind, "") if !kind.ends_with("List") => "metadata.name",
        _ => return Ok(()),
    };
    let metadata = map_field(object, "metadata");
    let shown = |field| {
        let own = metadata
            .as_ref()
            .and_then(|metadata| map_field(metadata, field));
        shown(&Value::Map(own.unwrap_or_else(Map::dict)))
    };
    let (labels, annotations) = (shown("labels"), shown("annotations"));
    let meta = format!(
        "{{{{{} {}}} {labels} {annotations}}}",
        id.name, id.namespace
    );
    let object = format!("{{{{{} {}}} {meta}}}", id.api_version, id.kind);
    Err(Error::new(messages::object_lacks(lacking, &object)))
}

/// Objects may not be there already, nor twice.
pub(super) fn check_ids(before: &[Resource], more: &[Resource]) -> Result<(), Error> {
    let mut known: std::collections::HashSet<_> = before.iter().map(|one| one.id().key()).collect();
    for resource in more {
        let id = resource.id();
        if !known.insert(id.key()) {
            return Err(Error::new(messages::repeated_id(&id.to_string())));
        }
    }
    Ok(())
}
