//! The reconciler of replicated policies: observes the cache, decides, resolves hub templates, and writes or deletes the
//! replica.

mod act;
pub mod decide;
mod desired;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource, ResourceExt};
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_api::names::{ENCRYPTION_IV_ANNOTATION, RootPolicyName};
use reeve_runtime::events::{EventRecorder, InformationalEvent, SimilarEvents};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;

use crate::cache::HubCache;
use crate::confirmation::{Confirmation, DeletionConfirmer};
use crate::error::ReplicaError;
use crate::hub_templates::lookups::ReadFailure;
use crate::hub_templates::{HubTemplates, Rendered, Resolution};
use crate::index::{Pair, Placed};
use crate::messages;
use crate::metrics::PropagatorMetrics;
use crate::replica::{Digest, ReplicaFacts};
use crate::shards::ShardedReconciler;
use act::{ReplacedReplica, WriteOutcome};
use decide::{ObservedReplica, ReplicaDecision, WriteAction};
use desired::desired;

/// The delay before a replica is requeued whose cluster namespace is missing or being deleted: namespaces are not watched.
const NAMESPACE_RETRY: Duration = Duration::from_secs(10);

/// The delay before a replica is requeued that was deleted while it was being written. The watch may not deliver the deletion,
/// because it does not select a replica without its label.
const VANISHED_RETRY: Duration = Duration::from_millis(100);

/// The delay before a replica is requeued that may not be deleted because the watches lag.
const BEHIND_RETRY: Duration = Duration::from_secs(1);

/// The reconciler of replicas.
#[derive(Clone)]
pub struct ReplicatedPolicyReconciler {
    client: Client,
    hub: Arc<HubCache>,
    templates: HubTemplates,
    events: EventRecorder,
    metrics: PropagatorMetrics,
    confirmer: DeletionConfirmer,
    writers: Writers,
    /// The hash of the last reported template failure, by replica: the same failure is reported once.
    reported_failures: Arc<Mutex<HashMap<ObjectKey, u64>>>,
}

/// The processes that write replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// This one only.
    One,
    /// Several, which hand shards over to each other: the watch of the next one may not have delivered the last write.
    Several,
}

/// A replica that should exist.
struct PlacedReplica {
    key: ObjectKey,
    /// The resource version that a write may replace. Absent if this process is the only one that writes.
    version: Option<String>,
    pair: Pair,
    root: Arc<Policy>,
    placed: Placed,
}

impl ReplicatedPolicyReconciler {
    /// Reads from `hub`, writes through `client`, and deletes what `confirmer` has confirmed.
    pub fn new(
        client: Client,
        hub: Arc<HubCache>,
        confirmer: DeletionConfirmer,
        templates: HubTemplates,
        (events, metrics): (EventRecorder, PropagatorMetrics),
        writers: Writers,
    ) -> Self {
        Self {
            confirmer,
            writers,
            client,
            hub,
            templates,
            events,
            metrics,
            reported_failures: Arc::default(),
        }
    }
}

impl ShardedReconciler for ReplicatedPolicyReconciler {
    type Key = ObjectKey;
    type Error = ReplicaError;

    async fn reconcile(self, key: ObjectKey) -> Result<Action, ReplicaError> {
        // Before the cache is read: any later event enqueues the replica again, even the echo of the last write, because this
        // reconcile may have read the cache before it.
        self.hub.clear_written(&key);
        // Read before the replica: a version that is older than what is decided about is a conflict, a newer one is not.
        let version = match self.writers {
            Writers::One => None,
            Writers::Several => self.hub.replica_version(&key),
        };
        let observed = observe(&self.hub, &key);
        match decide::replica(&key, &observed) {
            ReplicaDecision::Present { pair, root, placed } => {
                let placed_replica = PlacedReplica {
                    key,
                    version,
                    pair,
                    root,
                    placed,
                };
                self.reconcile_placed(&placed_replica, observed.replica.as_ref())
                    .await
            }
            ReplicaDecision::Absent => {
                self.drop_state(&key);
                Ok(Action::AwaitChange)
            }
            ReplicaDecision::Leave(reason) => {
                tracing::info!(replica = %key, reason, "leaving the replicated policy alone");
                self.drop_state(&key);
                Ok(Action::AwaitChange)
            }
            ReplicaDecision::Delete(_) => self.delete(key).await,
        }
    }

