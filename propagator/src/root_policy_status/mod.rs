//! The reconciler of root policy statuses. It also deletes root policies in cluster namespaces, where only replicas belong.

mod decide;
mod publish;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, Preconditions};
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::PolicyStatus;
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::{ObjectKey, not_found_as_none};
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;
use reeve_runtime::writes;

use crate::cache::HubCache;
use crate::confirmation::{Confirmation, DeletionConfirmer};
use crate::error::RootError;
use crate::messages;
use crate::metrics::PropagatorMetrics;
use crate::replicated_policy::decide::{self as replica, ReplicaDecision};
use crate::replicated_policy::{object_reference, observe};
use crate::root::CachedRoot;
use crate::shards::{ShardedReconciler, object_shard_key};
use crate::status_window::{StatusSize, StatusWindow};
use decide::{CurrentStatus, RootAction, RootLocation};

/// The delay before a policy is requeued of which it is not known whether it may be deleted.
const UNCLEAR_RETRY: Duration = Duration::from_secs(1);

/// The reconciler of root policy statuses.
#[derive(Clone)]
pub struct RootPolicyStatusReconciler {
    client: Client,
    hub: Arc<HubCache>,
    events: EventRecorder,
    metrics: PropagatorMetrics,
    confirmer: DeletionConfirmer,
    states: Arc<Mutex<HashMap<RootPolicyName, RootState>>>,
}

/// The state of a root policy between two reconciles.
#[derive(Default)]
struct RootState {
    window: StatusWindow,
    /// The message of the condition that was last written.
    written_omission: Option<String>,
    /// The generation for which each kind of event was emitted.
    emitted_generations: HashMap<&'static str, Option<i64>>,
}

impl RootPolicyStatusReconciler {
    /// Reads from `hub`, writes through `client`, and deletes what `confirmer` has confirmed.
    pub fn new(
        client: Client,
        hub: Arc<HubCache>,
        confirmer: DeletionConfirmer,
        events: EventRecorder,
        metrics: PropagatorMetrics,
    ) -> Self {
        Self {
            confirmer,
            client,
            hub,
            events,
            metrics,
            states: Arc::default(),
        }
    }
}

impl ShardedReconciler for RootPolicyStatusReconciler {
    type Key = RootPolicyName;
    type Error = RootError;

    async fn reconcile(self, root: RootPolicyName) -> Result<Action, RootError> {
        let cached = match self.hub.cached_root_entry(&root) {
            None => {
                self.states.lock().remove(&root);
                self.hub.take_withdrawn(&root);
                return Ok(Action::AwaitChange);
            }
            // The watch has logged it; its status can be neither compared nor written.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            Some(Cached::Valid(cached)) => cached,
        };
        let policy = &cached.policy;
        let location = self.location(&root);
        if location == RootLocation::OutsideClusterNamespaces {
            self.emit_events(&root, policy);
        }
        let window = self.states.lock().entry(root.clone()).or_default().window;
        if let Some(wait) = window.wait(Instant::now()) {
            return Ok(Action::RequeueAfter(wait));
        }
        let start = Instant::now();
        // Before the summary, so that what changes meanwhile counts for the next write.
        let changes = self.hub.compliance_changes(&root);
        let summary = self.hub.placement_summary(&root);
        let current = self.current_status(&root, &cached);
        let next = match decide::root(&current, location, summary) {
            RootAction::Nothing => Ok(Action::AwaitChange),
            RootAction::Wait => Ok(Action::RequeueAfter(UNCLEAR_RETRY)),
            RootAction::DeleteMisplaced => self.delete_misplaced(&root, policy).await,
            RootAction::KeepMisplaced => {
                let note = messages::in_cluster_namespace(&root);
                tracing::warn!("{note}");
                self.emit_once(&root, policy, "misplaced", &note, true);
                Ok(Action::AwaitChange)
            }
            RootAction::Write(mut status) => {
                set_transition_time(&mut status, policy);
                let size = StatusSize {
                    clusters: status.status.as_ref().map_or(0, Vec::len),
                    changes,
                };
                let written = self.write_status(&root, &cached, &status).await;
                let omission = condition_message(&status);
                if let Some(note) = &omission {
                    self.emit_once(&root, policy, "omission", note, true);
                }
                self.open_window(&root, size);
                if written.is_ok()
                    && let Some(state) = self.states.lock().get_mut(&root)
                {
                    state.written_omission = omission;
                }
                written
            }
        };
        self.metrics.observe_root_duration(start.elapsed());
        next
    }

    fn shard_key(key: &RootPolicyName) -> String {
        object_shard_key(&ObjectKey::new(key.namespace.clone(), key.name.clone()))
    }

    fn release(&self, key: &RootPolicyName) {
        self.states.lock().remove(key);
        self.hub.take_withdrawn(key);
    }
}

impl RootPolicyStatusReconciler {
    fn current_status(&self, root: &RootPolicyName, cached: &CachedRoot) -> CurrentStatus {
        let cached_omission = cached.policy.status.as_ref().and_then(condition_message);
        let written_omission = || self.states.lock().get(root)?.written_omission.clone();
        CurrentStatus {
            digest: cached.status,
            omission: cached_omission.or_else(written_omission),
            length_without_status: cached.length_without_status,
        }
    }

