//! The reconciler of encryption keys: it rotates keys that are due, and then has the replicas of their cluster encrypted again.
//! [`ring`] finds the key that hub templates encrypt with, or creates one; [`rotation`] decides when a key is rotated.

pub mod ring;
mod rotation;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PostParams};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_api::names::TRIGGER_UPDATE_ANNOTATION;
use reeve_runtime::object::{ObjectKey, not_found_as_none, status_message};
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;
use reeve_runtime::writes;
use serde_json::json;
use zeroize::Zeroizing;

use crate::cache::HubCache;
use crate::error::KeysError;
use crate::index::Pair;
use crate::keys::{KEY, KEY_BYTES, KeyFacts, PREVIOUS_KEY, SECRET, last_rotated_annotation};
use crate::shards::ShardedReconciler;
use rotation::{Rotation, decide};

/// The delay before the next check whether all replicas are encrypted with the key that is to be rotated.
const PENDING_REPLICAS_RETRY: Duration = Duration::from_secs(1);
/// The longest time that a rotation waits for that: a replica that cannot be written must not block the rotation for ever.
const MAX_ROTATION_DELAY: Duration = Duration::from_mins(10);

/// The reconciler of encryption keys.
#[derive(Clone)]
pub struct EncryptionKeysReconciler {
    client: Client,
    hub: Arc<HubCache>,
    rotation_period: SignedDuration,
    /// Since when a rotation waits, by cluster.
    waiting_since: Arc<Mutex<HashMap<String, Instant>>>,
}

impl EncryptionKeysReconciler {
    /// Keys are rotated after this many days.
    pub fn new(client: Client, hub: Arc<HubCache>, days: u32) -> Self {
        Self {
            client,
            hub,
            rotation_period: SignedDuration::from_hours(24 * i64::from(days)),
            waiting_since: Arc::default(),
        }
    }
}

impl ShardedReconciler for EncryptionKeysReconciler {
    type Key = ObjectKey;
    type Error = KeysError;

    async fn reconcile(self, secret: ObjectKey) -> Result<Action, KeysError> {
        let cluster = &secret.namespace;
        // Elsewhere a Secret of this name is an application's. A cluster that is created later enqueues its Secret.
        if secret.name != SECRET || !self.hub.is_cluster_namespace(cluster) {
            return Ok(Action::AwaitChange);
        }
        let Some(cached) = self.hub.keys(cluster) else {
            return Ok(Action::AwaitChange);
        };
        match decide(&cached, Timestamp::now(), self.rotation_period) {
            Rotation::Disabled => {
                self.trigger_reencryption(cluster, &cached).await;
                Ok(Action::AwaitChange)
            }
            Rotation::NotDue(wait) => Ok(Action::RequeueAfter(wait)),
            Rotation::DropPrevious(wait) => {
                self.update_secret(cluster, |_| Some((None, Zeroizing::default())))
                    .await?;
                Ok(Action::RequeueAfter(wait))
            }
            Rotation::Now { .. } if self.must_wait_for_replicas(cluster, &cached) => {
                Ok(Action::RequeueAfter(PENDING_REPLICAS_RETRY))
            }
            Rotation::Now { .. } => self.rotate(cluster).await,
        }
    }

    fn shard_key(key: &ObjectKey) -> String {
        key.namespace.clone()
    }

    fn release(&self, key: &ObjectKey) {
        self.waiting_since.lock().remove(&key.namespace);
    }
}

impl EncryptionKeysReconciler {
    /// Whether a rotation has to wait: it drops the previous key, so no replica may still be encrypted with that.
    fn must_wait_for_replicas(&self, cluster: &str, keys: &KeyFacts) -> bool {
        let outdated = self.hub.replicas_with_another_key(cluster, keys.digest());
        let mut waiting_since = self.waiting_since.lock();
        if outdated.is_empty() {
            waiting_since.remove(cluster);
            return false;
        }
        if let Some(since) = waiting_since.get(cluster) {
            return since.elapsed() < MAX_ROTATION_DELAY;
        }
        waiting_since.insert(cluster.to_owned(), Instant::now());
        drop(waiting_since);
        for replica in outdated {
            self.hub.enqueue_replica(&replica);
        }
        true
    }

