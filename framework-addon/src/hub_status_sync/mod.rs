//! The reconciler of statuses on the hub.
//!
//! It is separate from status sync so that a hub that cannot be reached blocks nothing: the statuses on the managed cluster
//! follow the reports, history included, and the hub gets the result when it is back. One status is pending for each policy,
//! the newest, so that the memory does not grow with the length of an outage.

mod circuit_breaker;

use std::sync::Arc;
use std::time::Duration;

use kube::Resource;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::object::error_chain;
use reeve_runtime::queue::Action;
use serde_json::Value;

use crate::caches::Caches;
use crate::cluster::Cluster;
use crate::hub_outbox::Outbox;
use crate::policy_status_sync::decide::{self, SyncState};
use crate::policy_status_sync::error::StatusError;
use crate::policy_status_sync::publish::{self, WrittenStatuses};
use crate::policy_status_sync::{self, messages};
use circuit_breaker::CircuitBreaker;

/// The controller's name in logs and metrics.
pub const CONTROLLER: &str = "hub-status-sync";
/// How long the hub may take for a write. One that takes longer is tried again: it changes nothing if it was done.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the watch may take to deliver the change that made a write a conflict, before the write is retried.
const WATCH_LAG: Duration = Duration::from_mins(1);
/// The extra delay of the policy whose write failed first: its own status may be the cause.
const PROBE_DELAY: Duration = Duration::from_millis(250);

/// The reconciler of the hub's statuses.
pub struct HubStatusSync {
    caches: Caches,
    hub: Cluster,
    events: EventRecorder,
    outbox: Outbox,
    written: WrittenStatuses,
    breaker: CircuitBreaker,
}

impl HubStatusSync {
    /// Writes the pending statuses of `outbox` to `hub`.
    pub fn new(caches: Caches, hub: Cluster, outbox: Outbox) -> Arc<Self> {
        let events = hub.events(policy_status_sync::CONTROLLER);
        Arc::new(Self {
            caches,
            hub,
            events,
            outbox,
            written: WrittenStatuses::default(),
            breaker: CircuitBreaker::default(),
        })
    }

    /// Writes the pending status of one policy to the hub.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, StatusError> {
        let Some(status) = self.outbox.pending(&name) else {
            return Ok(Action::AwaitChange);
        };
        let managed = self.caches.managed.policy(&name);
        let sync_state = decide::sync_state(managed, Some(self.hub.policy(&name)));
        let SyncState::InSync { hub: Some(hub), .. } = sync_state else {
            self.written.forget(&name);
            // Either a later change enqueues the policy again, or the hub's policy no longer exists.
            self.outbox.written(&name, &status);
            return Ok(Action::AwaitChange);
        };
        if let Some(left) = self.breaker.wait() {
            return Ok(Action::RequeueAfter(left));
        }
        let write = self.written.write(&self.hub, &hub, &status);
        let Ok(written) = tokio::time::timeout(WRITE_TIMEOUT, write).await else {
            return Ok(self.hub_unreachable(&name, messages::NO_ANSWER));
        };
        match written {
            Ok(written) => {
                self.outbox.written(&name, &status);
                self.resume();
                if written {
                    let state = status.get("compliant").and_then(Value::as_str);
                    let state = state.unwrap_or_default();
                    let note = messages::updated_on_hub(&name, state, &self.hub.namespace);
                    publish::emit_status_event(&self.events, &hub.object_ref(&()), &note);
                }
                Ok(Action::AwaitChange)
            }
            Err(error) if is_hub_unreachable(&error) => {
                Ok(self.hub_unreachable(&name, &error_chain(&error)))
            }
            Err(source) => {
                self.resume();
                let error = StatusError::Hub {
                    policy: name,
                    source,
                };
                if error.is_outdated() {
                    // The watch delivers the conflicting change, which enqueues the policy again. After an outage that may
                    // take a while, because the watch reconnects last.
                    return Ok(Action::RequeueAfter(WATCH_LAG));
                }
                Err(error)
            }
        }
    }

    /// Closes the breaker, and enqueues all pending statuses if it was open.
    fn resume(&self) {
        if self.breaker.record_success() {
            self.outbox.requeue_all();
        }
    }

    fn hub_unreachable(&self, policy: &str, reason: &str) -> Action {
        self.breaker.record_failure();
        tracing::warn!(policy, reason, "{}", messages::CUT_OFF);
        // The others go first, because this status may be the cause.
        Action::RequeueAfter(self.breaker.wait().unwrap_or_default() + PROBE_DELAY)
    }
}

/// Whether the write of any other status would fail, too: the hub did not answer, or is overloaded. A 500 can be about one object.
fn is_hub_unreachable(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 401 | 429 | 502 | 503 | 504),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;
    use rstest::rstest;

    #[rstest]
    #[case(401, true)]
    #[case(403, false)]
    #[case(409, false)]
    #[case(422, false)]
    #[case(429, true)]
    #[case(500, false)]
    #[case(503, true)]
    fn only_errors_about_the_hub_open_the_breaker(#[case] code: u16, #[case] expected: bool) {
        let status = Status::failure("no", "").with_code(code);
        assert_eq!(
            is_hub_unreachable(&kube::Error::Api(Box::new(status))),
            expected
        );
    }
}
