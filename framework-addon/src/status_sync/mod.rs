//! Status sync: what evaluators report, folded into the policy's status on the managed cluster and
//! from there into that on the hub.
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

use std::sync::Arc;

use reeve_runtime::events::EventWriter;
use reeve_runtime::queue::Next;

use crate::kinds::KIND_IS_COMING;
use crate::world::{Reader, World};
use decide::Standing;
use error::StatusError;

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "policy-status-sync";

/// Writes statuses.
pub struct StatusSync {
    world: World,
    managed_events: EventWriter,
    hub_events: Option<EventWriter>,
}

impl StatusSync {
    /// Reads from and writes to the clusters of `world`.
    pub fn new(world: World) -> Arc<Self> {
        Arc::new(Self {
            managed_events: world.managed.events(CONTROLLER),
            hub_events: world.hub.as_ref().map(|hub| hub.events(CONTROLLER)),
            world,
        })
    }

    /// Brings the status of one policy in line.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Next, StatusError> {
        let managed = self.world.managed.policy(&name);
        let hub = self.world.hub.as_ref().map(|hub| hub.policy(&name));
        let (managed, hub) = match decide::standing(managed, hub) {
            Standing::Gone => {
                self.world.objects.forget(&Reader::Status(name));
                return Ok(Next::Done);
            }
            Standing::NotInLine => return Ok(Next::Done),
            Standing::InLine { managed, hub } => (managed, hub),
        };
        let undecodable = |source| StatusError::Undecodable {
            policy: name.clone(),
            source,
        };
        let spec = managed.typed_spec().map_err(undecodable)?;
        let old = managed.typed_status().map_err(undecodable)?;
        let observed = self.observe(&managed, &spec).await?;
        let status = decide::status(&old, observed.templates);
        let status = serde_json::to_value(status).map_err(undecodable)?;
        self.publish(&managed, hub.as_deref(), &status).await?;
        Ok(if observed.kind_is_coming {
            Next::After(KIND_IS_COMING)
        } else {
            Next::Done
        })
    }
}