    async fn rotate(&self, cluster: &str) -> Result<Action, KeysError> {
        let fresh = ring::random(KEY_BYTES).map_err(|source| KeysError::Random {
            cluster: cluster.to_owned(),
            source,
        })?;
        let rotation_period = self.rotation_period;
        // Decided again with the live Secret: another process may have rotated the key just before.
        let rotated = |live: &KeyFacts| match decide(live, Timestamp::now(), rotation_period) {
            Rotation::Now { previous } => Some((Some(fresh), previous)),
            _ => None,
        };
        let Some(keys) = self.update_secret(cluster, rotated).await? else {
            return Ok(Action::RequeueAfter(PENDING_REPLICAS_RETRY));
        };
        tracing::info!(cluster, "the encryption key was rotated");
        // The next rotation may wait as long again.
        self.waiting_since.lock().remove(cluster);
        self.trigger_reencryption(cluster, &keys).await;
        let wait = Duration::try_from(self.rotation_period).unwrap_or(MAX_ROTATION_DELAY);
        Ok(Action::RequeueAfter(wait))
    }

    /// Updates the live Secret with what `change` returns: a new key, if any, and the previous one. Returns `None` if there was
    /// nothing to update.
    async fn update_secret(
        &self,
        cluster: &str,
        change: impl FnOnce(&KeyFacts) -> Option<(Option<Zeroizing<Vec<u8>>>, Zeroizing<Vec<u8>>)>,
    ) -> Result<Option<KeyFacts>, KeysError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), cluster);
        let read = not_found_as_none(secrets.get(SECRET).await);
        let read = read.map_err(|source| KeysError::Read {
            cluster: cluster.to_owned(),
            source,
        })?;
        let Some(mut secret) = read else {
            return Ok(None);
        };
        let Some((key, previous)) = change(&KeyFacts::of(secret.clone())) else {
            return Ok(None);
        };
        let data = secret.data.get_or_insert_default();
        data.insert(PREVIOUS_KEY.to_owned(), ByteString(previous.to_vec()));
        if let Some(key) = key {
            data.insert(KEY.to_owned(), ByteString(key.to_vec()));
            let annotations = secret.annotations_mut();
            annotations.insert(last_rotated_annotation(), ring::now());
        }
        let replaced = secrets
            .replace(SECRET, &PostParams::default(), &secret)
            .await;
        let replaced = replaced.map_err(|source| KeysError::Update {
            cluster: cluster.to_owned(),
            source,
        })?;
        Ok(Some(KeyFacts::of(replaced)))
    }

    /// Annotates the root policies with encrypted values for this cluster, so that their replicas are encrypted again. The watch
    /// of the Secret has the same effect; the annotation shows users the reason.
    async fn trigger_reencryption(&self, cluster: &str, keys: &KeyFacts) {
        let value = keys.trigger(cluster);
        let encrypted = self.hub.encrypted_replicas(cluster);
        let pairs = encrypted.iter().filter_map(Pair::of_replica);
        let roots: BTreeSet<_> = pairs.map(|pair| pair.root).collect();
        for root in roots {
            let Some(Cached::Valid(policy)) = self.hub.root(&root) else {
                continue;
            };
            if policy.annotations().get(TRIGGER_UPDATE_ANNOTATION) == Some(&value) {
                continue;
            }
            let policies: Api<Policy> = Api::namespaced(self.client.clone(), &root.namespace);
            let patch =
                json!({ "metadata": { "annotations": { TRIGGER_UPDATE_ANNOTATION: value } } });
            let patched = writes::patch_with(&policies, &root.name, &Patch::Merge(patch)).await;
            if let Err(error) = patched {
                let error = status_message(&error);
                tracing::error!(policy = %root, cluster, error, "cannot ask for templates to be encrypted again");
            }
        }
    }
}
