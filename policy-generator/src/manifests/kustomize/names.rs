//! The prefix and the suffix that a kustomization gives to names, and the fields that name what is renamed.

use std::collections::{HashMap, HashSet};

use reeve_go_compat::value::{Map, Value};

use super::references::{TARGETS, Target};
use crate::error::Error;
use crate::merge::{Id, Resource};
use crate::messages;
use crate::type_meta::TypeMeta;
use crate::values::{map_field, maps_field, set, text_field};

/// Adds a prefix and a suffix to the name of an object, unless its name has a meaning.
pub(super) fn rename(resource: &mut Resource, prefix: &str, suffix: &str) {
    let kind = TypeMeta::of(&resource.object);
    let is_kept = matches!(kind.kind.as_str(), "CustomResourceDefinition" | "Namespace")
        || kind.is("apiregistration.k8s.io", "APIService");
    let (Some(metadata), false) = (map_field(&resource.object, "metadata"), is_kept) else {
        return;
    };
    for (affix, is_prefix) in [(prefix, true), (suffix, false)] {
        let Some(name) = text_field(&metadata, "name").filter(|_| !affix.is_empty()) else {
            continue;
        };
        resource.store_id();
        if is_prefix {
            resource.prefixes.push(affix.to_owned());
            set(&metadata, "name", format!("{affix}{name}"));
        } else {
            resource.suffixes.push(affix.to_owned());
            set(&metadata, "name", format!("{name}{affix}"));
        }
    }
}

/// Writes the new names of objects where others name them.
pub(super) fn fix_references(resources: &[Resource]) -> Result<(), Error> {
    let candidates = Candidates::new(resources);
    for resource in resources {
        check_subjects(resource)?;
        let referrer = Referrer::new(resource, &candidates);
        for target in &TARGETS {
            for path in target.paths(&referrer.kind) {
                let reference = Reference {
                    referrer: &referrer,
                    target,
                    is_role: path.iter().map(String::as_str).eq(["roleRef", "name"]),
                };
                let words = |error: Error| {
                    let (path, of) = (path.join("/"), resource.id().to_string());
                    let error = error.within(messages::in_field(&path, &of));
                    error.within(messages::in_reference(&path, &of))
                };
                reference.fix(&resource.object, &path).map_err(words)?;
            }
        }
    }
    Ok(())
}

/// A `RoleBinding` may leave out the namespace of an account, but not leave it blank.
fn check_subjects(resource: &Resource) -> Result<(), Error> {
    if TypeMeta::of(&resource.object).kind != "RoleBinding" {
        return Ok(());
    }
    let is_blank = |subject: &Map| matches!(subject.get_str("namespace"), Some(Value::Nil));
    let is_account =
        |subject: &Map| text_field(subject, "kind").as_deref() == Some("ServiceAccount");
    let subjects = maps_field(&resource.object, "subjects");
    if subjects
        .iter()
        .any(|subject| is_account(subject) && is_blank(subject))
    {
        let id = resource.id().to_string();
        return Err(Error::new(messages::blank_namespace(&id)));
    }
    Ok(())
}

/// An object that others may name.
struct Candidate<'a> {
    resource: &'a Resource,
    id: Id,
    kind: TypeMeta,
    is_cluster_scoped: bool,
}

impl Candidate<'_> {
    /// Whether it was in a namespace at first.
    fn was_in(&self, space: &str) -> bool {
        let first = self.resource.previous.first().unwrap_or(&self.id);
        first.effective_namespace() == space
    }
}

/// All objects, and which of them had a name.
struct Candidates<'a> {
    all: Vec<Candidate<'a>>,
    by_name: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Candidates<'a> {
    fn new(resources: &'a [Resource]) -> Self {
        let mut all = Vec::with_capacity(resources.len());
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (position, resource) in resources.iter().enumerate() {
            let kind = TypeMeta::of(&resource.object);
            all.push(Candidate {
                resource,
                id: resource.id(),
                is_cluster_scoped: kind.is_cluster_scoped(),
                kind,
            });
            for previous in &resource.previous {
                let named = by_name.entry(previous.name.as_str()).or_default();
                if named.last() != Some(&position) {
                    named.push(position);
                }
            }
        }
        Self { all, by_name }
    }
}

/// An object that names others.
struct Referrer<'a> {
    resource: &'a Resource,
    kind: TypeMeta,
    id: Id,
    is_cluster_scoped: bool,
    /// The namespaces of the accounts that it names.
    spaces: HashSet<String>,
    candidates: &'a Candidates<'a>,
}

impl<'a> Referrer<'a> {
    fn new(resource: &'a Resource, candidates: &'a Candidates<'a>) -> Self {
        let kind = TypeMeta::of(&resource.object);
        Self {
            resource,
            id: resource.id(),
            is_cluster_scoped: kind.is_cluster_scoped(),
            // A RoleBinding names accounts of other namespaces.
            spaces: account_namespaces(resource, &kind),
            kind,
            candidates,
        }
    }

    fn may_name(&self, candidate: &Candidate<'_>) -> bool {
        let other = &candidate.id;
        self.is_cluster_scoped
            || candidate.is_cluster_scoped
            || other.effective_namespace() == self.id.effective_namespace()
            || (other.kind == "ServiceAccount" && self.spaces.contains(&other.namespace))
    }

    /// Those that it may name by a name.
    fn named(&self, name: &str) -> Vec<&'a Candidate<'a>> {
        let positions = self.candidates.by_name.get(name).into_iter().flatten();
        let named = positions.filter_map(|position| self.candidates.all.get(*position));
        named.filter(|one| self.may_name(one)).collect()
    }

