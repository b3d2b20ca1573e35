//! The directories of a kustomization, and what is read from them.

use std::path::{Path, PathBuf};

use reeve_go_compat::json::typed::{UnknownFields, decode_typed};
use reeve_go_compat::paths::clean;
use reeve_go_compat::value::{Map, Value};
use reeve_go_compat::yaml;

use super::NotBuilt;
use super::fields::{BEYOND, KUSTOMIZATION};
use super::trees::tree;
use crate::error::Error;
use crate::manifests::KUSTOMIZATIONS;
use crate::messages;
use crate::settings::Switches;
use crate::values::{nonempty_field, text_field};

/// Directories of directories beyond this depth are left to an installed kustomize.
const MAX_DEPTH: usize = 64;

const KIND: &str = "Kustomization";
const COMPONENT: &str = "Component";

/// A directory that is built.
pub(super) struct Folder<'a> {
    pub(super) root: PathBuf,
    switches: Switches,
    /// The directory whose kustomization names this one.
    above: Option<&'a Folder<'a>>,
}

impl Folder<'_> {
    /// The directory of a manifest entry.
    pub(super) fn new(root: PathBuf, switches: Switches) -> Self {
        Self {
            root,
            switches,
            above: None,
        }
    }

    /// A directory that the kustomization names. One from which the way led here is a circle.
    pub(super) fn enter<'a>(&'a self, root: &Path) -> Result<Folder<'a>, NotBuilt> {
        let mut visited = Some(self);
        let mut depth = 0;
        while let Some(folder) = visited {
            if folder.root.starts_with(root) {
                let (root, visited) = (root.display().to_string(), folder.root.display());
                return Err(Error::new(messages::kustomize_circle(&root, &visited)).into());
            }
            depth += 1;
            visited = folder.above;
        }
        if depth > MAX_DEPTH {
            return Err(NotBuilt::Beyond(root.display().to_string()));
        }
        Ok(Folder {
            root: root.to_owned(),
            switches: self.switches,
            above: Some(self),
        })
    }

    /// A file or a directory that the kustomization names. A file has to be below the directory.
    pub(super) fn locate(&self, name: &str) -> Result<PathBuf, Error> {
        let joined = self.root.join(name);
        let at = joined.canonicalize().map_err(|error| {
            let joined = clean(joined.as_os_str().as_encoded_bytes());
            let joined = String::from_utf8_lossy(&joined);
            let error = messages::io(&error);
            let missing = first_missing(Path::new(joined.as_ref()))
                .display()
                .to_string();
            Error::new(messages::unresolved_in_kustomization(
                &joined, &missing, &error,
            ))
        })?;
        if at.is_file() && !self.switches.unrestricted && !at.starts_with(&self.root) {
            let (at, root) = (at.display().to_string(), self.root.display().to_string());
            return Err(Error::new(messages::outside_root(&at, &root)));
        }
        Ok(at)
    }

    /// The content of a file that the kustomization names.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let at = self.locate(name)?;
        // A pipe or a device may have no end.
        if !at.is_file() {
            let at = at.display().to_string();
            return Err(Error::new(messages::not_a_file(&at)));
        }
        std::fs::read(at).map_err(|_| Error::new(messages::unreadable_manifest(name)))
    }

    /// The kustomization of the directory, with the names of fields as kustomize spells them and without null ones.
    pub(super) fn kustomization(&self) -> Result<Map, NotBuilt> {
        let read = self.decoded()?;
        if is_empty(&read) {
            return Err(Error::new(messages::EMPTY_KUSTOMIZATION).into());
        }
        let shown = self.root.display().to_string();
        if let Some(wrong) = wrong_type(&read) {
            return Err(Error::new(messages::unread_kustomization_file(&shown, wrong)).into());
        }
        let is_said = |field: &&str| read.get_str(field).is_some_and(|value| !value.is_nil());
        match BEYOND.into_iter().find(is_said) {
            Some(field) => Err(NotBuilt::Beyond(field.to_owned())),
            None => Ok(read),
        }
    }

    fn decoded(&self) -> Result<Map, Error> {
        let shown = self.root.display().to_string();
        let files = KUSTOMIZATIONS.iter().map(|name| self.root.join(name));
        let mut files = files.filter(|at| at.is_file());
        let at = match (files.next(), files.next()) {
            (Some(at), None) => at,
            (None, _) => return Err(Error::new(messages::no_kustomization(&shown))),
            (Some(_), Some(_)) => return Err(Error::new(messages::several_kustomizations(&shown))),
        };
        let text =
            std::fs::read(at).map_err(|_| Error::new(messages::unreadable_manifest(&shown)))?;
        let invalid = |error: &dyn std::fmt::Display| {
            let error = error.to_string();
            Error::new(messages::invalid_kustomization(&error))
        };
        let json = yaml::decode_sigs(&text)
            .map_err(|error| Error::new(messages::unconverted_kustomization(&error)))
            .and_then(|value| tree(&value))?;
        if json.is_null() {
            return Err(Error::new(messages::EMPTY_KUSTOMIZATION));
        }
        let typed = decode_typed(&json, &KUSTOMIZATION, UnknownFields::Refuse);
        match Value::from(&typed.map_err(|error| invalid(&error))?) {
            Value::Map(map) => Ok(map),
            _ => Ok(Map::dict()),
        }
    }
}

/// The first part of a path that is not there.
fn first_missing(path: &Path) -> &Path {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    let missing = parts.into_iter().find(|part| !part.exists());
    missing.unwrap_or(path)
}

/// Whether a kustomization is a component.
pub(super) fn is_component(kustomization: &Map) -> bool {
    text_field(kustomization, "kind").as_deref() == Some(COMPONENT)
}

/// Whether no field says anything. To kustomize an empty list says something.
fn is_empty(kustomization: &Map) -> bool {
    kustomization.entries().iter().all(|(key, value)| {
        let key = key.to_value();
        let is_type = matches!(&key, Value::Str(key) if matches!(key.lossy().as_ref(), "apiVersion" | "kind"));
        is_type || value.is_nil() || matches!(value, Value::Str(text) if text.is_empty())
    })
}

/// What kustomize says of a type that is neither a kustomization nor a component.
fn wrong_type(kustomization: &Map) -> Option<&'static str> {
    let text = |key| nonempty_field(kustomization, key);
    let version = text("apiVersion");
    match text("kind").as_deref() {
        None | Some(KIND) => {
            let is_wrong = |version: String| version != "kustomize.config.k8s.io/v1beta1";
            version
                .is_some_and(is_wrong)
                .then_some(messages::KUSTOMIZATION_VERSION)
        }
        Some(COMPONENT) => {
            let is_wrong = |version: String| version != "kustomize.config.k8s.io/v1alpha1";
            version
                .is_some_and(is_wrong)
                .then_some(messages::COMPONENT_VERSION)
        }
        Some(_) => Some(messages::KUSTOMIZATION_KIND),
    }
}
