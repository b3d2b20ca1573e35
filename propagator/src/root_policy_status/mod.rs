//! Brings the statuses of root policies in line. Policies that stray into a cluster's namespace are removed here too.

mod decide;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DeleteParams, Patch, Preconditions};
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::PolicyStatus;
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::{ObjectKey, not_found_as_none};
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;
use reeve_runtime::window::Window;
use reeve_runtime::writes;
use serde_json::json;

use crate::cache::HubCache;
use crate::confirmation::{Confirmation, Confirmer};
use crate::error::RootError;
use crate::messages;
use crate::metrics::PropagatorMetrics;
use crate::replicated_policy::decide::{self as replica, ReplicaDecision};
use crate::replicated_policy::{observe, reference};
use crate::root::StatusDigest;
use crate::status_window::pause;
use decide::{RootAction, RootLocation};

/// How soon to look again at a policy of which it is not clear whether it may go.
const UNCLEAR: Duration = Duration::from_secs(1);

/// Brings statuses of root policies in line.
#[derive(Clone)]
pub struct RootPolicyStatusReconciler {
    client: Client,
    hub: Arc<HubCache>,
    events: EventRecorder,
    metrics: PropagatorMetrics,
    confirmer: Confirmer,
    remembered: Arc<Mutex<HashMap<RootPolicyName, Remembered>>>,
}

/// What is remembered of a root between two looks at it.
#[derive(Default)]
struct Remembered {
    window: Window,
    /// The generation for which each kind of event was sent.
    announced: HashMap<&'static str, Option<i64>>,
}

impl RootPolicyStatusReconciler {
    /// Reads from `hub`, writes through `client`, and deletes what `confirmer` has confirmed.
    pub fn new(
        client: Client,
        hub: Arc<HubCache>,
        confirmer: Confirmer,
        events: EventRecorder,
        metrics: PropagatorMetrics,
    ) -> Self {
        Self {
            confirmer,
            client,
            hub,
            events,
            metrics,
            remembered: Arc::default(),
        }
    }

    /// Brings the status of one root policy in line.
    pub async fn reconcile(self, root: RootPolicyName) -> Result<Action, RootError> {
        let kept = match self.hub.kept_root(&root) {
            None => {
                self.remembered.lock().remove(&root);
                self.hub.take_withdrawn(&root);
                return Ok(Action::AwaitChange);
            }
            // The watch has logged it; its status cannot be judged, nor can it be written.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            Some(Cached::Valid(kept)) => kept,
        };
        let policy = &kept.policy;
        let location = self.location(&root);
        if location == RootLocation::OutsideClusterNamespaces {
            self.announce(&root, policy);
        }
        let window = self
            .remembered
            .lock()
            .entry(root.clone())
            .or_default()
            .window;
        if let Some(wait) = window.wait(Instant::now()) {
            return Ok(Action::RequeueAfter(wait));
        }
        let start = Instant::now();
        let reach = self.hub.reach(&root);
        let next = match decide::root(&kept.status, location, reach) {
            RootAction::Nothing => Ok(Action::AwaitChange),
            RootAction::Wait => Ok(Action::RequeueAfter(UNCLEAR)),
            RootAction::DeleteMisplaced => self.remove_stray(&root, policy).await,
            RootAction::KeepMisplaced => {
                let note = messages::in_cluster_namespace(&root);
                tracing::warn!("{note}");
                self.once(&root, policy, "stray", &note, true);
                Ok(Action::AwaitChange)
            }
            RootAction::Write(status) => {
                let clusters = status.status.as_ref().map_or(0, Vec::len);
                let written = self.write(&root, &status).await;
                let window = Window::written(Instant::now(), pause(clusters));
                if let Some(remembered) = self.remembered.lock().get_mut(&root) {
                    remembered.window = window;
                }
                written
            }
        };
        self.metrics.handled(start.elapsed());
        next
    }