    /// Whether any that it may name was in a namespace at first.
    fn knows_space(&self, space: &str) -> bool {
        let mut all = self.candidates.all.iter();
        all.any(|one| one.was_in(space) && self.may_name(one))
    }
}

fn account_namespaces(resource: &Resource, kind: &TypeMeta) -> HashSet<String> {
    if kind.kind != "RoleBinding" {
        return HashSet::new();
    }
    let subjects = maps_field(&resource.object, "subjects").into_iter();
    let accounts =
        subjects.filter(|one| text_field(one, "kind").as_deref() == Some("ServiceAccount"));
    accounts
        .filter_map(|one| text_field(&one, "namespace"))
        .collect()
}

/// A field of an object that names one of a kind.
struct Reference<'a> {
    referrer: &'a Referrer<'a>,
    target: &'a Target,
    /// It is `roleRef.name`, beside which the kind stands.
    is_role: bool,
}

impl Reference<'_> {
    /// Fixes the field at the end of a path.
    fn fix(&self, map: &Map, path: &[String]) -> Result<(), Error> {
        let Some((key, rest)) = path.split_first() else {
            return Ok(());
        };
        match map.get_str(key) {
            Some(value) if !rest.is_empty() => self.fix_below(&value, rest)?,
            Some(Value::List(list)) => {
                let mut items = Vec::with_capacity(list.len());
                for item in list.iter() {
                    items.push(self.fixed(item)?);
                }
                set(map, key, Value::list(items));
            }
            Some(value) => set(map, key, self.fixed(&value)?),
            None => {}
        }
        Ok(())
    }

    fn fix_below(&self, value: &Value, path: &[String]) -> Result<(), Error> {
        match value {
            Value::Map(child) => self.fix(child, path),
            Value::List(list) => list.iter().try_for_each(|item| {
                self.fix_below(item, path)
                    .map_err(|error| error.within(messages::in_list(&path.join(" "))))
            }),
            Value::Nil => Ok(()),
            _ => Err(Error::new(messages::SCALAR_ON_THE_WAY)),
        }
    }

    /// The value with the name that the object has now: a name, or a name with a namespace.
    fn fixed(&self, value: &Value) -> Result<Value, Error> {
        match value {
            Value::Str(name) => {
                let candidates = self.referrer.named(&name.lossy());
                let is_same = |a: &Id, b: &Id| a.name == b.name;
                if let Some(id) = self.select(candidates, is_same)? {
                    return Ok(Value::from(id.name.as_str()));
                }
            }
            Value::Map(map) => self.fix_named(map)?,
            _ => {}
        }
        Ok(value.clone())
    }

    fn fix_named(&self, map: &Map) -> Result<(), Error> {
        let Some(name) = text_field(map, "name") else {
            return Ok(());
        };
        let mut candidates = self.referrer.named(&name);
        if candidates.is_empty() {
            return Ok(());
        }
        if let Some(space) = text_field(map, "namespace") {
            // The namespaces of the files come first.
            if self.referrer.knows_space(&space) {
                candidates.retain(|one| one.was_in(&space));
            } else {
                candidates.retain(|one| one.id.effective_namespace() == space);
            }
        }
        let is_same = |a: &Id, b: &Id| a.name == b.name && a.namespace == b.namespace;
        if let Some(id) = self.select(candidates, is_same)? {
            set(map, "name", id.name.as_str());
            if !id.namespace.is_empty() {
                set(map, "namespace", id.namespace.as_str());
            }
        }
        Ok(())
    }

    /// The object that is named. Of several, those are chosen whose prefixes and suffixes match those of the object that names it.
    fn select(
        &self,
        mut candidates: Vec<&Candidate<'_>>,
        is_same: impl Fn(&Id, &Id) -> bool,
    ) -> Result<Option<Id>, Error> {
        candidates.retain(|one| self.is_target(&one.kind) && self.is_of_role(&one.kind));
        if candidates.len() > 1 {
            candidates.retain(|one| self.has_affixes_of(one.resource, true));
        }
        if candidates.len() > 1 {
            candidates.retain(|one| self.has_affixes_of(one.resource, false));
        }
        let ids: Vec<&Id> = candidates.iter().map(|one| &one.id).collect();
        let Some(first) = ids.first().copied() else {
            return Ok(None);
        };
        if ids.iter().all(|id| is_same(first, id)) {
            Ok(Some(first.clone()))
        } else {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            Err(Error::new(messages::ambiguous_reference(&ids.join(", "))))
        }
    }

    fn is_target(&self, kind: &TypeMeta) -> bool {
        let matches = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        matches(self.target.group, &kind.group)
            && matches(self.target.version, &kind.version)
            && self.target.kind == kind.kind
    }

    fn is_of_role(&self, kind: &TypeMeta) -> bool {
        let role = map_field(&self.referrer.resource.object, "roleRef").filter(|_| self.is_role);
        let role = role
            .and_then(|role| Some((text_field(&role, "apiGroup")?, text_field(&role, "kind")?)));
        role.is_none_or(|(group, role)| kind.is(&group, &role))
    }

    /// `or_none`: something without prefix is like anything.
    fn has_affixes_of(&self, candidate: &Resource, or_none: bool) -> bool {
        let own = self.referrer.resource;
        [
            (&own.prefixes, &candidate.prefixes),
            (&own.suffixes, &candidate.suffixes),
        ]
        .into_iter()
        .all(|(own, other)| {
            let is_none = own.is_empty() || other.is_empty();
            (or_none && is_none) || has_same_end(own, other)
        })
    }
}

/// Whether the shorter one is the end of the longer one; an empty one is only that of an empty one.
fn has_same_end(a: &[String], b: &[String]) -> bool {
    if a.is_empty() || b.is_empty() {
        return a.len() == b.len();
    }
    a.ends_with(b) || b.ends_with(a)
}
