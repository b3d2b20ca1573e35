//! The reconciler of policy set statuses.

mod decide;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use kube::api::Patch;
use kube::{Client, Resource};
use parking_lot::Mutex;
use reeve_api::PolicySet;
use reeve_api::policy_set::PolicySetStatus;
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::{ObjectKey, not_found_as_none};
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;
use reeve_runtime::window::Window;
use reeve_runtime::writes;
use serde_json::json;

use crate::cache::HubCache;
use crate::error::SetError;
use crate::messages;
use crate::shards::{ShardedReconciler, object_shard_key};
use crate::status_window::set_window_length;
use decide::{desired_status, same_status};

/// The reconciler of policy set statuses.
#[derive(Clone)]
pub struct PolicySetReconciler {
    client: Client,
    hub: Arc<HubCache>,
    events: EventRecorder,
    states: Arc<Mutex<HashMap<ObjectKey, SetState>>>,
}

/// The state of a set between two reconciles.
#[derive(Default)]
struct SetState {
    window: Window,
    /// The missing policies for which the event was emitted.
    reported_missing: BTreeSet<String>,
}

impl PolicySetReconciler {
    /// Reads from `hub`, writes through `client`.
    pub fn new(client: Client, hub: Arc<HubCache>, events: EventRecorder) -> Self {
        Self {
            client,
            hub,
            events,
            states: Arc::default(),
        }
    }
}

impl ShardedReconciler for PolicySetReconciler {
    type Key = ObjectKey;
    type Error = SetError;

    async fn reconcile(self, key: ObjectKey) -> Result<Action, SetError> {
        let set = match self.hub.policy_set(&key) {
            None => {
                self.states.lock().remove(&key);
                return Ok(Action::AwaitChange);
            }
            // The watch has logged it.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            Some(Cached::Valid(set)) => set,
        };
        let window = self.states.lock().entry(key.clone()).or_default().window;
        if let Some(wait) = window.wait(Instant::now()) {
            return Ok(Action::RequeueAfter(wait));
        }
        let members = self.hub.set_members(&key, &set.spec.policies);
        let (desired, missing) = desired_status(&set, &members);
        self.report_missing(&key, &set, missing);
        let current = set.status.clone().unwrap_or_default();
        let written = if same_status(&current, &desired) {
            Ok(false)
        } else {
            self.write_status(&key, &desired).await
        };
        // The window opens also when nothing was written, because aggregating the compliance of all clusters is the expensive
        // part, and most changes of replicas do not change the set.
        let length = set_window_length(set.spec.policies.len(), self.hub.cluster_count());
        let window = Window::written(Instant::now(), length);
        if let Some(states) = self.states.lock().get_mut(&key) {
            states.window = window;
        }
        if written? {
            self.emit_event(
                &set,
                (messages::SET_STATUS, &messages::set_updated(&key)),
                false,
            );
        }
        Ok(Action::AwaitChange)
    }

    fn shard_key(key: &ObjectKey) -> String {
        object_shard_key(key)
    }

    fn release(&self, key: &ObjectKey) {
        self.states.lock().remove(key);
    }
}

impl PolicySetReconciler {
    /// Writes the status; false if the set is gone.
    async fn write_status(
        &self,
        key: &ObjectKey,
        desired_status: &PolicySetStatus,
    ) -> Result<bool, SetError> {
        let patch = json!({ "status": {
            "compliant": desired_status.compliant,
            "placement": desired_status.placement,
            "statusMessage": desired_status.status_message,
            "exclusions": desired_status.exclusions,
        } });
        let location_key = (key.namespace.as_str(), key.name.as_str());
        let patched =
            writes::patch_status::<PolicySet>(&self.client, location_key, &Patch::Merge(patch))
                .await;
        let patched = not_found_as_none(patched).map_err(|source| SetError {
            set: key.clone(),
            source,
        })?;
        Ok(patched.is_some())
    }

    /// Emits one event for each missing policy; another one only after the policy existed.
    fn report_missing(&self, key: &ObjectKey, set: &PolicySet, missing: Vec<String>) {
        let missing: BTreeSet<_> = missing.into_iter().collect();
        let new: Vec<_> = {
            let mut states = self.states.lock();
            let reported_missing = &mut states.entry(key.clone()).or_default().reported_missing;
            let new = missing.difference(reported_missing).cloned().collect();
            *reported_missing = missing;
            new
        };
        for policy in new {
            let note = messages::set_member_missing(key, &policy);
            self.emit_event(set, (messages::SET_MEMBER_MISSING, &note), true);
        }
    }

    fn emit_event(&self, set: &PolicySet, (reason, note): (&str, &str), warning: bool) {
        let event = InformationalEvent {
            reason,
            action: reason,
            note,
            warning,
        };
        self.events.emit_event(&set.object_ref(&()), &event);
    }
}
