//! The live check before a replica is deleted.
//!
//! A decision rests on what the watches have delivered, and a watch may lag: a standby that becomes the leader may have
//! cached replicas without their root policy. So before each deletion the propagator reads the root policy from the API
//! server and, if it exists but nothing places it, the versions of all objects that place policies in its namespace. When a
//! placement drops many clusters, the deletions share these answers for a second.

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

/// How long an answer of the API server is reused by later deletions.
const ANSWER_TTL: Duration = Duration::from_secs(1);
/// How long the watches may take to deliver what the API server has answered before a deletion is requeued.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(500);
/// The shortest time between two log lines about replicas of a root policy that wait for the watches.
const LOG_INTERVAL: Duration = Duration::from_secs(30);
/// The interval at which the cache is compared with the answer of the API server.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Whether the API server confirms a decision to delete a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It does. If the decision rests on placement, the watches have caught up, and the caller decides again.
    Confirmed,
    /// The watches have not delivered all objects that the decision has to rest on.
    CacheBehind,
}

/// A root policy as the API server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiveRootState {
    /// It does not exist, or is no root policy.
    Absent,
    /// `spec.disabled` is true: it has no replicas.
    Disabled,
    /// It has replicas where it is placed.
    Enabled,
}

/// A root policy as the watch has delivered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CachedRootState {
    Absent,
    Undecodable,
    Disabled,
    Enabled,
}

/// What a live root policy means for a decision to delete one of its replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeletionCheck {
    Confirmed,
    CacheBehind,
    /// The deletion is right if nothing places the policy.
    IfUnplaced,
}

fn check_deletion(live: LiveRootState, cached: CachedRootState) -> DeletionCheck {
    match (live, cached) {
        (LiveRootState::Absent | LiveRootState::Disabled, _) => DeletionCheck::Confirmed,
        (LiveRootState::Enabled, CachedRootState::Enabled) => DeletionCheck::IfUnplaced,
        (LiveRootState::Enabled, _) => DeletionCheck::CacheBehind,
    }
}

/// The objects in a namespace that place policies, with their resource versions.
type Versions = Vec<(PlacingKind, ObjectKey, String)>;

/// The fields of a root policy that decide whether its replicas may be deleted.
#[derive(Resource, Deserialize, Clone, Debug)]
#[resource(inherit = Policy)]
struct PartialRoot {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: PartialRootSpec,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct PartialRootSpec {
    disabled: bool,
}

impl PartialRoot {
    fn state(&self) -> LiveRootState {
        if self.labels().contains_key(ROOT_POLICY_LABEL) {
            LiveRootState::Absent
        } else if self.spec.disabled {
            LiveRootState::Disabled
        } else {
            LiveRootState::Enabled
        }
    }
}

/// Asks the API server before replicas are deleted; clones share the answers.
#[derive(Clone)]
pub struct DeletionConfirmer {
    client: Client,
    hub: Arc<HubCache>,
    roots: Arc<SharedAnswers<RootPolicyName, LiveRootState>>,
    versions: Arc<SharedAnswers<String, Versions>>,
    /// When a worker began to wait for the watches, by namespace.
    waiting_since: Arc<Mutex<HashMap<String, Instant>>>,
    /// When it was logged that the watches are behind, by root policy: hundreds of its replicas may wait.
    last_logged: Arc<Mutex<HashMap<RootPolicyName, Instant>>>,
}

impl DeletionConfirmer {
    /// Compares what `client` reads with the cache.
    pub fn new(client: Client, hub: Arc<HubCache>) -> Self {
        Self {
            client,
            hub,
            roots: Arc::default(),
            versions: Arc::default(),
            waiting_since: Arc::default(),
            last_logged: Arc::default(),
        }
    }

    /// Whether the replicas of a root policy on a cluster that the watches do not place it on may be deleted.
    pub async fn confirm_deletion(
        &self,
        root: &RootPolicyName,
    ) -> Result<Confirmation, kube::Error> {
        let confirmation = self.confirm_with_root(root).await?;
        if confirmation == Confirmation::CacheBehind {
            let mut last_logged = self.last_logged.lock();
            last_logged.retain(|_, at| at.elapsed() < LOG_INTERVAL);
            if !last_logged.contains_key(root) {
                last_logged.insert(root.clone(), Instant::now());
                tracing::warn!(policy = %root, "{}", messages::CACHE_IS_BEHIND);
            }
        }
        Ok(confirmation)
    }

