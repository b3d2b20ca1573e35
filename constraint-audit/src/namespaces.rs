//! The Namespaces of the cluster: constraints select by their labels, and templates may read them.

use std::sync::Arc;
use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use reeve_gatekeeper::constraint::Constraint;
use serde_json::Value;

use crate::follow::{Change, follow};
use crate::state::{Audit, Work};

/// Namespaces that change within this time are one reason to list again.
const WINDOW: Duration = Duration::from_millis(200);

/// Keeps the Namespaces in the engine.
pub(crate) async fn watch(audit: &Arc<Audit>) {
    let kind = GroupVersionKind::gvk("", "v1", "Namespace");
    let kind = ApiResource::from_gvk_with_plural(&kind, "namespaces");
    let on_change = |change| match change {
        Change::Present(object) => audit.namespace(object),
        Change::Gone(key) => audit.engine.write().remove_namespace(&key.name),
        Change::Synced => {
            audit.namespaces_synced.send_replace(true);
        }
    };
    follow(audit.client.clone(), kind, on_change).await;
}

impl Audit {
    fn namespace(&self, object: Value) {
        let read = |object: &Value| {
            ["labels", "annotations"].map(|field| object["metadata"].get(field).cloned())
        };
        let now = read(&object);
        let before = self.engine.write().set_namespace(object);
        let is_same = before.is_some_and(|before| read(&before) == now);
        if !is_same && *self.namespaces_synced.borrow() {
            self.namespaces_changed();
        }
    }

    /// Lists again what constraints choose by the labels of Namespaces, and what templates review with them.
    fn namespaces_changed(&self) {
        let keys: Vec<_> = {
            let engine = self.engine.read();
            let selecting = engine
                .constraints()
                .filter(|one| one.matches.needs_namespace() || engine.reads_namespace(&one.kind));
            selecting.map(Constraint::key).collect()
        };
        for key in &keys {
            self.mark_matched_kinds(key);
        }
        if !keys.is_empty() {
            self.queue.add_after(Work::Kinds, WINDOW);
        }
    }
}
