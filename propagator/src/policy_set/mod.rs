//! Brings the statuses of policy sets in line.

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
use crate::status_window::pause;
use decide::{same, status};

/// Brings the statuses of policy sets in line.
#[derive(Clone)]
pub struct PolicySetReconciler {
    client: Client,
    hub: Arc<HubCache>,
    events: EventRecorder,
    remembered: Arc<Mutex<HashMap<ObjectKey, Remembered>>>,
}

/// What is remembered of a set between two looks at it.
#[derive(Default)]
struct Remembered {
    window: Window,
    /// The policies that it was told to miss.
    missed: BTreeSet<String>,
}

impl PolicySetReconciler {
    /// Reads from `hub`, writes through `client`.
    pub fn new(client: Client, hub: Arc<HubCache>, events: EventRecorder) -> Self {
        Self {
            client,
            hub,
            events,
            remembered: Arc::default(),
        }
    }

    /// Brings the status of one set in line.
    pub async fn reconcile(self, key: ObjectKey) -> Result<Action, SetError> {
        let set = match self.hub.set(&key) {
            None => {
                self.remembered.lock().remove(&key);
                return Ok(Action::AwaitChange);
            }
            // The watch has logged it.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            Some(Cached::Valid(set)) => set,
        };
        let window = self
            .remembered
            .lock()
            .entry(key.clone())
            .or_default()
            .window;
        if let Some(wait) = window.wait(Instant::now()) {
            return Ok(Action::RequeueAfter(wait));
        }
        let members = self.hub.members(&key, &set.spec.policies);
        let (desired, missing) = status(&set, &members);
        self.tell_missing(&key, &set, missing);
        let current = set.status.clone().unwrap_or_default();
        let written = if same(&current, &desired) {
            Ok(false)
        } else {
            self.write(&key, &desired).await
        };
        // What it costs is to add up what all clusters say, also if nothing is new: in a storm of answers most leave a
        // set as it is.
        let window = Window::written(Instant::now(), pause(self.hub.cluster_count()));
        if let Some(remembered) = self.remembered.lock().get_mut(&key) {
            remembered.window = window;
        }
        if written? {
            self.tell(
                &set,
                (messages::SET_STATUS, &messages::set_updated(&key)),
                false,
            );
        }
        Ok(Action::AwaitChange)
    }

    /// Writes the status; false if the set is gone.
    async fn write(&self, key: &ObjectKey, status: &PolicySetStatus) -> Result<bool, SetError> {
        let patch = json!({ "status": {
            "compliant": status.compliant,
            "placement": status.placement,
            "statusMessage": status.status_message,
            "exclusions": status.exclusions,
        } });
        let place = (key.namespace.as_str(), key.name.as_str());
        let patched =
            writes::patch_status::<PolicySet>(&self.client, place, &Patch::Merge(patch)).await;
        let patched = not_found_as_none(patched).map_err(|source| SetError {
            set: key.clone(),
            source,
        })?;
        Ok(patched.is_some())
    }

    /// A missing policy is told once, until it is there.
    fn tell_missing(&self, key: &ObjectKey, set: &PolicySet, missing: Vec<String>) {
        let missing: BTreeSet<_> = missing.into_iter().collect();
        let new: Vec<_> = {
            let mut remembered = self.remembered.lock();
            let missed = &mut remembered.entry(key.clone()).or_default().missed;
            let new = missing.difference(missed).cloned().collect();
            *missed = missing;
            new
        };
        for policy in new {
            let note = messages::set_misses(key, &policy);
            self.tell(set, (messages::SET_MISSES, &note), true);
        }
    }

    fn tell(&self, set: &PolicySet, (reason, note): (&str, &str), warning: bool) {
        let event = InformationalEvent {
            reason,
            action: reason,
            note,
            warning,
        };
        self.events.emit_event(&set.object_ref(&()), &event);
    }
}