    async fn confirm_with_root(&self, root: &RootPolicyName) -> Result<Confirmation, kube::Error> {
        let live = self.roots.get(root, || self.live_root_state(root)).await?;
        let end = self.deadline(&root.namespace);
        let is_delivered = || match check_deletion(live, self.cached_root_state(root)) {
            DeletionCheck::Confirmed => Some(true),
            DeletionCheck::IfUnplaced => Some(false),
            DeletionCheck::CacheBehind => None,
        };
        let Some(is_enough) = until(end, is_delivered).await else {
            return Ok(Confirmation::CacheBehind);
        };
        if is_enough {
            return Ok(Confirmation::Confirmed);
        }
        self.confirm_placement_until(&root.namespace, end).await
    }

    /// Whether the watches have delivered all that places policies in a namespace.
    pub async fn confirm_placement(&self, namespace: &str) -> Result<Confirmation, kube::Error> {
        let end = self.deadline(namespace);
        self.confirm_placement_until(namespace, end).await
    }

    async fn confirm_placement_until(
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
                .all(|(kind, key, version)| self.hub.has_placement_version(*kind, key, version));
            known.then_some(())
        };
        Ok(match until(end, are_delivered).await {
            Some(()) => Confirmation::Confirmed,
            None => Confirmation::CacheBehind,
        })
    }

    /// The time until which a worker waits for the watches. Within [`ANSWER_TTL`] one worker waits for each namespace, and the
    /// replicas of all others are requeued at once: waiting workers would hold up the replicas of other policies.
    fn deadline(&self, namespace: &str) -> Instant {
        let now = Instant::now();
        let mut waiting_since = self.waiting_since.lock();
        waiting_since.retain(|_, at| at.elapsed() < ANSWER_TTL);
        if waiting_since.contains_key(namespace) {
            return now;
        }
        waiting_since.insert(namespace.to_owned(), now);
        now + CATCH_UP_TIMEOUT
    }

    fn cached_root_state(&self, root: &RootPolicyName) -> CachedRootState {
        match self.hub.root(root) {
            None => CachedRootState::Absent,
            Some(Cached::Invalid(_)) => CachedRootState::Undecodable,
            Some(Cached::Valid(policy)) if policy.spec.disabled => CachedRootState::Disabled,
            Some(Cached::Valid(_)) => CachedRootState::Enabled,
        }
    }

    async fn live_root_state(&self, root: &RootPolicyName) -> Result<LiveRootState, kube::Error> {
        let policies: Api<AnyDepth<PartialRoot>> =
            Api::namespaced(self.client.clone(), &root.namespace);
        let live = not_found_as_none(policies.get(&root.name).await)?;
        Ok(live.map_or(LiveRootState::Absent, |AnyDepth(head)| head.state()))
    }

    async fn live_versions(&self, namespace: &str) -> Result<Versions, kube::Error> {
        let versions = futures::try_join!(
            self.list_versions::<PlacementBinding>(PlacingKind::Binding, namespace),
            self.list_versions::<PolicySet>(PlacingKind::Set, namespace),
            self.list_versions::<Placement>(PlacingKind::Placement, namespace),
            self.list_versions::<PlacementDecision>(PlacingKind::Decision, namespace),
            async {
                if self.hub.uses_placement_rules() {
                    self.list_versions::<PlacementRule>(PlacingKind::Rule, namespace)
                        .await
                } else {
                    Ok(Versions::new())
                }
            },
        )?;
        let (bindings, sets, placements, decisions, rules) = versions;
        Ok([bindings, sets, placements, decisions, rules].concat())
    }

    async fn list_versions<K>(
        &self,
        kind: PlacingKind,
        namespace: &str,
    ) -> Result<Versions, kube::Error>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope> + Clone,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        // If the kind is not served, there are no objects.
        let versions = not_found_as_none(decode::list_metadata(&api).await)?.unwrap_or_default();
        let version = |object: kube::api::PartialObjectMeta<K>| {
            let version = object.metadata.resource_version.clone().unwrap_or_default();
            (kind, ObjectKey::of_metadata(&object.metadata), version)
        };
        Ok(versions.into_iter().map(version).collect())
    }
}

