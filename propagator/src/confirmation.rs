//! The live check before a replica is deleted.
//!
//! A decision rests on what the watches have delivered, and a watch may lag: a standby that becomes the leader may not have
//! seen a root policy whose replicas it sees. So before each deletion the API server itself is asked for the root policy
//! and, where the root is there but nothing places it, for the versions of everything that places policies in its
//! namespace. Many replicas go at once when a placement drops many clusters: they share answers for a second.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::Api;
use kube::{Client, Resource, ResourceExt};
use parking_lot::Mutex;
use reeve_api::names::{ROOT_POLICY_LABEL, RootPolicyName};
use reeve_api::ocm::{Placement, PlacementDecision, PlacementRule};
use reeve_api::{PlacementBinding, Policy, PolicySet};
use reeve_runtime::decode::{self, AnyDepth};
use reeve_runtime::object::{ObjectKey, not_found_as_none};
use reeve_runtime::watch::Cached;
use serde::Deserialize;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::cache::{HubCache, PlacingKind};
use crate::messages;

/// How long an answer of the API server serves the deletions that follow.
const SHARED: Duration = Duration::from_secs(1);
/// How long the watches may take to deliver what the API server has answered before a deletion is put off.
const CATCH_UP: Duration = Duration::from_millis(500);
/// How often at most it is logged that replicas of a root policy wait for the watches.
const LOGGED: Duration = Duration::from_secs(30);
/// How often the caches are compared with what the API server has answered.
const POLL: Duration = Duration::from_millis(10);

/// Whether a decision to delete a replica holds against the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It does. Where it rests on placement, the watches have delivered all of that: decide again.
    Confirmed,
    /// The watches have not delivered what it would have to rest on.
    Behind,
}

/// A root policy as the API server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiveRoot {
    /// It does not exist, or is no root policy.
    Absent,
    /// It goes nowhere.
    Disabled,
    /// It goes where it is placed.
    Enabled,
}

/// A root policy as the watch has delivered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CachedRoot {
    Absent,
    Unreadable,
    Disabled,
    Enabled,
}

/// What a live root policy says about a decision to delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Confirmed,
    Behind,
    /// It holds if nothing places the policy.
    IfUnplaced,
}

fn removal(live: LiveRoot, cached: CachedRoot) -> Removal {
    match (live, cached) {
        (LiveRoot::Absent | LiveRoot::Disabled, _) => Removal::Confirmed,
        (LiveRoot::Enabled, CachedRoot::Enabled) => Removal::IfUnplaced,
        (LiveRoot::Enabled, _) => Removal::Behind,
    }
}

/// Everything in a namespace that places policies, with its resource version.
type Versions = Vec<(PlacingKind, ObjectKey, String)>;

/// As much of a root policy as decides whether its replicas may be deleted.
#[derive(Resource, Deserialize, Clone, Debug)]
#[resource(inherit = Policy)]
struct RootHead {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: HeadSpec,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct HeadSpec {
    disabled: bool,
}

impl RootHead {
    fn state(&self) -> LiveRoot {
        if self.labels().contains_key(ROOT_POLICY_LABEL) {
            LiveRoot::Absent
        } else if self.spec.disabled {
            LiveRoot::Disabled
        } else {
            LiveRoot::Enabled
        }
    }
}

/// Asks the API server before replicas are deleted; clones share its answers.
#[derive(Clone)]
pub struct Confirmer {
    client: Client,
    hub: Arc<HubCache>,
    roots: Arc<Recent<RootPolicyName, LiveRoot>>,
    versions: Arc<Recent<String, Versions>>,
    /// When somebody began to wait for the watches, by namespace.
    waits: Arc<Mutex<HashMap<String, Instant>>>,
    /// When it was logged that the watches are behind, by root: hundreds of its replicas may wait.
    logged: Arc<Mutex<HashMap<RootPolicyName, Instant>>>,
}

impl Confirmer {
    /// Compares what `client` reads with what `hub` knows.
    pub fn new(client: Client, hub: Arc<HubCache>) -> Self {
        Self {
            client,
            hub,
            roots: Arc::default(),
            versions: Arc::default(),
            waits: Arc::default(),
            logged: Arc::default(),
        }
    }

