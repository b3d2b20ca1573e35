//! `APIServices`: versions of groups that other API servers are to serve. This server forwards no request to them, so they
//! are never available; discovery shows them as a kube-apiserver shows those whose servers do not answer.

use std::borrow::Cow;
use std::cmp::Reverse;

use serde_json::Value;

use crate::builtin::apiservices::{self, group_version};
use crate::kinds::{Group, Kinds, version_order};
use crate::meta;
use crate::store::{Key, Store};

/// The table of `APIServices`.
pub(crate) const TABLE: &str = "apiregistration.k8s.io/apiservices";

/// The priority of the group of `APIServices` themselves, which comes first.
const FIRST: i64 = 20_000;

/// The priorities that a kube-apiserver gives to what a CRD defines: of the group and of the version.
const CUSTOM: (i64, i64) = (1000, 100);

/// Whether a version of a group that is not served here is another server's.
pub(crate) fn is_remote(store: &Store, group: &str, version: &str) -> bool {
    apiservice(store, group, version).is_some_and(|found| apiservices::is_remote(&found))
}

/// The groups in the order of discovery: those of this server, and those of others, whose versions have no resources.
pub(crate) fn discovered_groups<'a>(store: &Store, kinds: &'a Kinds) -> Cow<'a, [Group]> {
    let all = store.all(TABLE).into_iter();
    let named = all.filter(|(_, stored)| stored.mentions("\"service\""));
    let mut remote: Vec<Value> = named
        .map(|(_, stored)| stored.value())
        .filter(apiservices::is_remote)
        .collect();
    if remote.is_empty() {
        return Cow::Borrowed(kinds.groups());
    }
    remote.sort_by_cached_key(place);
    let mut groups = kinds.groups().to_vec();
    for service in &remote {
        insert(store, &mut groups, service);
    }
    Cow::Owned(groups)
}

fn insert(store: &Store, groups: &mut Vec<Group>, service: &Value) {
    let (name, version) = group_version(service);
    let new = || (version.to_owned(), Vec::new());
    if let Some(group) = groups.iter_mut().find(|group| group.name == name) {
        if group.versions.iter().any(|(other, _)| other == version) {
            return;
        }
        let own = priorities(service).1;
        let later = group.versions.iter().position(|(other, _)| {
            let others = priorities_of(store, name, other).1;
            others < own || (others == own && version_order(version, other).is_lt())
        });
        let at = later.unwrap_or(group.versions.len());
        group.versions.insert(at, new());
        return;
    }
    let own = place(service);
    let later = groups.iter().position(|group| place_of(store, group) > own);
    let group = Group {
        name: name.to_owned(),
        versions: vec![new()],
    };
    groups.insert(later.unwrap_or(groups.len()), group);
}

fn apiservice(store: &Store, group: &str, version: &str) -> Option<Value> {
    let key = Key::new("", &format!("{version}.{group}"));
    store.get(TABLE, &key).map(|stored| stored.value())
}

fn priorities_of(store: &Store, group: &str, version: &str) -> (i64, i64) {
    let found = apiservice(store, group, version);
    found.map_or(CUSTOM, |service| priorities(&service))
}

/// The order of a group in discovery: higher priorities first, then by the names of their `APIServices`.
fn place_of(store: &Store, group: &Group) -> (Reverse<i64>, String) {
    if group.name == "apiregistration.k8s.io" {
        return (Reverse(FIRST), String::new());
    }
    let versions = group.versions.iter().map(|(version, _)| version);
    let places = versions.map(|version| {
        let priority = priorities_of(store, &group.name, version).0;
        (Reverse(priority), format!("{version}.{}", group.name))
    });
    places.min().unwrap_or((Reverse(CUSTOM.0), String::new()))
}

/// The priorities of an `APIService`: of its group and of its version.
fn priorities(service: &Value) -> (i64, i64) {
    let number = |path: &str| service.pointer(path).and_then(Value::as_i64);
    (
        number("/spec/groupPriorityMinimum").unwrap_or_default(),
        number("/spec/versionPriority").unwrap_or_default(),
    )
}

fn place(service: &Value) -> (Reverse<i64>, String) {
    let name = meta::text(service, "name").to_owned();
    (Reverse(priorities(service).0), name)
}