/// Polls until `answer` returns a value, but not beyond `end`.
async fn until<T>(end: Instant, mut answer: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let answered = answer();
        if answered.is_some() || Instant::now() >= end {
            return answered;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Answers of the API server that are shared for [`ANSWER_TTL`] after their request. Concurrent callers wait for one request.
struct SharedAnswers<K, V>(Mutex<HashMap<K, CachedAnswer<V>>>);

/// The time of a request, and its answer once it has arrived.
type CachedAnswer<V> = (Instant, Arc<OnceCell<V>>);

impl<K, V> Default for SharedAnswers<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone, V: Clone> SharedAnswers<K, V> {
    async fn get<E, F: Future<Output = Result<V, E>>>(
        &self,
        key: &K,
        request: impl FnOnce() -> F,
    ) -> Result<V, E> {
        let cell = {
            let mut answers = self.0.lock();
            answers.retain(|_, (at, _)| at.elapsed() < ANSWER_TTL);
            let now = Instant::now();
            let (_, cell) = answers
                .entry(key.clone())
                .or_insert_with(|| (now, Arc::default()));
            Arc::clone(cell)
        };
        cell.get_or_try_init(request).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::deleted(
        LiveRootState::Absent,
        CachedRootState::Absent,
        DeletionCheck::Confirmed
    )]
    #[case::deleted_a_moment_ago(
        LiveRootState::Absent,
        CachedRootState::Enabled,
        DeletionCheck::Confirmed
    )]
    #[case::disabled(
        LiveRootState::Disabled,
        CachedRootState::Disabled,
        DeletionCheck::Confirmed
    )]
    #[case::disabled_a_moment_ago(
        LiveRootState::Disabled,
        CachedRootState::Enabled,
        DeletionCheck::Confirmed
    )]
    #[case::not_delivered_yet(
        LiveRootState::Enabled,
        CachedRootState::Absent,
        DeletionCheck::CacheBehind
    )]
    #[case::enabled_a_moment_ago(
        LiveRootState::Enabled,
        CachedRootState::Disabled,
        DeletionCheck::CacheBehind
    )]
    #[case::undecodable(
        LiveRootState::Enabled,
        CachedRootState::Undecodable,
        DeletionCheck::CacheBehind
    )]
    #[case::there(
        LiveRootState::Enabled,
        CachedRootState::Enabled,
        DeletionCheck::IfUnplaced
    )]
    fn deletion_is_confirmed_only_by_an_absent_or_disabled_live_root(
        #[case] live: LiveRootState,
        #[case] cached: CachedRootState,
        #[case] expected: DeletionCheck,
    ) {
        assert_eq!(check_deletion(live, cached), expected);
    }

    #[test]
    fn replica_of_the_same_name_is_no_root() {
        let head = |labels: serde_json::Value, disabled: bool| {
            let head = serde_json::json!({ "metadata": { "labels": labels }, "spec": { "disabled": disabled } });
            serde_json::from_value::<PartialRoot>(head).unwrap().state()
        };
        assert_eq!(head(serde_json::json!({}), false), LiveRootState::Enabled);
        assert_eq!(head(serde_json::json!({}), true), LiveRootState::Disabled);
        let replica = serde_json::json!({ ROOT_POLICY_LABEL: "a.b" });
        assert_eq!(head(replica, false), LiveRootState::Absent);
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_shared_for_a_second_and_requested_again_after_it() {
        let answers: SharedAnswers<&str, usize> = SharedAnswers::default();
        let requests = AtomicUsize::new(0);
        let request = || async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok::<_, Infallible>(requests.fetch_add(1, Ordering::SeqCst))
        };
        let (one, two) = tokio::join!(answers.get(&"a", request), answers.get(&"a", request));
        assert_eq!((one.unwrap(), two.unwrap()), (0, 0));
        assert_eq!(answers.get(&"b", request).await.unwrap(), 1);
        tokio::time::sleep(ANSWER_TTL).await;
        assert_eq!(answers.get(&"a", request).await.unwrap(), 2);
    }
}