    fn location(&self, root: &RootPolicyName) -> RootLocation {
        if !self.hub.is_cluster_namespace(&root.namespace) {
            return RootLocation::OutsideClusterNamespaces;
        }
        let key = ObjectKey::new(root.namespace.clone(), root.name.clone());
        let replica = replica::replica(&key, &observe(&self.hub, &key));
        if replica == ReplicaDecision::Absent && self.hub.placement_is_readable(&root.namespace) {
            RootLocation::InClusterNamespace
        } else {
            RootLocation::Unknown
        }
    }

    /// Nobody else decides these fields, so there is no conflict to lose; others are kept.
    async fn write(
        &self,
        root: &RootPolicyName,
        status: &PolicyStatus,
    ) -> Result<Action, RootError> {
        let patch = json!({ "status": {
            "compliant": status.compliant,
            "placement": status.placement,
            "status": status.status,
        } });
        let place = (root.namespace.as_str(), root.name.as_str());
        let patched =
            writes::patch_status::<Policy>(&self.client, place, &Patch::Merge(patch)).await;
        match not_found_as_none(patched) {
            Ok(_) => Ok(Action::AwaitChange),
            Err(source) => {
                self.metrics.failed(root);
                Err(RootError::Status {
                    root: root.clone(),
                    source,
                })
            }
        }
    }

    /// Cluster namespaces hold replicas only; anything else there would look like one to the
    /// cluster. Only what was decided about is removed: with another label it is another matter.
    async fn remove_stray(
        &self,
        root: &RootPolicyName,
        policy: &Policy,
    ) -> Result<Action, RootError> {
        // On the word of the hub only: a watch may not have delivered who binds it, or the root that it is a replica of.
        let confirmation = match RootPolicyName::parse(&root.name) {
            Some(of) => self.confirmer.removal(&of).await,
            None => Ok(Confirmation::Confirmed),
        };
        let confirmations = [
            confirmation,
            self.confirmer.placement(&root.namespace).await,
        ];
        for confirmation in confirmations {
            let confirmation = confirmation.map_err(|source| RootError::Stray {
                root: root.clone(),
                source,
            })?;
            if confirmation == Confirmation::Behind {
                return Ok(Action::RequeueAfter(UNCLEAR));
            }
        }
        let location = self.location(root);
        if decide::root(&StatusDigest::default(), location, self.hub.reach(root))
            != RootAction::DeleteMisplaced
        {
            return Ok(Action::RequeueAfter(UNCLEAR));
        }
        tracing::warn!(policy = %root, "deleting a policy that doesn't belong to any root policy");
        let policies: Api<Policy> = Api::namespaced(self.client.clone(), &root.namespace);
        let preconditions = Preconditions {
            uid: policy.metadata.uid.clone(),
            resource_version: policy.metadata.resource_version.clone(),
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        not_found_as_none(writes::delete(&policies, &root.name, &parameters).await).map_err(
            |source| RootError::Stray {
                root: root.clone(),
                source,
            },
        )?;
        Ok(Action::AwaitChange)
    }

    fn announce(&self, root: &RootPolicyName, policy: &Policy) {
        // They may be gone before this looks.
        let had_replicas = self.hub.take_withdrawn(root);
        if policy.spec.disabled && (had_replicas || self.hub.has_replicas(root)) {
            self.once(root, policy, "disabled", &messages::disabled(root), false);
        }
        if root.fits().is_err() {
            self.once(root, policy, "name", &messages::name_too_long(root), true);
        }
    }

    /// Sends an event once for each generation of the policy.
    fn once(
        &self,
        root: &RootPolicyName,
        policy: &Policy,
        what: &'static str,
        note: &str,
        warning: bool,
    ) {
        let generation = policy.metadata.generation;
        {
            let mut remembered = self.remembered.lock();
            let announced = &mut remembered.entry(root.clone()).or_default().announced;
            if announced.insert(what, generation) == Some(generation) {
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
        self.events.emit_event(&reference(policy), &event);
    }
}
