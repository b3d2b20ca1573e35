//! The reconciler of encryption keys: replaces them when they are due, and then has the replicated policies of their
//! cluster encrypted again. [`ring`] finds the key that hub templates encrypt with, or creates one; [`rotation`] decides
//! when a key is replaced.

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
use rotation::{Rotation, decide};

/// How soon to look again whether everything is encrypted with the key that is to be replaced.
const SETTLING: Duration = Duration::from_secs(1);
/// For how long at most a rotation waits for that: a replica that cannot be written must not keep a key for ever.
const PATIENCE: Duration = Duration::from_mins(10);

/// Brings encryption keys in line.
#[derive(Clone)]
pub struct EncryptionKeysReconciler {
    client: Client,
    hub: Arc<HubCache>,
    lives: SignedDuration,
    /// Since when a rotation waits, by cluster.
    waiting: Arc<Mutex<HashMap<String, Instant>>>,
}

impl EncryptionKeysReconciler {
    /// Keys live for this many days.
    pub fn new(client: Client, hub: Arc<HubCache>, days: u32) -> Self {
        Self {
            client,
            hub,
            lives: SignedDuration::from_hours(24 * i64::from(days)),
            waiting: Arc::default(),
        }
    }

    /// Brings the keys of one cluster in line.
    pub async fn reconcile(self, secret: ObjectKey) -> Result<Action, KeysError> {
        let cluster = &secret.namespace;
        if secret.name != SECRET {
            return Ok(Action::AwaitChange);
        }
        let Some(known) = self.hub.keys(cluster) else {
            return Ok(Action::AwaitChange);
        };
        match decide(&known, Timestamp::now(), self.lives) {
            Rotation::Disabled => {
                self.trigger(cluster, &known).await;
                Ok(Action::AwaitChange)
            }
            Rotation::Later(wait) => Ok(Action::RequeueAfter(wait)),
            Rotation::DropPrevious(wait) => {
                self.change(cluster, |_| Some((None, Zeroizing::default())))
                    .await?;
                Ok(Action::RequeueAfter(wait))
            }
            Rotation::Now { .. } if self.must_wait(cluster, &known) => {
                Ok(Action::RequeueAfter(SETTLING))
            }
            Rotation::Now { .. } => self.rotate(cluster).await,
        }
    }

    /// The key that goes takes the one before it along, so nothing may still need that.
    fn must_wait(&self, cluster: &str, keys: &KeyFacts) -> bool {
        let behind = self.hub.encrypted_with_another_key(cluster, keys.digest());
        let mut waiting = self.waiting.lock();
        if behind.is_empty() {
            waiting.remove(cluster);
            return false;
        }
        if let Some(since) = waiting.get(cluster) {
            return since.elapsed() < PATIENCE;
        }
        waiting.insert(cluster.to_owned(), Instant::now());
        drop(waiting);
        for replica in behind {
            self.hub.enqueue_replica(&replica);
        }
        true
    }

    async fn rotate(&self, cluster: &str) -> Result<Action, KeysError> {
        let fresh = ring::random(KEY_BYTES).map_err(|source| KeysError::Random {
            cluster: cluster.to_owned(),
            source,
        })?;
        let lives = self.lives;
        // Decided again on what is read now: somebody else may have rotated it just before.
        let rotated = |live: &KeyFacts| match decide(live, Timestamp::now(), lives) {
            Rotation::Now { previous } => Some((Some(fresh), previous)),
            _ => None,
        };
        let Some(keys) = self.change(cluster, rotated).await? else {
            return Ok(Action::RequeueAfter(SETTLING));
        };
        tracing::info!(cluster, "the encryption key was rotated");
        // The next rotation waits anew.
        self.waiting.lock().remove(cluster);
        self.trigger(cluster, &keys).await;
        let wait = Duration::try_from(self.lives).unwrap_or(PATIENCE);
        Ok(Action::RequeueAfter(wait))
    }

    /// Changes the Secret as it is now: a new key, if there is one, and the previous one. `None` if there was nothing to
    /// change.
    async fn change(
        &self,
        cluster: &str,
        what: impl FnOnce(&KeyFacts) -> Option<(Option<Zeroizing<Vec<u8>>>, Zeroizing<Vec<u8>>)>,
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
        let Some((key, previous)) = what(&KeyFacts::of(secret.clone())) else {
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

    /// Asks the root policies with something encrypted for this cluster to be looked at again. The watch of the Secret
    /// has the same effect; the annotation tells users why.
    async fn trigger(&self, cluster: &str, keys: &KeyFacts) {
        let value = keys.trigger(cluster);
        let encrypted = self.hub.encrypted_in(cluster);
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