    /// Whether the replicas of a root policy on a cluster that the watches do not place it on may be deleted.
    pub async fn removal(&self, root: &RootPolicyName) -> Result<Confirmation, kube::Error> {
        let confirmation = self.confirmed(root).await?;
        if confirmation == Confirmation::Behind {
            let mut logged = self.logged.lock();
            logged.retain(|_, at| at.elapsed() < LOGGED);
            if !logged.contains_key(root) {
                logged.insert(root.clone(), Instant::now());
                tracing::warn!(policy = %root, "{}", messages::CACHE_IS_BEHIND);
            }
        }
        Ok(confirmation)
    }

    async fn confirmed(&self, root: &RootPolicyName) -> Result<Confirmation, kube::Error> {
        let live = self.roots.get(root, || self.live_root(root)).await?;
        let end = self.deadline(&root.namespace);
        let is_delivered = || match removal(live, self.cached_root(root)) {
            Removal::Confirmed => Some(true),
            Removal::IfUnplaced => Some(false),
            Removal::Behind => None,
        };
        let Some(is_enough) = until(end, is_delivered).await else {
            return Ok(Confirmation::Behind);
        };
        if is_enough {
            return Ok(Confirmation::Confirmed);
        }
        self.placement_until(&root.namespace, end).await
    }

    /// Whether the watches have delivered all that places policies in a namespace.
    pub async fn placement(&self, namespace: &str) -> Result<Confirmation, kube::Error> {
        let end = self.deadline(namespace);
        self.placement_until(namespace, end).await
    }

    async fn placement_until(
        &self,
        namespace: &str,
        end: Instant,
    ) -> Result<Confirmation, kube::Error> {
        let namespace = namespace.to_owned();
        let versions = self
            .versions
            .get(&namespace, || self.live_versions(&namespace));
        let versions = versions.await?;
        let are_delivered = || {
            let known = versions
                .iter()
                .all(|(kind, key, version)| self.hub.has_placing_version(*kind, key, version));
            known.then_some(())
        };
        Ok(match until(end, are_delivered).await {
            Some(()) => Confirmation::Confirmed,
            None => Confirmation::Behind,
        })
    }

    /// Until when a worker waits for the watches. One waits for each namespace in a while, all others are put off at once:
    /// workers that wait would keep the replicas of others waiting.
    fn deadline(&self, namespace: &str) -> Instant {
        let now = Instant::now();
        let mut waits = self.waits.lock();
        waits.retain(|_, at| at.elapsed() < SHARED);
        if waits.contains_key(namespace) {
            return now;
        }
        waits.insert(namespace.to_owned(), now);
        now + CATCH_UP
    }

    fn cached_root(&self, root: &RootPolicyName) -> CachedRoot {
        match self.hub.root(root) {
            None => CachedRoot::Absent,
            Some(Cached::Invalid(_)) => CachedRoot::Unreadable,
            Some(Cached::Valid(policy)) if policy.spec.disabled => CachedRoot::Disabled,
            Some(Cached::Valid(_)) => CachedRoot::Enabled,
        }
    }

    async fn live_root(&self, root: &RootPolicyName) -> Result<LiveRoot, kube::Error> {
        let policies: Api<AnyDepth<RootHead>> =
            Api::namespaced(self.client.clone(), &root.namespace);
        let found = not_found_as_none(policies.get(&root.name).await)?;
        Ok(found.map_or(LiveRoot::Absent, |AnyDepth(head)| head.state()))
    }

    async fn live_versions(&self, namespace: &str) -> Result<Versions, kube::Error> {
        let listed = futures::try_join!(
            self.listed::<PlacementBinding>(PlacingKind::Binding, namespace),
            self.listed::<PolicySet>(PlacingKind::Set, namespace),
            self.listed::<Placement>(PlacingKind::Placement, namespace),
            self.listed::<PlacementDecision>(PlacingKind::Decision, namespace),
            async {
                if self.hub.uses_rules() {
                    self.listed::<PlacementRule>(PlacingKind::Rule, namespace)
                        .await
                } else {
                    Ok(Versions::new())
                }
            },
        )?;
        let (bindings, sets, placements, decisions, rules) = listed;
        Ok([bindings, sets, placements, decisions, rules].concat())
    }

