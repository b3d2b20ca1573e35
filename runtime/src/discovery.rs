//! Maps a kind to the resource that serves it, in exactly the requested version, with a cache.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::core::{ApiResource, DynamicResourceScope, GroupVersionKind};
use kube::{Api, Client, Resource};
use parking_lot::RwLock;
use reeve_api::names::split_api_version;
use tokio::time::Instant;

use crate::object::StatusReason;
use crate::path::segment;

/// How long a found kind is cached. Absence is never cached: a CRD may be installed at any moment, and a policy waits
/// for it.
const BELIEVED: Duration = Duration::from_mins(10);

/// How long discovery may lag behind a change of a group. Pages of that time are not cached.
const SETTLED: Duration = Duration::from_secs(5);

/// The timeout of a page. Without it an aggregated API server that does not answer would block the caller for a
/// minute.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A served kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServedKind {
    /// Group, version, kind and plural.
    pub resource: ApiResource,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
    /// Whether it can be watched; some aggregated APIs cannot.
    pub watchable: bool,
}

impl ServedKind {
    /// The objects of this kind; of a namespaced one those in a namespace, or everywhere, if that is empty.
    pub fn api<K>(&self, client: Client, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        if self.namespaced && !namespace.is_empty() {
            Api::namespaced_with(client, &segment(namespace), &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }
}

/// Why a kind could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The group and version are not served at all.
    #[error("the resource version was not found: {}", describe(.0))]
    UnknownVersion(GroupVersionKind),
    /// The group and version are served, but not this kind.
    #[error("the resource version was not found: no matching kind was found: {}", describe(.0))]
    UnknownKind(GroupVersionKind),
    /// Discovery failed, so nothing is known about the kind.
    #[error("cannot discover {}", describe(.kind))]
    Unavailable {
        /// The kind that was looked for.
        kind: GroupVersionKind,
        /// The error of the client: the API server's answer, or that there was none.
        #[source]
        source: Box<kube::Error>,
    },
}

impl DiscoveryError {
    /// Whether the API server answered that the kind does not exist.
    pub fn is_absent(&self) -> bool {
        !matches!(self, Self::Unavailable { .. })
    }
}

/// The kind in an object's `apiVersion` and `kind`.
pub fn group_version_kind(api_version: &str, kind: &str) -> GroupVersionKind {
    let (group, version) = split_api_version(api_version);
    GroupVersionKind::gvk(group, version, kind)
}

/// A kind as Kubernetes prints it: `<group>/<version>, Kind=<Kind>`; the core group is `/v1`.
pub fn describe(kind: &GroupVersionKind) -> String {
    format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind)
}

/// Maps kinds to resources; clones share the cache.
#[derive(Clone)]
pub struct Discovery {
    client: Client,
    cache: Arc<RwLock<Cache>>,
}

#[derive(Default)]
struct Cache {
    kinds: HashMap<GroupVersionKind, (Instant, ServedKind)>,
    /// When groups changed.
    changed: HashMap<String, Instant>,
}

impl Cache {
    fn get(&self, kind: &GroupVersionKind) -> Option<&ServedKind> {
        let (at, served) = self.kinds.get(kind)?;
        (at.elapsed() < BELIEVED).then_some(served)
    }

    fn is_settled(&self, group: &str) -> bool {
        let changed = self.changed.get(group);
        changed.is_none_or(|at| at.elapsed() > SETTLED)
    }
}

