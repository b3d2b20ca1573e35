//! The reconciler of statuses on the hub.
//!
//! It is apart from the rest so that a hub that cannot be reached holds nothing up: the managed cluster's statuses go on
//! to follow what is reported, history included, and the hub gets the outcome when it is back. What waits for the hub is
//! one status a policy, the newest, so that an outage of any length takes no more memory than a moment.

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
use crate::policy_status_sync::decide::{self, Standing};
use crate::policy_status_sync::error::StatusError;
use crate::policy_status_sync::publish::{self, Written};
use crate::policy_status_sync::{self, messages};
use circuit_breaker::CircuitBreaker;

/// The controller's name in logs and metrics.
pub const CONTROLLER: &str = "hub-status-sync";
/// How long the hub may take for a write. One that takes longer is tried again: it changes nothing if it was done.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the watch may take to bring the change that made a write a conflict, before the write is tried again.
const WATCH_LAG: Duration = Duration::from_mins(1);
/// How much later than the others the policy tries again with which the hub was found to be away.
const PROBE_DELAY: Duration = Duration::from_millis(250);

/// Writes the hub's statuses.
pub struct HubStatusSync {
    caches: Caches,
    hub: Cluster,
    events: EventRecorder,
    outbox: Outbox,
    written: Written,
    breaker: CircuitBreaker,
}

impl HubStatusSync {
    /// Takes what is in `outbox` to `hub`.
    pub fn new(caches: Caches, hub: Cluster, outbox: Outbox) -> Arc<Self> {
        let events = hub.events(policy_status_sync::CONTROLLER);
        Arc::new(Self {
            caches,
            hub,
            events,
            outbox,
            written: Written::default(),
            breaker: CircuitBreaker::default(),
        })
    }

    /// Brings the hub's status of one policy in line with what waits for it.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, StatusError> {
        let Some(status) = self.outbox.waiting(&name) else {
            return Ok(Action::AwaitChange);
        };
        let managed = self.caches.managed.policy(&name);
        let standing = decide::standing(managed, Some(self.hub.policy(&name)));
        let Standing::InLine { hub: Some(hub), .. } = standing else {
            self.written.forget(&name);
            // Either the change that this is about leads here again, or there is nobody to tell.
            self.outbox.written(&name, &status);
            return Ok(Action::AwaitChange);
        };
        if let Some(left) = self.breaker.wait() {
            return Ok(Action::RequeueAfter(left));
        }
        let write = self.written.write(&self.hub, &hub, &status);
        let Ok(written) = tokio::time::timeout(WRITE_TIMEOUT, write).await else {
            return Ok(self.cut_off(&name, messages::NO_ANSWER));
        };
        match written {
            Ok(written) => {
                self.outbox.written(&name, &status);
                self.open();
                if written {
                    let state = status.get("compliant").and_then(Value::as_str);
                    let state = state.unwrap_or_default();
                    let note = messages::updated_on_hub(&name, state, &self.hub.namespace);
                    publish::emit_status_event(&self.events, &hub.object_ref(&()), &note);
                }
                Ok(Action::AwaitChange)
            }
            Err(error) if is_cut_off(&error) => Ok(self.cut_off(&name, &error_chain(&error))),
            Err(source) => {
                self.open();
                let error = StatusError::Hub {
                    policy: name,
                    source,
                };
                if error.is_outdated() {
                    // The watch brings what came in between, and that leads here again. It may take a while: after an
                    // outage the watch is the last to come back.
                    return Ok(Action::RequeueAfter(WATCH_LAG));
                }
                Err(error)
            }
        }
    }

    /// The hub answers: what has waited for that goes now, as fast as the client's limit lets it.
    fn open(&self) {
        if self.breaker.record_success() {
            self.outbox.requeue_all();
        }
    }

    fn cut_off(&self, policy: &str, why: &str) -> Action {
        self.breaker.record_failure();
        tracing::warn!(policy, why, "{}", messages::CUT_OFF);
        // The others first: it may have been this one's own fault after all.
        Action::RequeueAfter(self.breaker.wait().unwrap_or_default() + PROBE_DELAY)
    }
}

/// Whether another policy's status would fare the same: there was no answer, or one that the hub has no time. A 500 can be
/// about one object.
fn is_cut_off(error: &kube::Error) -> bool {
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
    fn what_is_about_one_policy_holds_up_no_other(#[case] code: u16, #[case] expected: bool) {
        let status = Status::failure("no", "").with_code(code);
        assert_eq!(is_cut_off(&kube::Error::Api(Box::new(status))), expected);
    }
}