    async fn listed<K>(&self, kind: PlacingKind, namespace: &str) -> Result<Versions, kube::Error>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope> + Clone,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        // Without the kind there are no objects.
        let listed = not_found_as_none(decode::list_metadata(&api).await)?.unwrap_or_default();
        let version = |object: kube::api::PartialObjectMeta<K>| {
            let version = object.metadata.resource_version.clone().unwrap_or_default();
            (kind, ObjectKey::of_metadata(&object.metadata), version)
        };
        Ok(listed.into_iter().map(version).collect())
    }
}

/// Waits until there is an answer, but not beyond `end`.
async fn until<T>(end: Instant, mut answer: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let answered = answer();
        if answered.is_some() || Instant::now() >= end {
            return answered;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Answers that are shared for [`SHARED`] from when they were asked for. Of those who ask at once one does, the others wait.
struct Recent<K, V>(Mutex<HashMap<K, Asked<V>>>);

/// An answer, or that somebody waits for it, and since when.
type Asked<V> = (Instant, Arc<OnceCell<V>>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Recent<K, V> {
    async fn get<E, F: Future<Output = Result<V, E>>>(
        &self,
        key: &K,
        ask: impl FnOnce() -> F,
    ) -> Result<V, E> {
        let cell = {
            let mut asked = self.0.lock();
            asked.retain(|_, (at, _)| at.elapsed() < SHARED);
            let now = Instant::now();
            let (_, cell) = asked
                .entry(key.clone())
                .or_insert_with(|| (now, Arc::default()));
            Arc::clone(cell)
        };
        cell.get_or_try_init(ask).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::deleted(LiveRoot::Absent, CachedRoot::Absent, Removal::Confirmed)]
    #[case::deleted_a_moment_ago(LiveRoot::Absent, CachedRoot::Enabled, Removal::Confirmed)]
    #[case::disabled(LiveRoot::Disabled, CachedRoot::Disabled, Removal::Confirmed)]
    #[case::disabled_a_moment_ago(LiveRoot::Disabled, CachedRoot::Enabled, Removal::Confirmed)]
    #[case::not_delivered_yet(LiveRoot::Enabled, CachedRoot::Absent, Removal::Behind)]
    #[case::enabled_a_moment_ago(LiveRoot::Enabled, CachedRoot::Disabled, Removal::Behind)]
    #[case::unreadable(LiveRoot::Enabled, CachedRoot::Unreadable, Removal::Behind)]
    #[case::there(LiveRoot::Enabled, CachedRoot::Enabled, Removal::IfUnplaced)]
    fn replica_is_deleted_only_if_the_live_root_says_so(
        #[case] live: LiveRoot,
        #[case] cached: CachedRoot,
        #[case] expected: Removal,
    ) {
        assert_eq!(removal(live, cached), expected);
    }

    #[test]
    fn replica_of_the_same_name_is_no_root() {
        let head = |labels: serde_json::Value, disabled: bool| {
            let head = serde_json::json!({ "metadata": { "labels": labels }, "spec": { "disabled": disabled } });
            serde_json::from_value::<RootHead>(head).unwrap().state()
        };
        assert_eq!(head(serde_json::json!({}), false), LiveRoot::Enabled);
        assert_eq!(head(serde_json::json!({}), true), LiveRoot::Disabled);
        let replica = serde_json::json!({ ROOT_POLICY_LABEL: "a.b" });
        assert_eq!(head(replica, false), LiveRoot::Absent);
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_shared_for_a_second_and_asked_for_again_after_it() {
        let recent: Recent<&str, usize> = Recent::default();
        let asked = AtomicUsize::new(0);
        let ask = || async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok::<_, Infallible>(asked.fetch_add(1, Ordering::SeqCst))
        };
        let (one, two) = tokio::join!(recent.get(&"a", ask), recent.get(&"a", ask));
        assert_eq!((one.unwrap(), two.unwrap()), (0, 0));
        assert_eq!(recent.get(&"b", ask).await.unwrap(), 1);
        tokio::time::sleep(SHARED).await;
        assert_eq!(recent.get(&"a", ask).await.unwrap(), 2);
    }
}
