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
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;

use crate::cache::HubCache;
use crate::confirmation::{Confirmation, Confirmer};
use crate::error::ReplicaError;
use crate::hub_templates::lookups::Trouble;
use crate::hub_templates::{HubTemplates, Rendered, Resolution};
use crate::index::{Pair, Placed};
use crate::messages;
use crate::metrics::PropagatorMetrics;
use crate::replica::{Digest, ReplicaFacts};
use act::WriteOutcome;
use decide::{ObservedReplica, ReplicaDecision, Write};
use desired::desired;

/// How soon to look again at a cluster namespace that is missing or being removed: nothing tells
/// when it is back.
const NAMESPACE_RETRY: Duration = Duration::from_secs(10);

/// How soon to look again at a replica that vanished while it was being written. The watch may not tell of it: one
/// without its label is none of its objects.
const VANISHED_RETRY: Duration = Duration::from_millis(100);

/// How soon to decide again about a replica that may not be deleted because the watches lag.
const BEHIND_RETRY: Duration = Duration::from_secs(1);

/// Brings replicas in line.
#[derive(Clone)]
pub struct ReplicatedPolicyReconciler {
    client: Client,
    hub: Arc<HubCache>,
    templates: HubTemplates,
    events: EventRecorder,
    metrics: PropagatorMetrics,
    confirmer: Confirmer,
    /// The failure of its templates that was told last, by replica: told once as long as it is the same.
    told: Arc<Mutex<HashMap<ObjectKey, u64>>>,
}

/// A replica that must be there.
struct Wanted {
    key: ObjectKey,
    pair: Pair,
    root: Arc<Policy>,
    placed: Placed,
}

impl ReplicatedPolicyReconciler {
    /// Reads from `hub`, writes through `client`, and deletes what `confirmer` has confirmed.
    pub fn new(
        client: Client,
        hub: Arc<HubCache>,
        confirmer: Confirmer,
        templates: HubTemplates,
        events: EventRecorder,
        metrics: PropagatorMetrics,
    ) -> Self {
        Self {
            confirmer,
            client,
            hub,
            templates,
            events,
            metrics,
            told: Arc::default(),
        }
    }

    /// Brings one replica in line.
    pub async fn reconcile(self, key: ObjectKey) -> Result<Action, ReplicaError> {
        // Before it is looked at: what the watch tells after that is news, be it the echo of the last write, for which
        // the replica may be found to be absent.
        self.hub.forget_written(&key);
        let observed = observe(&self.hub, &key);
        match decide::replica(&key, &observed) {
            ReplicaDecision::Present { pair, root, placed } => {
                let wanted = Wanted {
                    key,
                    pair,
                    root,
                    placed,
                };
                self.place(&wanted, observed.replica.as_ref()).await
            }
            ReplicaDecision::Absent => {
                self.release(&key);
                Ok(Action::AwaitChange)
            }
            ReplicaDecision::Leave(why) => {
                tracing::info!(replica = %key, why, "leaving the replicated policy alone");
                self.release(&key);
                Ok(Action::AwaitChange)
            }
            ReplicaDecision::Delete(_) => self.remove(key).await,
        }
    }

    /// Deletes a replica, once the hub itself has said that it may go.
    async fn remove(&self, key: ObjectKey) -> Result<Action, ReplicaError> {
        // A name that no root policy can have needs no confirmation.
        if let Some(root) = RootPolicyName::parse(&key.name) {
            let confirmation = self.confirmer.removal(&root).await;
            let confirmation = confirmation.map_err(|source| ReplicaError::Confirm {
                replica: key.clone(),
                source,
            })?;
            if confirmation == Confirmation::Behind {
                return Ok(Action::RequeueAfter(BEHIND_RETRY));
            }
        }
        // What was confirmed is what the watches have delivered by now.
        let ReplicaDecision::Delete(uid) = decide::replica(&key, &observe(&self.hub, &key)) else {
            self.hub.enqueue_replica(&key);
            return Ok(Action::AwaitChange);
        };
        self.release(&key);
        self.hub.record_withdrawal(&key);
        act::delete(&self.client, &key, uid).await?;
        Ok(Action::AwaitChange)
    }

    /// Nothing is watched or remembered for a replica that should not be.
    fn release(&self, key: &ObjectKey) {
        self.templates.forget(key);
        self.hub.record_key(key, None);
        self.told.lock().remove(key);
    }