impl Discovery {
    /// An empty cache.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            cache: Arc::default(),
        }
    }

    /// The resource that serves a kind. A page of the API server, which lists all kinds of one group and version, is
    /// requested when it is first needed, after ten minutes again, and whenever a kind is not on it. Pages of other
    /// groups, broken ones included, are not requested.
    pub fn find<'a>(
        &'a self,
        kind: &'a GroupVersionKind,
    ) -> BoxFuture<'a, Result<ServedKind, DiscoveryError>> {
        Box::pin(async move {
            if let Some(served) = self.cache.read().get(kind) {
                return Ok(served.clone());
            }
            let page = async {
                if kind.group.is_empty() {
                    self.client.list_core_api_resources(&kind.version).await
                } else {
                    let version = kind.api_version();
                    self.client.list_api_group_resources(&version).await
                }
            };
            let late = |late| Err(kube::Error::Service(Box::new(late)));
            let list = match tokio::time::timeout(TIMEOUT, page)
                .await
                .unwrap_or_else(late)
            {
                Ok(list) => list,
                Err(error) if StatusReason::of(&error) == StatusReason::NotFound => {
                    return Err(DiscoveryError::UnknownVersion(kind.clone()));
                }
                Err(error) => {
                    let source = Box::new(error);
                    return Err(DiscoveryError::Unavailable {
                        kind: kind.clone(),
                        source,
                    });
                }
            };
            let page = kinds_of(kind, &list.resources);
            let found = page.get(kind).cloned();
            let mut cache = self.cache.write();
            // The cached answer about a kind that is no longer on the page is outdated.
            cache.kinds.remove(kind);
            if cache.is_settled(&kind.group) {
                let now = Instant::now();
                let page = page.into_iter().map(|(kind, served)| (kind, (now, served)));
                cache.kinds.extend(page);
            }
            found.ok_or_else(|| DiscoveryError::UnknownKind(kind.clone()))
        })
    }

    /// Drops a kind from the cache, after the API server answered 404 for it or its CRD changed.
    pub fn forget(&self, kind: &GroupVersionKind) {
        self.cache.write().kinds.remove(kind);
    }

    /// Drops every kind of a group from the cache.
    pub fn forget_group(&self, group: &str) {
        let mut cache = self.cache.write();
        cache.kinds.retain(|kind, _| kind.group != group);
    }

    /// Drops every kind of a group because one of its definitions changed. The pages of the API server follow with a
    /// delay: for that long they are not cached.
    pub fn group_changed(&self, group: &str) {
        self.forget_group(group);
        let mut cache = self.cache.write();
        cache.changed.retain(|_, at| at.elapsed() <= SETTLED);
        cache.changed.insert(group.to_owned(), Instant::now());
    }

    /// Whether the last [change](Self::group_changed) of a group is so long ago that the API server's pages show it.
    pub fn is_settled(&self, group: &str) -> bool {
        self.cache.read().is_settled(group)
    }
}

/// All kinds on a page, which is of the group and version of `asked`. Where several resources have one kind, the
/// first watchable one serves it, else the first.
fn kinds_of(
    asked: &GroupVersionKind,
    page: &[APIResource],
) -> HashMap<GroupVersionKind, ServedKind> {
    let mut kinds: HashMap<GroupVersionKind, ServedKind> = HashMap::new();
    // Subresources repeat the kind of their resource.
    for resource in page.iter().filter(|resource| !resource.name.contains('/')) {
        let kind = GroupVersionKind {
            kind: resource.kind.clone(),
            ..asked.clone()
        };
        let watchable = resource.verbs.iter().any(|verb| verb == "watch");
        if kinds
            .get(&kind)
            .is_some_and(|known| known.watchable || !watchable)
        {
            continue;
        }
        let served = ServedKind {
            resource: ApiResource {
                group: kind.group.clone(),
                version: kind.version.clone(),
                api_version: kind.api_version(),
                kind: kind.kind.clone(),
                plural: resource.name.clone(),
            },
            namespaced: resource.namespaced,
            watchable,
        };
        kinds.insert(kind, served);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(name: &str, kind: &str, verbs: &[&str]) -> APIResource {
        APIResource {
            name: name.to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            ..APIResource::default()
        }
    }

    #[test]
    fn subresources_do_not_serve_a_kind_and_watchable_resources_come_first() {
        let asked = GroupVersionKind::gvk("g", "v1", "Thing");
        let page = [
            resource("things/status", "Thing", &["get", "watch"]),
            resource("creatablethings", "Thing", &["create"]),
            resource("things", "Thing", &["get", "list", "watch"]),
            resource("otherthings", "Thing", &["watch"]),
        ];
        let kinds = kinds_of(&asked, &page);
        assert_eq!(kinds.len(), 1);
        let served = &kinds[&asked];
        assert_eq!(
            (served.resource.plural.as_str(), served.watchable),
            ("things", true)
        );
        assert_eq!(describe(&asked), "g/v1, Kind=Thing");
    }
}
