//! The way of statuses to the hub.
//!
//! It is apart from the rest so that a hub that cannot be reached holds nothing up: the managed cluster's statuses go on
//! to follow what is reported, history included, and the hub gets the outcome when it is back. What waits for the hub is
//! one status a policy, the newest, so that an outage of any length takes no more memory than a moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Resource;
use parking_lot::Mutex;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::object::error_chain;
use reeve_runtime::queue::{Action, Queue};
use serde_json::Value;

use super::decide::{self, Standing};
use super::error::StatusError;
use super::gate::Gate;
use super::publish::Written;
use super::{messages, publish};
use crate::world::{Side, World};

/// The controller's name in logs and metrics.
pub const CONTROLLER: &str = "hub-status-sync";
/// How long the hub may take for a write. One that takes longer is tried again: it changes nothing if it was done.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the watch may take to bring the change that made a write a conflict, before the write is tried again.
const NO_NEWS: Duration = Duration::from_mins(1);
/// How much later than the others the policy tries again with which the hub was found to be away.
const BEHIND_THE_OTHERS: Duration = Duration::from_millis(250);

/// Statuses that the hub is to have.
#[derive(Clone)]
pub struct Outbox {
    waiting: Arc<Mutex<HashMap<String, Arc<Value>>>>,
    queue: Queue<String>,
}

impl Outbox {
    /// Statuses are put here, and the policies' names on `queue`.
    pub fn new(queue: Queue<String>) -> Self {
        Self {
            waiting: Arc::default(),
            queue,
        }
    }

    /// The hub is to have this status of a policy, and no older one.
    pub fn put(&self, policy: &str, status: Value) {
        let status = Arc::new(status);
        self.waiting.lock().insert(policy.to_owned(), status);
        self.queue.add(policy.to_owned());
    }

    /// The hub is to have none: nothing is known of the policy that could be an answer to what the hub asks.
    pub fn withdraw(&self, policy: &str) {
        self.waiting.lock().remove(policy);
    }

    /// Looks at all that waits.
    fn look_again(&self) {
        for policy in self.waiting.lock().keys() {
            self.queue.add(policy.clone());
        }
    }

    fn waiting(&self, policy: &str) -> Option<Arc<Value>> {
        self.waiting.lock().get(policy).cloned()
    }

    /// A status has arrived; a newer one goes on waiting.
    fn arrived(&self, policy: &str, status: &Arc<Value>) {
        let mut waiting = self.waiting.lock();
        if waiting
            .get(policy)
            .is_some_and(|it| Arc::ptr_eq(it, status))
        {
            waiting.remove(policy);
        }
    }
}

/// Writes the hub's statuses.
pub struct HubStatusSync {
    world: World,
    hub: Side,
    events: EventRecorder,
    outbox: Outbox,
    written: Written,
    gate: Gate,
}

impl HubStatusSync {
    /// Takes what is in `outbox` to `hub`.
    pub fn new(world: World, hub: Side, outbox: Outbox) -> Arc<Self> {
        let events = hub.events(super::CONTROLLER);
        Arc::new(Self {
            world,
            hub,
            events,
            outbox,
            written: Written::default(),
            gate: Gate::default(),
        })
    }

    /// Brings the hub's status of one policy in line with what waits for it.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, StatusError> {
        let Some(status) = self.outbox.waiting(&name) else {
            return Ok(Action::AwaitChange);
        };
        let managed = self.world.managed.policy(&name);
        let standing = decide::standing(managed, Some(self.hub.policy(&name)));
        let Standing::InLine { hub: Some(hub), .. } = standing else {
            self.written.forget(&name);
            // Either the change that this is about leads here again, or there is nobody to tell.
            self.outbox.arrived(&name, &status);
            return Ok(Action::AwaitChange);
        };
        if let Some(left) = self.gate.wait() {
            return Ok(Action::RequeueAfter(left));
        }
        let write = self.written.write(&self.hub, &hub, &status);
        let Ok(written) = tokio::time::timeout(PATIENCE, write).await else {
            return Ok(self.cut_off(&name, messages::NO_ANSWER));
        };
        match written {
            Ok(written) => {
                self.outbox.arrived(&name, &status);
                self.open();
                if written {
                    let state = status.get("compliant").and_then(Value::as_str);
                    let state = state.unwrap_or_default();
                    let note = messages::updated_on_hub(&name, state, &self.hub.namespace);
                    publish::announce(&self.events, &hub.object_ref(&()), &note);
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
                    return Ok(Action::RequeueAfter(NO_NEWS));
                }
                Err(error)
            }
        }
    }

    /// The hub answers: what has waited for that goes now, as fast as the client's limit lets it.
    fn open(&self) {
        if self.gate.passed() {
            self.outbox.look_again();
        }
    }

    fn cut_off(&self, policy: &str, why: &str) -> Action {
        self.gate.failed();
        tracing::warn!(policy, why, "{}", messages::CUT_OFF);
        // The others first: it may have been this one's own fault after all.
        Action::RequeueAfter(self.gate.wait().unwrap_or_default() + BEHIND_THE_OTHERS)
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