    fn shard_key(key: &ObjectKey) -> String {
        key.namespace.clone()
    }

    fn release(&self, key: &ObjectKey) {
        self.drop_state(key);
    }
}

impl ReplicatedPolicyReconciler {
    /// Deletes a replica, once the API server has confirmed the decision.
    async fn delete(&self, key: ObjectKey) -> Result<Action, ReplicaError> {
        // A name that refers to no root policy needs no confirmation.
        if let Some(root) = RootPolicyName::parse(&key.name) {
            let confirmation = self.confirmer.confirm_deletion(&root).await;
            let confirmation = confirmation.map_err(|source| ReplicaError::Confirm {
                replica: key.clone(),
                source,
            })?;
            if confirmation == Confirmation::CacheBehind {
                return Ok(Action::RequeueAfter(BEHIND_RETRY));
            }
        }
        // The watches have caught up with what the API server confirmed: decide again.
        let ReplicaDecision::Delete(uid) = decide::replica(&key, &observe(&self.hub, &key)) else {
            self.hub.enqueue_replica(&key);
            return Ok(Action::AwaitChange);
        };
        self.drop_state(&key);
        act::delete(&self.client, &key, uid).await?;
        Ok(Action::AwaitChange)
    }

    /// Stops the watches and drops the state of a replica that should not exist, or that another process works on.
    fn drop_state(&self, key: &ObjectKey) {
        self.templates.unwatch(key);
        self.hub.record_encryption_key(key, None);
        self.reported_failures.lock().remove(key);
    }

    async fn reconcile_placed(
        &self,
        placed_replica: &PlacedReplica,
        live: Option<&Cached<ReplicaFacts>>,
    ) -> Result<Action, ReplicaError> {
        let PlacedReplica {
            key,
            pair,
            root,
            placed,
            ..
        } = placed_replica;
        let facts = live.and_then(Cached::valid).map(AsRef::as_ref);
        let vector = facts.and_then(|facts| facts.vector.as_deref());
        let desired = desired(root, pair, placed, vector, &|set| {
            self.hub.set_policies(set)
        });
        let rendered = match self.templates.resolve(pair, root, desired, facts).await {
            Resolution::Rendered(rendered) => rendered,
            Resolution::RetryAfter(wait) => return Ok(Action::RequeueAfter(wait)),
        };
        self.report_failure(placed_replica, &rendered);
        let failed = rendered
            .failures
            .first()
            .filter(|_| rendered.retry.is_some());
        let failed = failed.map(|reason| ReplicaError::Templates {
            replica: key.clone(),
            reason: reason.clone(),
        });
        // The live replica is better than one with an error that may be transient.
        let is_transient = rendered.retry == Some(ReadFailure::Transient) && live.is_some();
        match failed {
            Some(failed) if is_transient => Err(failed),
            Some(failed) => {
                self.write_replica(placed_replica, live, &rendered).await?;
                Err(failed)
            }
            None => self.write_replica(placed_replica, live, &rendered).await,
        }
    }