    async fn place(
        &self,
        wanted: &Wanted,
        live: Option<&Cached<ReplicaFacts>>,
    ) -> Result<Action, ReplicaError> {
        let Wanted {
            key,
            pair,
            root,
            placed,
        } = wanted;
        let facts = live.and_then(Cached::valid).map(AsRef::as_ref);
        let vector = facts.and_then(|facts| facts.vector.as_deref());
        let desired = desired(root, pair, placed, vector, &|set| self.hub.listed(set));
        let rendered = match self.templates.resolve(pair, root, desired, facts).await {
            Resolution::Rendered(rendered) => rendered,
            Resolution::After(wait) => return Ok(Action::RequeueAfter(wait)),
        };
        self.tell_failure(wanted, &rendered);
        let failed = rendered
            .failures
            .first()
            .filter(|_| rendered.again.is_some());
        let failed = failed.map(|reason| ReplicaError::Templates {
            replica: key.clone(),
            reason: reason.clone(),
        });
        // What the cluster has is better than an error that may be over in a moment.
        let is_passing = rendered.again == Some(Trouble::Passing) && live.is_some();
        match failed {
            Some(failed) if is_passing => Err(failed),
            Some(failed) => {
                self.write(wanted, live, &rendered).await?;
                Err(failed)
            }
            None => self.write(wanted, live, &rendered).await,
        }
    }

    async fn write(
        &self,
        wanted: &Wanted,
        live: Option<&Cached<ReplicaFacts>>,
        rendered: &Rendered,
    ) -> Result<Action, ReplicaError> {
        let Wanted {
            key, pair, root, ..
        } = wanted;
        let digest = Digest::of(&rendered.policy);
        // Before the write: its echo may be here before its answer.
        self.hub.record_written(key, digest);
        let written = match decide::write(live, &digest) {
            Write::Nothing => Ok(WriteOutcome::Nothing),
            Write::Create => act::create(&self.client, key, &rendered.policy).await,
            Write::Update => act::update(&self.client, key, live, &rendered.policy).await,
        };
        let done = match written {
            Ok(done) => done,
            Err(error) => {
                self.hub.forget_written(key);
                self.metrics.failed(&pair.root);
                return Err(error);
            }
        };
        if rendered
            .policy
            .annotations()
            .contains_key(ENCRYPTION_IV_ANNOTATION)
        {
            let current = self.hub.keys(&pair.cluster).map(|keys| keys.digest());
            self.hub.record_key(key, rendered.key.or(current));
            // The key was replaced or deleted meanwhile, when nobody could know that this replica is encrypted.
            let is_outdated = rendered.key.is_some_and(|used| match current {
                Some(current) => used != current,
                None => self.hub.key_creation_delay(&pair.cluster).is_some(),
            });
            if is_outdated {
                self.hub.enqueue_replica(key);
            }
        }
        let note = match done {
            WriteOutcome::Created => messages::propagated(pair),
            WriteOutcome::Updated => messages::updated(pair),
            WriteOutcome::Nothing => return Ok(Action::AwaitChange),
            WriteOutcome::NoNamespace => {
                self.hub.forget_written(key);
                return Ok(Action::RequeueAfter(NAMESPACE_RETRY));
            }
            WriteOutcome::Vanished => {
                self.hub.forget_written(key);
                return Ok(Action::RequeueAfter(VANISHED_RETRY));
            }
        };
        tracing::info!(cluster = pair.cluster, policy = %pair.root, "{note}");
        self.announce(root, &note, false);
        Ok(Action::AwaitChange)
    }

    /// A failure is told when it is new, not whenever it is tried again.
    fn tell_failure(&self, wanted: &Wanted, rendered: &Rendered) {
        let Some(reason) = rendered.failures.first() else {
            self.told.lock().remove(&wanted.key);
            return;
        };
        let mut hasher = DefaultHasher::new();
        reason.hash(&mut hasher);
        let hash = hasher.finish();
        if self.told.lock().insert(wanted.key.clone(), hash) == Some(hash) {
            return;
        }
        let note = messages::templates_failed(&wanted.pair.cluster, reason);
        tracing::warn!(policy = %wanted.pair.root, "{note}");
        self.announce(&wanted.root, &note, true);
    }

    fn announce(&self, root: &Policy, note: &str, warning: bool) {
        let event = InformationalEvent {
            reason: messages::PROPAGATION,
            action: messages::PROPAGATION,
            note,
            warning,
        };
        self.events.emit_event(&reference(root), &event);
    }
}

/// What is known about one replica.
pub fn observe(hub: &HubCache, key: &ObjectKey) -> ObservedReplica {
    let pair = Pair::of_replica(key);
    let pair = pair.as_ref();
    ObservedReplica {
        replica: hub.replica(key),
        root: pair.and_then(|pair| hub.root(&pair.root)),
        placed: pair.and_then(|pair| hub.placed(pair)),
        placement_known: pair.is_none_or(|pair| hub.placement_is_readable(&pair.root.namespace)),
        in_cluster_namespace: hub.is_cluster_namespace(&key.namespace),
        root_among_replicas: pair
            .is_some_and(|pair| hub.is_cluster_namespace(&pair.root.namespace)),
    }
}

/// A policy as events refer to it.
pub fn reference(policy: &Policy) -> ObjectReference {
    policy.object_ref(&())
}
