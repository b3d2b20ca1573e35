//! Status sync: what evaluators report, folded into the policy's status on the managed cluster, and from there taken to
//! the [`hub`].
//!
//! A policy is looked at when it changes on either side, when an event about it appears, and when
//! one of its template objects changes. Whether the specs are in line is spec sync's business: the
//! same watches name the policy to it.

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

/// Up to so many templates a status is written as often as it changes.
const FEW_TEMPLATES: u32 = 25;
/// With more of them each report makes a large status: it is written less often, by so much for each template, ...
const PER_TEMPLATE: Duration = Duration::from_millis(2);
/// ... but not less often than this.
const MAX_WINDOW: Duration = Duration::from_secs(1);

/// How long the status of a policy with so many templates is not written again.
fn window_length(templates: usize) -> Duration {
    match u32::try_from(templates) {
        Ok(few) if few <= FEW_TEMPLATES => Duration::ZERO,
        Ok(many) => PER_TEMPLATE.saturating_mul(many).min(MAX_WINDOW),
        Err(_) => MAX_WINDOW,
    }
}

/// Writes the managed cluster's statuses.
pub struct StatusSync {
    caches: Caches,
    events: EventRecorder,
    written: WrittenStatuses,
    windows: Mutex<HashMap<String, Window>>,
    outbox: Option<Outbox>,
}

impl StatusSync {
    /// Reads from the clusters of `caches`, and writes to the managed one. What the hub is to have goes to `outbox`.
    pub fn new(caches: Caches, outbox: Option<Outbox>) -> Arc<Self> {
        Arc::new(Self {
            events: caches.managed.events(CONTROLLER),
            caches,
            written: WrittenStatuses::default(),
            windows: Mutex::default(),
            outbox,
        })
    }

    /// Brings the status of one policy in line.
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
        // Only now: the hub is never ahead of the cluster.
        if let Some(outbox) = &self.outbox {
            outbox.put(&name, status);
        }
        if let Some(error) = observed.failed {
            return Err(error);
        }
        Ok(observed.requeue)
    }

    /// Before the hub's policies have been seen the cluster's own are believed: events expire after an hour, and a hub may
    /// be away for longer.
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
