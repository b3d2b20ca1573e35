//! The inventory of referential constraints: objects of the kinds that their templates ask for.

use std::time::Duration;

use reeve_gatekeeper::audit::ResourceKind;
use reeve_gatekeeper::client::Client as Engine;
use reeve_gatekeeper::constraint::Constraint;
use reeve_gatekeeper::inventory::InventoryKey;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use serde_json::Value;

use crate::state::{Audit, KindWatch, Work};

/// Changes within this time are one review of what referential constraints match.
const WINDOW: Duration = Duration::from_secs(1);

/// The served kinds that templates with constraints ask for.
pub(crate) fn kinds(engine: &Engine, served: &[ResourceKind]) -> Vec<ResourceKind> {
    let used = engine
        .templates()
        .filter(|template| engine.constraints().any(|one| one.kind == template.kind));
    let requirements: Vec<_> = used
        .flat_map(|one| engine.sync_requirements(&one.kind))
        .collect();
    let is_asked_for = |kind: &&ResourceKind| {
        requirements.iter().any(|one| {
            let has = |all: &[String], name: &str| all.iter().any(|it| it == name || it == "*");
            has(&one.groups, &kind.group)
                && has(&one.versions, &kind.version)
                && has(&one.kinds, &kind.kind)
        })
    };
    served.iter().filter(is_asked_for).cloned().collect()
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

impl Audit {
    fn feeds_inventory(&self, kind: &ResourceKind) -> bool {
        let engine = self.engine.read();
        !kinds(&engine, std::slice::from_ref(kind)).is_empty()
    }

    /// Puts an object into the inventory, if its kind belongs there.
    pub(crate) fn feed_inventory(&self, kind: &ResourceKind, object: &Value) {
        if !self.feeds_inventory(kind) {
            return;
        }
        let version = object["metadata"]["resourceVersion"].as_str();
        let version = version.unwrap_or_default().to_owned();
        let before = {
            let mut versions = self.inventory.lock();
            let of_kind = versions.entry(kind.clone()).or_default();
            of_kind.insert(key_of(object), version.clone())
        };
        if before.as_ref() != Some(&version) {
            self.engine.write().set_object(object);
            self.queue.add_after(Work::Inventory, WINDOW);
        }
    }

    /// Removes a deleted object from the inventory.
    pub(crate) fn delete_from_inventory(&self, kind: &ResourceKind, key: &ObjectKey) {
        let known = {
            let mut versions = self.inventory.lock();
            let of_kind = versions.get_mut(kind);
            of_kind.and_then(|of_kind| of_kind.remove(key))
        };
        if known.is_some() {
            self.engine.write().remove_object(&inventory_key(kind, key));
            self.queue.add_after(Work::Inventory, WINDOW);
        }
    }

    /// Removes the objects of a kind that nobody asks for any more.
    pub(crate) fn forget_inventory(&self, kind: &ResourceKind) {
        let known = self.inventory.lock().remove(kind).unwrap_or_default();
        let mut engine = self.engine.write();
        for key in known.keys() {
            engine.remove_object(&inventory_key(kind, key));
        }
    }

    /// Whether all kinds of the inventory have been listed.
    pub(crate) fn is_inventory_complete(&self, engine: &Engine) -> bool {
        let watches = self.kind_watches.lock();
        let known: Vec<ResourceKind> = watches.keys().cloned().collect();
        let needed = kinds(engine, &known);
        needed
            .iter()
            .all(|kind| watches.get(kind).is_some_and(KindWatch::is_complete))
    }

    /// Lists again what referential constraints match.
    pub(crate) fn inventory_changed(&self) -> Action {
        let keys: Vec<_> = {
            let engine = self.engine.read();
            let referential = engine
                .constraints()
                .filter(|one| engine.is_referential(&one.kind));
            referential.map(Constraint::key).collect()
        };
        for key in &keys {
            self.mark_matched_kinds(key);
        }
        if !keys.is_empty() {
            self.queue.add(Work::Kinds);
        }
        Action::AwaitChange
    }
}

fn inventory_key(kind: &ResourceKind, key: &ObjectKey) -> InventoryKey {
    let group_version = if kind.group.is_empty() {
        kind.version.clone()
    } else {
        format!("{}/{}", kind.group, kind.version)
    };
    InventoryKey {
        group_version,
        kind: kind.kind.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}
