//! The resources of a server: the built-in ones, as a kube-apiserver of the same version publishes them, and those of
//! CRDs.

mod builtin;
mod custom;
mod definition_cache;
mod registry;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

pub use builtin::{bootstrap_objects, described_metadata, openapi_schemas};
pub(crate) use custom::version_order;
pub use custom::{Custom, CustomError};
pub(crate) use registry::KindRegistry;

use custom::Definition;

use crate::schema::{TypeId, Types};
use crate::status_error::GroupResource;
use crate::stored::TableName;

/// How `scale` of a resource finds its numbers: dotted paths without the leading dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The wanted replicas.
    pub spec_replicas: String,
    /// The replicas that there are.
    pub status_replicas: String,
    /// The selector, as text or as a structure.
    pub label_selector: Option<String>,
}

/// A part of a resource with a path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Its name, such as `status`.
    pub name: String,
    /// The kind that it answers with.
    pub kind: String,
    /// The group and version of that kind, if they are others.
    pub of: Option<(String, String)>,
    /// The verbs that it knows.
    pub verbs: Vec<String>,
}

/// One resource in one version.
#[derive(Debug)]
pub struct Kind {
    /// The API group; empty of the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The resource, such as `deployments`.
    pub resource: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The kind of lists.
    pub list_kind: String,
    /// The resource in the singular.
    pub singular: String,
    /// Whether objects are in namespaces.
    pub namespaced: bool,
    /// The verbs.
    pub verbs: Vec<String>,
    /// The short names.
    pub short_names: Vec<String>,
    /// Groups of resources that it is part of, such as `all`.
    pub categories: Vec<String>,
    /// What has a path of its own.
    pub subresources: Vec<Subresource>,
    /// The table of its objects. Versions of a resource share a table.
    pub table: TableName,
    /// The `apiVersion` in which its objects are stored.
    pub storage_version: String,
    /// Its schema.
    pub schema: Option<(Arc<Types>, TypeId)>,
    /// What its CRD defines, for custom resources.
    pub custom: Option<Custom>,
    /// How `scale` finds its numbers, if it has that.
    pub scale: Option<Scale>,
}

impl Kind {
    /// `apps/v1`, or `v1`.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether its objects are stored in this version.
    pub fn is_stored_version(&self) -> bool {
        self.storage_version == self.api_version()
    }

    /// Drops what the schema of a custom resource does not know.
    pub(crate) fn drop_unknown(&self, object: &mut Value) {
        let custom = self.custom.as_ref();
        if let Some((types, id)) = &self.schema
            && custom.is_some_and(|custom| !custom.preserve_unknown)
        {
            crate::schema::prune(types, *id, object);
        }
    }

    /// For refusals that name the resource.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.resource)
    }

    /// For refusals that name the kind.
    pub fn group_kind(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.kind)
    }

    /// A part with a path of its own.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| one.name == name)
    }

    /// The kind that is read and written at a path: this one or that of a subresource (group, version, kind).
    pub(crate) fn sent_kind<'a>(
        &'a self,
        subresource: Option<&str>,
    ) -> (&'a str, &'a str, &'a str) {
        let part = subresource.and_then(|part| self.subresource(part));
        let (group, version) = match part.and_then(|part| part.of.as_ref()) {
            Some((group, version)) => (group.as_str(), version.as_str()),
            None => (self.group.as_str(), self.version.as_str()),
        };
        let name = part.map_or(&self.kind, |part| &part.kind);
        (group, version, name)
    }

    /// Whether `status` is written apart from the rest.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether it is `resource` of `group`, in whatever version.
    pub fn is(&self, group: &str, resource: &str) -> bool {
        self.group == group && self.resource == resource
    }
}

/// `apps/v1`, or `v1` of the core group.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// The table of the objects of a resource.
pub fn table_name(group: &str, resource: &str) -> TableName {
    // Events are the same objects in both groups.
    if group == "events.k8s.io" && resource == "events" {
        return "/events".into();
    }
    format!("{group}/{resource}").into()
}

/// A group as discovery publishes it: its versions, most preferred first.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name; empty of the core group.
    pub name: String,
    /// The versions with their resources, by name.
    pub versions: Vec<(String, Vec<Arc<Kind>>)>,
}

/// All resources that a server knows at one moment.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    groups: Vec<Group>,
    by_path: HashMap<(String, String, String), Arc<Kind>>,
    /// What CRDs define, by their names.
    custom: BTreeMap<String, Arc<Definition>>,
    /// The number of changes.
    pub generation: u64,
}

impl Kinds {
    /// The built-in ones.
    pub fn builtin() -> Self {
        let mut kinds = Self {
            groups: builtin::groups(),
            by_path: HashMap::new(),
            custom: BTreeMap::new(),
            generation: 0,
        };
        for group in &kinds.groups {
            for (_, resources) in &group.versions {
                for kind in resources {
                    kinds.by_path.insert(path_of(kind), Arc::clone(kind));
                }
            }
        }
        kinds
    }

