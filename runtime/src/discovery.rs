//! From a kind to the resource that serves it: exactly the version asked for, remembered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use parking_lot::RwLock;
use tokio::time::Instant;

use crate::object::Refusal;

/// How long a positive answer is believed. Absence is never remembered: a CRD may be installed
/// at any moment, and a policy waits for it.
const BELIEVED: Duration = Duration::from_mins(10);

/// A served kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServedKind {
    /// Group, version, kind and plural.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it can be watched; some aggregated APIs cannot.
    pub watchable: bool,
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
    /// The API server could not be asked, so nothing is known about the kind.
    #[error("cannot discover {}", describe(.kind))]
    Unavailable {
        /// The kind that was looked for.
        kind: GroupVersionKind,
        /// Why.
        #[source]
        source: Box<kube::Error>,
    },
}

impl DiscoveryError {
    /// Whether the API server answered, and the answer was that there is no such kind.
    pub fn is_absent(&self) -> bool {
        !matches!(self, Self::Unavailable { .. })
    }
}

/// A kind as Kubernetes prints it: `<group>/<version>, Kind=<Kind>`; the core group is `/v1`.
pub fn describe(kind: &GroupVersionKind) -> String {
    format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind)
}

/// Maps kinds to resources; clones share what was learnt.
#[derive(Clone)]
pub struct Discovery {
    client: Client,
    learnt: Arc<RwLock<HashMap<GroupVersionKind, (Instant, ServedKind)>>>,
}

impl Discovery {
    /// Nothing learnt yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            learnt: Arc::default(),
        }
    }

    /// The resource that serves a kind. One request per group and version and ten minutes; other
    /// groups, broken ones included, are not asked.
    pub async fn find(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        if let Some((at, served)) = self.learnt.read().get(kind)
            && at.elapsed() < BELIEVED
        {
            return Ok(served.clone());
        }
        let list = if kind.group.is_empty() {
            self.client.list_core_api_resources(&kind.version).await
        } else {
            self.client
                .list_api_group_resources(&kind.api_version())
                .await
        };
        let list = match list {
            Ok(list) => list,
            Err(error) if Refusal::of(&error) == Refusal::NotFound => {
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
        // Subresources repeat the kind of what they belong to.
        let of_kind = || {
            list.resources
                .iter()
                .filter(|r| r.kind == kind.kind && !r.name.contains('/'))
        };
        let can_watch = |verbs: &[String]| verbs.iter().any(|verb| verb == "watch");
        let found = of_kind()
            .find(|r| can_watch(&r.verbs))
            .or_else(|| of_kind().next());
        let Some(found) = found else {
            return Err(DiscoveryError::UnknownKind(kind.clone()));
        };
        let served = ServedKind {
            resource: ApiResource {
                group: kind.group.clone(),
                version: kind.version.clone(),
                api_version: kind.api_version(),
                kind: kind.kind.clone(),
                plural: found.name.clone(),
            },
            namespaced: found.namespaced,
            watchable: can_watch(&found.verbs),
        };
        self.learnt
            .write()
            .insert(kind.clone(), (Instant::now(), served.clone()));
        Ok(served)
    }

    /// Forgets a kind, for when the API server says that it is gone or a CRD changed.
    pub fn forget(&self, kind: &GroupVersionKind) {
        self.learnt.write().remove(kind);
    }

    /// Forgets every kind of a group, for when one of its CRDs changed.
    pub fn forget_group(&self, group: &str) {
        self.learnt.write().retain(|kind, _| kind.group != group);
    }
}
