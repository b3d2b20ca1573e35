//! Status sync: folds the reports of evaluators into the policy's status on the managed cluster, and hands the status to hub status
//! sync.
//!
//! A policy is enqueued when it changes on either cluster, when an event about it is created, and when one of its template objects
//! changes. Spec sync, which the same watches enqueue, keeps the specs equal.

pub mod decide;
pub mod error;
pub mod history;
pub mod messages;
pub mod observe;
pub mod publish;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::queue::Action;
use reeve_runtime::window::Window;

use crate::caches::{Caches, Reader};
use crate::hub_outbox::Outbox;
use decide::SyncState;
use error::StatusError;
use publish::{StatusWrite, WrittenStatuses};

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "policy-status-sync";

/// Up to this number of templates a status is written at every change.
const FEW_TEMPLATES: u32 = 25;
/// A status with more templates is expensive to write, so its window grows by this much for each template, ...
const PER_TEMPLATE: Duration = Duration::from_millis(2);
/// ... up to this length.
const MAX_WINDOW: Duration = Duration::from_secs(1);

/// The window of the status of a policy with this number of templates.
fn window_length(templates: usize) -> Duration {
    match u32::try_from(templates) {
        Ok(few) if few <= FEW_TEMPLATES => Duration::ZERO,
        Ok(many) => PER_TEMPLATE.saturating_mul(many).min(MAX_WINDOW),
        Err(_) => MAX_WINDOW,
    }
}

/// The reconciler of the managed cluster's statuses.
pub struct StatusSync {
    caches: Caches,
    events: EventRecorder,
    written: WrittenStatuses,
    windows: Mutex<HashMap<String, Window>>,
    outbox: Option<Outbox>,
}

impl StatusSync {
    /// Reads from both clusters of `caches`, and writes to the managed one. `outbox` gets the statuses for the hub.
    pub fn new(caches: Caches, outbox: Option<Outbox>) -> Arc<Self> {
        Arc::new(Self {
            events: caches.managed.events(CONTROLLER),
            caches,
            written: WrittenStatuses::default(),
            windows: Mutex::default(),
            outbox,
        })
    }

    /// Reconciles the status of one policy.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, StatusError> {
        let managed = match self.sync_state(&name) {
            SyncState::Gone => {
                self.drop_from_outbox(&name);
                self.written.forget(&name);
                self.windows.lock().remove(&name);
                self.caches.objects.unwatch(&Reader::Status(name));
                return Ok(Action::AwaitChange);
            }
            SyncState::OutOfSync => {
                self.drop_from_outbox(&name);
                return Ok(Action::AwaitChange);
            }
            SyncState::InSync { managed, .. } => managed,
        };
        if self.caches.uninstalling.is_on() {
            return Ok(Action::AwaitChange);
        }
        let window = self.windows.lock().get(&name).copied();
        if let Some(wait) = window.and_then(|window| window.wait(Instant::now())) {
            return Ok(Action::RequeueAfter(wait));
        }
        let undecodable = |source| StatusError::Undecodable {
            policy: name.clone(),
            source,
        };
        let spec = managed.typed_spec().map_err(undecodable)?;
        let old = managed.typed_status().map_err(undecodable)?;
        let observed = self.observe(&managed, &spec).await;
        let status = decide::status(&old, observed.templates);
        let status = serde_json::to_value(status).map_err(undecodable)?;
        match self.publish(&managed, &status).await {
            Err(error) if error.is_outdated() => return Ok(Action::Requeue),
            published => {
                if published? == StatusWrite::Written {
                    let window_length = window_length(spec.policy_templates.len());
                    let window = Window::written(Instant::now(), window_length);
                    self.windows.lock().insert(name.clone(), window);
                }
            }
        }
        // After the write, so that the hub is never ahead of the managed cluster.
        if let Some(outbox) = &self.outbox {
            outbox.put(&name, status);
        }
        if let Some(error) = observed.failed {
            return Err(error);
        }
        Ok(observed.requeue)
    }

    /// Before the hub's cache has synced, the replica counts as in sync: events expire after an hour, and a hub may be
    /// unreachable for longer.
    fn sync_state(&self, policy: &str) -> SyncState {
        let hub = self.caches.hub.as_ref().filter(|hub| hub.has_synced());
        let hub = hub.map(|hub| hub.policy(policy));
        decide::sync_state(self.caches.managed.policy(policy), hub)
    }

    fn drop_from_outbox(&self, policy: &str) {
        if let Some(outbox) = &self.outbox {
            outbox.withdraw(policy);
        }
    }
}