    /// The resource of a path.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<&Arc<Kind>> {
        self.by_path
            .get(&(group.to_owned(), version.to_owned(), resource.to_owned()))
    }

    /// A kind by its names in an object.
    pub fn of_object(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let group = self.groups.iter().find(|one| one.name == group)?;
        let (_, resources) = group.versions.iter().find(|(name, _)| name == version)?;
        resources.iter().find(|one| one.kind == kind)
    }

    /// A resource in whatever version is preferred.
    pub fn preferred(&self, group: &str, resource: &str) -> Option<&Arc<Kind>> {
        let group = self.groups.iter().find(|one| one.name == group)?;
        group
            .versions
            .iter()
            .find_map(|(_, resources)| resources.iter().find(|one| one.resource == resource))
    }

    /// All groups in the order of discovery.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The kinds that share the table of this one: the same resource in its other versions, and in other groups.
    pub fn same_resource<'a>(&'a self, kind: &'a Kind) -> impl Iterator<Item = &'a Arc<Kind>> {
        let all = self.groups.iter().flat_map(|group| &group.versions);
        let all = all.flat_map(|(_, resources)| resources);
        all.filter(move |one| {
            one.table == kind.table && (&one.group, &one.version) != (&kind.group, &kind.version)
        })
    }

    /// A kind for each table.
    pub fn each_table(&self) -> Vec<Arc<Kind>> {
        let mut by_table: BTreeMap<TableName, Arc<Kind>> = BTreeMap::new();
        for group in &self.groups {
            for (_, resources) in &group.versions {
                for kind in resources {
                    by_table
                        .entry(Arc::clone(&kind.table))
                        .or_insert_with(|| Arc::clone(kind));
                }
            }
        }
        by_table.into_values().collect()
    }

    /// The same with the resources of a CRD, in place of what it served before.
    pub fn with_crd(&self, crd: &Value) -> Result<Self, CustomError> {
        let definition = definition_cache::definition(crd)?;
        let name = definition.name.clone();
        let taken = self.preferred(&definition.kept.group, &definition.kept.resource);
        if taken.is_some_and(|taken| taken.custom.is_none()) {
            return Err(CustomError::taken(&name));
        }
        let mut all = self.without_crd(&name);
        all.custom.insert(name, definition);
        all.collect_custom();
        Ok(all)
    }

    /// The same without the resources of a CRD.
    #[must_use]
    pub fn without_crd(&self, name: &str) -> Self {
        let mut all = self.clone();
        all.custom.remove(name);
        all.collect_custom();
        all
    }

    /// The kind that a CRD defines, in the version that is kept: it need not be served.
    pub fn of_crd(&self, name: &str) -> Option<&Arc<Kind>> {
        self.custom.get(name).map(|definition| &definition.kept)
    }

    /// The kind of the CRD whose objects are in a table, served or not.
    pub fn stored_in(&self, table: &str) -> Option<&Arc<Kind>> {
        let mut kept = self.custom.values().map(|definition| &definition.kept);
        kept.find(|kind| &*kind.table == table)
    }

    fn collect_custom(&mut self) {
        self.generation += 1;
        self.by_path.retain(|_, kind| kind.custom.is_none());
        for group in &mut self.groups {
            for (_, resources) in &mut group.versions {
                resources.retain(|kind| kind.custom.is_none());
            }
            group
                .versions
                .retain(|(_, resources)| !resources.is_empty());
        }
        self.groups.retain(|group| !group.versions.is_empty());
        let mut added: BTreeMap<&str, Vec<&Arc<Kind>>> = BTreeMap::new();
        let served = self
            .custom
            .values()
            .flat_map(|definition| &definition.served);
        for kind in served {
            self.by_path.insert(path_of(kind), Arc::clone(kind));
            added.entry(&kind.group).or_default().push(kind);
        }
        for (name, kinds) in added {
            if !self.groups.iter().any(|group| group.name == name) {
                self.groups.push(Group {
                    name: name.to_owned(),
                    versions: Vec::new(),
                });
            }
            let Some(group) = self.groups.iter_mut().find(|group| group.name == name) else {
                continue;
            };
            for kind in kinds {
                match group
                    .versions
                    .iter_mut()
                    .find(|(version, _)| *version == kind.version)
                {
                    Some((_, resources)) => resources.push(Arc::clone(kind)),
                    None => group
                        .versions
                        .push((kind.version.clone(), vec![Arc::clone(kind)])),
                }
            }
            for (_, resources) in &mut group.versions {
                resources.sort_by(|a, b| a.resource.cmp(&b.resource));
            }
            group
                .versions
                .sort_by(|(a, _), (b, _)| custom::version_order(a, b));
        }
    }
}

fn path_of(kind: &Kind) -> (String, String, String) {
    (
        kind.group.clone(),
        kind.version.clone(),
        kind.resource.clone(),
    )
}