    /// Opens the window after a write of a status of this size.
    fn open_window(&self, root: &RootPolicyName, size: StatusSize) {
        let now = Instant::now();
        let mut states = self.states.lock();
        let others = states.iter().filter(|(other, _)| *other != root);
        let others = others.map(|(_, state)| state.window.changing_clusters(now));
        let others = others.sum();
        if let Some(state) = states.get_mut(root) {
            state.window = state.window.written(now, size, others);
        }
    }

    fn location(&self, root: &RootPolicyName) -> RootLocation {
        if !self.hub.is_cluster_namespace(&root.namespace) {
            return RootLocation::OutsideClusterNamespaces;
        }
        let key = ObjectKey::new(root.namespace.clone(), root.name.clone());
        let replica = replica::replica(&key, &observe(&self.hub, &key));
        if replica == ReplicaDecision::Absent && self.hub.placement_is_decodable(&root.namespace) {
            RootLocation::InClusterNamespace
        } else {
            RootLocation::Unknown
        }
    }

    async fn write_status(
        &self,
        root: &RootPolicyName,
        current: &CachedRoot,
        desired: &PolicyStatus,
    ) -> Result<Action, RootError> {
        let written = publish::write_status(&self.client, root, current, desired).await;
        match not_found_as_none(written) {
            Ok(_) => Ok(Action::AwaitChange),
            Err(source) => {
                self.metrics.record_propagation_failure(root);
                Err(RootError::Status {
                    root: root.clone(),
                    source,
                })
            }
        }
    }

    /// Deletes a root policy in a cluster namespace, which the cluster would take for a replica. The deletion tests the resource
    /// version that was decided about, because a changed label makes the policy a replica.
    async fn delete_misplaced(
        &self,
        root: &RootPolicyName,
        policy: &Policy,
    ) -> Result<Action, RootError> {
        // The API server has to confirm it: a watch may not have delivered a binding, or the root policy that it is a replica of.
        let confirmation = match RootPolicyName::parse(&root.name) {
            Some(of) => self.confirmer.confirm_deletion(&of).await,
            None => Ok(Confirmation::Confirmed),
        };
        let confirmations = [
            confirmation,
            self.confirmer.confirm_placement(&root.namespace).await,
        ];
        for confirmation in confirmations {
            let confirmation = confirmation.map_err(|source| RootError::DeleteMisplaced {
                root: root.clone(),
                source,
            })?;
            if confirmation == Confirmation::CacheBehind {
                return Ok(Action::RequeueAfter(UNCLEAR_RETRY));
            }
        }
        let location = self.location(root);
        if decide::root(
            &CurrentStatus::default(),
            location,
            self.hub.placement_summary(root),
        ) != RootAction::DeleteMisplaced
        {
            return Ok(Action::RequeueAfter(UNCLEAR_RETRY));
        }
        tracing::warn!(policy = %root, "deleting a policy that doesn't belong to any root policy");
        let policies: Api<Policy> = Api::namespaced(self.client.clone(), &root.namespace);
        let preconditions = Preconditions {
            uid: policy.metadata.uid.clone(),
            resource_version: policy.metadata.resource_version.clone(),
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        not_found_as_none(writes::delete(&policies, &root.name, &parameters).await).map_err(
            |source| RootError::DeleteMisplaced {
                root: root.clone(),
                source,
            },
        )?;
        Ok(Action::AwaitChange)
    }

    fn emit_events(&self, root: &RootPolicyName, policy: &Policy) {
        // The replicas may have been deleted before this reconcile.
        let had_replicas = self.hub.take_withdrawn(root);
        if policy.spec.disabled && (had_replicas || self.hub.has_replicas(root)) {
            self.emit_once(root, policy, "disabled", &messages::disabled(root), false);
        }
        if root.fits().is_err() {
            self.emit_once(root, policy, "name", &messages::name_too_long(root), true);
        }
    }

    /// Emits an event once for each generation of the policy.
    fn emit_once(
        &self,
        root: &RootPolicyName,
        policy: &Policy,
        what: &'static str,
        note: &str,
        warning: bool,
    ) {
        let generation = policy.metadata.generation;
        {
            let mut states = self.states.lock();
            let emitted_generations =
                &mut states.entry(root.clone()).or_default().emitted_generations;
            if emitted_generations.insert(what, generation) == Some(generation) {
                return;
            }
        }
        let reason = messages::PROPAGATION;
        let event = InformationalEvent {
            reason,
            action: reason,
            note,
            warning,
        };
        self.events.emit_event(&object_reference(policy), &event);
    }
}

/// A condition keeps the time when it began.
fn set_transition_time(desired: &mut PolicyStatus, live: &Policy) {
    let live = live
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let began = live.map(|condition| condition.last_transition_time.clone());
    let began = began.flatten().next();
    for condition in desired.conditions.iter_mut().flatten() {
        let now = || Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        condition.last_transition_time = Some(began.clone().unwrap_or_else(now));
    }
}

/// The message of the condition that clusters are omitted.
fn condition_message(status: &PolicyStatus) -> Option<String> {
    let conditions = status.conditions.iter().flatten();
    let mut omitted = conditions.filter(|condition| condition.type_ == messages::CLUSTERS_OMITTED);
    omitted.next()?.message.clone()
}