    async fn write_replica(
        &self,
        placed_replica: &PlacedReplica,
        live: Option<&Cached<ReplicaFacts>>,
        rendered: &Rendered,
    ) -> Result<Action, ReplicaError> {
        let PlacedReplica {
            key,
            version,
            pair,
            root,
            ..
        } = placed_replica;
        let digest = Digest::of(&rendered.policy);
        // Before the write: the watch may deliver its echo before the answer arrives.
        self.hub.record_written(key, digest);
        let written = match decide::write_action(live, &digest) {
            WriteAction::Nothing => Ok(WriteOutcome::Nothing),
            WriteAction::Create => act::create(&self.client, key, &rendered.policy).await,
            WriteAction::Update => {
                let facts = live.and_then(Cached::valid);
                let replaced = ReplacedReplica {
                    uid: facts.map(|facts| &*facts.uid),
                    version: version.as_deref(),
                };
                act::update(&self.client, key, replaced, &rendered.policy).await
            }
        };
        let outcome = match written {
            Ok(outcome) => outcome,
            Err(error) => {
                self.hub.clear_written(key);
                self.metrics.record_propagation_failure(&pair.root);
                return Err(error);
            }
        };
        if rendered
            .policy
            .annotations()
            .contains_key(ENCRYPTION_IV_ANNOTATION)
        {
            let current = self.hub.keys(&pair.cluster).map(|keys| keys.digest());
            self.hub
                .record_encryption_key(key, rendered.key.or(current));
            // The key was rotated or deleted meanwhile, when this replica was not known to be encrypted.
            let is_outdated = rendered.key.is_some_and(|used| match current {
                Some(current) => used != current,
                None => self.hub.key_creation_delay(&pair.cluster).is_some(),
            });
            if is_outdated {
                self.hub.enqueue_replica(key);
            }
        }
        let (note, before) = match outcome {
            WriteOutcome::Created => (
                messages::propagated(pair),
                messages::propagated_to(&pair.root),
            ),
            WriteOutcome::Updated => (messages::updated(pair), messages::updated_for(&pair.root)),
            WriteOutcome::Nothing => return Ok(Action::AwaitChange),
            WriteOutcome::NoNamespace => {
                self.hub.clear_written(key);
                return Ok(Action::RequeueAfter(NAMESPACE_RETRY));
            }
            WriteOutcome::Vanished => {
                self.hub.clear_written(key);
                return Ok(Action::RequeueAfter(VANISHED_RETRY));
            }
            WriteOutcome::Conflict => {
                self.hub.clear_written(key);
                return Ok(Action::Requeue);
            }
        };
        tracing::info!(cluster = pair.cluster, policy = %pair.root, "{note}");
        let similar = of_cluster(pair, before, String::new());
        self.emit_event(root, &note, false, similar);
        Ok(Action::AwaitChange)
    }

    /// Reports a failure when it is new, not at every retry.
    fn report_failure(&self, placed_replica: &PlacedReplica, rendered: &Rendered) {
        let Some(reason) = rendered.failures.first() else {
            self.reported_failures.lock().remove(&placed_replica.key);
            return;
        };
        let mut hasher = DefaultHasher::new();
        reason.hash(&mut hasher);
        let hash = hasher.finish();
        if self
            .reported_failures
            .lock()
            .insert(placed_replica.key.clone(), hash)
            == Some(hash)
        {
            return;
        }
        let pair = &placed_replica.pair;
        let note = messages::templates_failed(&pair.cluster, reason);
        tracing::warn!(policy = %pair.root, "{note}");
        let before = messages::TEMPLATES_FAILED_FOR.to_owned();
        let similar = of_cluster(pair, before, format!(": {reason}"));
        self.emit_event(&placed_replica.root, &note, true, similar);
    }

    fn emit_event(&self, root: &Policy, note: &str, warning: bool, similar: SimilarEvents) {
        let event = InformationalEvent {
            reason: messages::PROPAGATION,
            action: messages::PROPAGATION,
            note,
            warning,
        };
        self.events
            .emit_similar_event(&object_reference(root), &event, similar);
    }
}

/// How the events about a root policy's clusters become one.
fn of_cluster(pair: &Pair, before: String, after: String) -> SimilarEvents {
    SimilarEvents {
        subject: pair.cluster.clone(),
        before,
        plural: messages::CLUSTERS,
        after,
    }
}

/// Reads the cached objects that the decision about one replica rests on.
pub fn observe(hub: &HubCache, key: &ObjectKey) -> ObservedReplica {
    let pair = Pair::of_replica(key);
    let pair = pair.as_ref();
    ObservedReplica {
        replica: hub.replica(key),
        root: pair.and_then(|pair| hub.root(&pair.root)),
        placed: pair.and_then(|pair| hub.placed(pair)),
        placement_known: pair.is_none_or(|pair| hub.placement_is_decodable(&pair.root.namespace)),
        in_cluster_namespace: hub.is_cluster_namespace(&key.namespace),
        root_in_cluster_namespace: pair
            .is_some_and(|pair| hub.is_cluster_namespace(&pair.root.namespace)),
    }
}

/// The reference to a policy in events.
pub fn object_reference(policy: &Policy) -> ObjectReference {
    policy.object_ref(&())
}
