//! Spec sync: the policies of the cluster's namespace on the hub, copied to the managed cluster.
//!
//! Both clusters' watches name the policy, so a change on either side, and a policy that only the
//! managed cluster has when the process starts, lead here.
//!
//! A policy that the hub does not have is deleted. Policies carry no mark that tells copies from
//! others, and must not: a mark would be a difference to the hub. The namespace is the proof: on
//! a managed cluster it belongs to this controller, and a policy there that the hub does not have
//! is either left over or an intruder that looks like the hub's word. Deletion needs the hub's
//! explicit answer that the policy does not exist, asked at that moment, and removes the one
//! object that was looked at and no successor of its name.

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

/// Copies policies.
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

    /// Brings one policy in line.
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
