//! Spec sync: the policies of the cluster's namespace on the hub, copied to the managed cluster.
//!
//! The watches of both clusters enqueue the policy, so that a change on either cluster, and a replica that the hub does not have
//! when the process starts, are reconciled.
//!
//! A replica that the hub does not have is deleted. Replicas carry no mark, which would be a difference to the hub. The namespace
//! proves the ownership: it belongs to this controller, so a policy there that the hub does not have is stale or foreign. Before a
//! deletion the hub's API server has to confirm that the policy does not exist, and the deletion tests the uid of the replica.

pub mod act;
pub mod decide;
pub mod error;
pub mod messages;
pub mod observe;
pub mod publish;

use std::sync::Arc;

use reeve_runtime::events::EventRecorder;
use reeve_runtime::queue::Action;

use crate::cluster::Cluster;
use crate::uninstalling::Uninstalling;
use decide::SpecAction;
use error::SpecError;

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "policy-spec-sync";

/// The reconciler of spec sync.
pub struct SpecSync {
    hub: Cluster,
    managed: Cluster,
    uninstalling: Uninstalling,
    events: EventRecorder,
}

impl SpecSync {
    /// Copies from `hub` to `managed`.
    pub fn new(hub: Cluster, managed: Cluster, uninstalling: Uninstalling) -> Arc<Self> {
        let events = managed.events(CONTROLLER);
        Arc::new(Self {
            hub,
            managed,
            uninstalling,
            events,
        })
    }

    /// Reconciles one policy.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, SpecError> {
        if self.uninstalling.is_on() {
            return Ok(Action::AwaitChange);
        }
        let observed = observe::observe(&self.hub, &self.managed, &name);
        match decide::decide(&observed, &self.managed.namespace) {
            SpecAction::Nothing => {}
            SpecAction::Leave(reason) => {
                tracing::error!(policy = name, reason, "{}", messages::LEFT_ALONE);
            }
            SpecAction::Delete { uid } => self.delete(&name, uid).await?,
            SpecAction::Create(policy) => {
                if let Some(created) = self.create(&policy).await? {
                    self.emit_event(&created, &messages::created(&name, &self.managed.namespace));
                }
            }
            SpecAction::Update(policy) => {
                let updated = match self.update(&policy).await {
                    Err(error) if error.is_outdated() => return Ok(Action::Requeue),
                    updated => updated?,
                };
                if let Some(updated) = updated {
                    self.emit_event(&updated, &messages::updated(&name, &self.managed.namespace));
                }
            }
        }
        Ok(Action::AwaitChange)
    }
}
