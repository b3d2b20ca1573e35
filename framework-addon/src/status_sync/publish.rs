//! Writes statuses, only where they differ, and tells people.

use kube::Resource;
use kube::api::PostParams;
use reeve_runtime::events::{EventWriter, Information};
use serde_json::Value;

use super::error::StatusError;
use super::{StatusSync, messages};
use crate::replica::{Replica, same_status};
use crate::world::Side;

impl StatusSync {
    /// Writes the status on the managed cluster, then on the hub. A failure of the first keeps
    /// the second from being ahead.
    pub(super) async fn publish(
        &self,
        managed: &Replica,
        hub: Option<&Replica>,
        status: &Value,
    ) -> Result<(), StatusError> {
        let name = managed.name();
        let side = &self.world.managed;
        let written = write(side, managed, status).await;
        let written = written.map_err(|source| StatusError::Managed {
            policy: name.to_owned(),
            source,
        })?;
        if written {
            let note = messages::updated(name, &side.namespace);
            announce(&self.managed_events, managed, &note);
        }
        let (Some(side), Some(hub), Some(events)) = (&self.world.hub, hub, &self.hub_events) else {
            return Ok(());
        };
        let written = write(side, hub, status).await;
        let written = written.map_err(|source| StatusError::Hub {
            policy: name.to_owned(),
            source,
        })?;
        if written {
            let state = status
                .get("compliant")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let note = messages::updated_on_hub(name, state, &side.namespace);
            announce(events, hub, &note);
        }
        Ok(())
    }
}

/// Whether a write was needed. A policy that was changed since it was read is a conflict; one
/// that was deleted will be reported by the watch.
async fn write(side: &Side, policy: &Replica, status: &Value) -> Result<bool, kube::Error> {
    if same_status(policy.status.as_ref(), Some(status)) {
        return Ok(false);
    }
    let mut changed = policy.clone();
    changed.status = Some(status.clone());
    let replaced = side
        .api()
        .replace_status(policy.name(), &PostParams::default(), &changed)
        .await;
    Ok(reeve_runtime::object::absent_is_none(replaced)?.is_some())
}

fn announce(events: &EventWriter, policy: &Replica, note: &str) {
    tracing::info!(policy = policy.name(), "{note}");
    let event = Information {
        reason: messages::REASON,
        action: messages::REASON,
        note,
        warning: false,
    };
    events.inform(&policy.object_ref(&()), &event);
}
