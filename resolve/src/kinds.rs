//! What is known of kinds without a cluster: those of Kubernetes, those whose CRD is among the local objects, those that a saved
//! file names, and, of other kinds, what their local objects show.

use std::sync::Arc;

use kube::core::{ApiResource, GroupVersionKind};
use reeve_config_policy_controller::dryrun::builtin;
use reeve_runtime::discovery::{ServedKind, group_version_kind};
use serde_json::Value;

/// How a saved file names a kind.
const MARK: &str = "# Kind ";

/// Kinds of local objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalKinds {
    kinds: Vec<ServedKind>,
}

impl LocalKinds {
    /// The kinds of a file with its objects.
    pub(crate) fn of(text: &str, objects: &[Arc<Value>]) -> Self {
        let named = text.lines().filter_map(parse);
        let defined = objects.iter().flat_map(|object| of_crd(object));
        let kinds = named.chain(defined).chain(builtin()).chain(well_known());
        let mut all = Self {
            kinds: kinds.collect(),
        };
        for object in objects {
            let kind = group_version_kind(at(object, "/apiVersion"), at(object, "/kind"));
            if all.find(&kind).is_none() {
                let namespaced = !at(object, "/metadata/namespace").is_empty();
                all.kinds.push(guess(&kind, namespaced));
            }
        }
        all
    }

    /// What is known of a kind.
    pub(crate) fn find(&self, kind: &GroupVersionKind) -> Option<ServedKind> {
        let is_kind = |known: &&ServedKind| {
            let resource = &known.resource;
            resource.group == kind.group
                && resource.version == kind.version
                && resource.kind == kind.kind
        };
        self.kinds.iter().find(is_kind).cloned()
    }
}

/// The line by which a saved file names a kind.
pub(crate) fn line(kind: &ServedKind) -> String {
    let resource = &kind.resource;
    let scope = if kind.namespaced { "namespace" } else { "root" };
    format!(
        "{MARK}{} {} {} {scope}",
        resource.api_version, resource.kind, resource.plural
    )
}

fn parse(line: &str) -> Option<ServedKind> {
    let mut words = line.strip_prefix(MARK)?.split(' ');
    let (api_version, kind) = (words.next()?, words.next()?);
    let (plural, scope) = (words.next()?, words.next()?);
    let kind = group_version_kind(api_version, kind);
    Some(ServedKind {
        resource: ApiResource::from_gvk_with_plural(&kind, plural),
        namespaced: scope == "namespace",
        watchable: true,
    })
}

/// The kinds of clusters and claims, which templates have functions for.
fn well_known() -> Vec<ServedKind> {
    const GROUP: &str = "cluster.open-cluster-management.io";
    let root = |version: &str, kind: &str, plural: &str| ServedKind {
        resource: ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(GROUP, version, kind),
            plural,
        ),
        namespaced: false,
        watchable: true,
    };
    vec![
        root("v1", "ManagedCluster", "managedclusters"),
        root("v1alpha1", "ClusterClaim", "clusterclaims"),
    ]
}

fn of_crd(object: &Value) -> Vec<ServedKind> {
    if at(object, "/kind") != "CustomResourceDefinition" {
        return Vec::new();
    }
    let versions = object.pointer("/spec/versions").and_then(Value::as_array);
    let versions = versions.into_iter().flatten();
    versions
        .map(|version| {
            let kind = at(object, "/spec/names/kind");
            let kind = GroupVersionKind::gvk(at(object, "/spec/group"), at(version, "/name"), kind);
            ServedKind {
                resource: ApiResource::from_gvk_with_plural(
                    &kind,
                    at(object, "/spec/names/plural"),
                ),
                namespaced: at(object, "/spec/scope") != "Cluster",
                watchable: true,
            }
        })
        .collect()
}

/// A kind of which only an object is known.
fn guess(kind: &GroupVersionKind, namespaced: bool) -> ServedKind {
    ServedKind {
        resource: ApiResource::from_gvk(kind),
        namespaced,
        watchable: true,
    }
}

/// The text at a pointer, or an empty one.
pub(crate) fn at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}
