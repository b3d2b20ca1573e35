//! Objects as kustomize knows them: with the names that they had before it renamed them.

use reeve_go_compat::value::{Map, Value};

use super::Allowed;
use crate::type_meta::TypeMeta;
use crate::values::{map_field, name_of, namespace_of, set, text_field, unset};

/// The namespace of kinds without namespace: no object of another kind is in it.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// An object of a kustomization.
pub struct Resource {
    pub object: Map,
    /// What it was before each change of its name or namespace, the oldest first.
    pub previous: Vec<Id>,
    /// The prefixes of its name, in the order in which they were added.
    pub prefixes: Vec<String>,
    /// The suffixes of its name, in the order in which they were added.
    pub suffixes: Vec<String>,
    /// Its name gets a hash of its content in the end.
    pub has_hash: bool,
}

impl Resource {
    /// An object as it was read.
    pub fn new(object: Map) -> Self {
        Self {
            object,
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            has_hash: false,
        }
    }

    /// What it is now.
    pub fn id(&self) -> Id {
        Id::of(&self.object)
    }

    /// Whether it is this, or was.
    pub fn is_or_was(&self, id: &Id) -> bool {
        self.id().is(id) || self.previous.iter().any(|previous| previous.is(id))
    }

    /// Remembers what it is, before that changes.
    pub fn store_id(&mut self) {
        self.previous.push(self.id());
    }
}

/// Which object something is, in kustomize's words.
#[derive(Clone, Debug)]
pub struct Id {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
}

impl Id {
    /// The identity of an object or a patch.
    pub fn of(object: &Map) -> Self {
        Self {
            api_version: text_field(object, "apiVersion").unwrap_or_default(),
            kind: text_field(object, "kind").unwrap_or_default(),
            name: name_of(object).unwrap_or_default(),
            namespace: namespace_of(object).unwrap_or_default(),
        }
    }

    /// Whether both are the same object.
    pub fn is(&self, other: &Self) -> bool {
        self.api_version == other.api_version
            && self.kind == other.kind
            && self.name == other.name
            && self.effective_namespace() == other.effective_namespace()
    }

    /// The namespace; kustomize takes none for the default one, and does not look at that of kinds without namespace.
    pub fn effective_namespace(&self) -> &str {
        if self.type_meta().is_cluster_scoped() {
            return NO_NAMESPACE;
        }
        match self.namespace.as_str() {
            "" => "default",
            other => other,
        }
    }

    /// The kind.
    pub fn type_meta(&self) -> TypeMeta {
        let (group, version) = self.group_version();
        TypeMeta {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: self.kind.clone(),
        }
    }

    /// The group and the version.
    fn group_version(&self) -> (&str, &str) {
        self.api_version
            .rsplit_once('/')
            .unwrap_or(("", &self.api_version))
    }

    /// The parts that no two objects have in common.
    pub fn key(&self) -> [String; 4] {
        [
            self.api_version.clone(),
            self.kind.clone(),
            self.name.clone(),
            self.effective_namespace().to_owned(),
        ]
    }

    /// Makes an object this again, except for what may change. API version and namespace never do.
    pub fn restore(&self, object: &Map, allowed: Allowed) {
        if self.api_version.is_empty() {
            unset(object, "apiVersion");
        } else {
            set(object, "apiVersion", self.api_version.as_str());
        }
        if !allowed.kind {
            set(object, "kind", self.kind.as_str());
        }
        let metadata = map_field(object, "metadata").unwrap_or_else(|| {
            let made = Map::dict();
            set(object, "metadata", Value::Map(made.clone()));
            made
        });
        if !allowed.name {
            set(&metadata, "name", self.name.as_str());
        }
        if self.namespace.is_empty() {
            unset(&metadata, "namespace");
        } else {
            set(&metadata, "namespace", self.namespace.as_str());
        }
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (group, version) = self.group_version();
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
