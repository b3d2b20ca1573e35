//! Emits the events of spec sync.

use kube::Resource;
use reeve_runtime::events::InformationalEvent;

use super::{SpecSync, messages};
use crate::replica::Replica;

impl SpecSync {
    pub(super) fn emit_event(&self, policy: &Replica, note: &str) {
        tracing::info!(policy = policy.name(), "{note}");
        let event = InformationalEvent {
            reason: messages::REASON,
            action: messages::REASON,
            note,
            warning: false,
        };
        self.events.emit_event(&policy.object_ref(&()), &event);
    }
}
