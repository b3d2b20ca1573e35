//! The inventory of referential constraints: objects of the kinds that their templates ask for.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use reeve_gatekeeper::audit::ResourceKind;
use reeve_gatekeeper::client::Client as Engine;
use reeve_gatekeeper::configuration::Process;
use reeve_gatekeeper::constraint::Constraint;
use reeve_gatekeeper::inventory::InventoryKey;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use serde_json::Value;

use crate::configuration::Effect;
use crate::resources::key_of;
use crate::state::{Audit, Entry, KindWatch, ServedKinds, Work};

/// The served kinds that templates with constraints ask for, and those that the configuration names if a template reads any.
pub(crate) fn kinds(engine: &Engine, served: &ServedKinds, effect: &Effect) -> Vec<ResourceKind> {
    let used: Vec<_> = engine
        .templates()
        .filter(|template| engine.is_referential(&template.kind))
        .filter(|template| engine.constraints().any(|one| one.kind == template.kind))
        .collect();
    if used.is_empty() {
        return Vec::new();
    }
    let requirements: Vec<_> = used
        .iter()
        .flat_map(|one| engine.sync_requirements(&one.kind))
        .collect();
    // A template must not publish Secrets in its messages: only the configuration of Gatekeeper adds them to the inventory.
    let is_asked_for = |kind: &&ResourceKind| {
        let is_asked_for = requirements.iter().any(|one| {
            let has = |all: &[String], name: &str| all.iter().any(|it| it == name || it == "*");
            let is_named = one.kinds.contains(&kind.kind);
            has(&one.groups, &kind.group)
                && has(&one.versions, &kind.version)
                && has(&one.kinds, &kind.kind)
                && (is_named || !kind.is_noise())
        });
        is_asked_for && !is_secret_kind(kind)
    };
    let preferred = served.preferred.iter().map(|one| &one.kind);
    let others = served.others.iter().map(|one| &one.kind);
    let asked_for = preferred.clone().filter(is_asked_for);
    let synced = preferred.chain(others).filter(|kind| effect.syncs(kind));
    let all: HashSet<&ResourceKind> = asked_for.chain(synced).collect();
    all.into_iter().cloned().collect()
}

impl Audit {
    /// Puts an object into the inventory, unless the configuration leaves it out.
    pub(crate) fn feed_inventory(&self, kind: &ResourceKind, object: &Value) {
        if self.effect().excludes(Process::Sync, object) {
            return;
        }
        let version = object["metadata"]["resourceVersion"].as_str();
        let entry = Entry {
            version: version.unwrap_or_default().to_owned(),
            is_listed: true,
        };
        let before = {
            let mut entries = self.inventory.lock();
            let of_kind = entries.entry(kind.clone()).or_default();
            of_kind.insert(key_of(object), entry.clone())
        };
        if before.is_none_or(|before| before.version != entry.version) {
            self.secrets.lock().insert(object);
            self.engine.write().set_object(object);
            self.enqueue_inventory();
        }
    }

    /// A list of a kind begins: what it does not bring is gone.
    pub(crate) fn begin_listing(&self, kind: &ResourceKind) {
        let mut entries = self.inventory.lock();
        for entry in entries
            .get_mut(kind)
            .into_iter()
            .flat_map(HashMap::values_mut)
        {
            entry.is_listed = false;
        }
    }

    /// An object is listed and cannot be decoded: what is known of it stays.
    pub(crate) fn keep_in_inventory(&self, kind: &ResourceKind, key: &ObjectKey) {
        let mut entries = self.inventory.lock();
        let entry = entries
            .get_mut(kind)
            .and_then(|of_kind| of_kind.get_mut(key));
        if let Some(entry) = entry {
            entry.is_listed = true;
        }
    }

    /// Removes what the list of a kind has not brought.
    pub(crate) fn drop_unlisted(&self, kind: &ResourceKind) {
        let unlisted: Vec<ObjectKey> = {
            let entries = self.inventory.lock();
            let of_kind = entries.get(kind).into_iter().flatten();
            let unlisted = of_kind.filter(|(_, entry)| !entry.is_listed);
            unlisted.map(|(key, _)| key.clone()).collect()
        };
        for key in &unlisted {
            self.delete_from_inventory(kind, key);
        }
    }

    /// Removes a deleted object from the inventory.
    pub(crate) fn delete_from_inventory(&self, kind: &ResourceKind, key: &ObjectKey) {
        let known = {
            let mut entries = self.inventory.lock();
            let of_kind = entries.get_mut(kind);
            of_kind.and_then(|of_kind| of_kind.remove(key))
        };
        if known.is_some() {
            self.engine.write().remove_object(&inventory_key(kind, key));
            self.forget_secret(kind, key);
            self.enqueue_inventory();
        }
    }

    /// Removes the objects of a kind that nobody asks for any more.
    pub(crate) fn forget_inventory(&self, kind: &ResourceKind) {
        let known = self.inventory.lock().remove(kind).unwrap_or_default();
        let mut engine = self.engine.write();
        for key in known.keys() {
            engine.remove_object(&inventory_key(kind, key));
            self.forget_secret(kind, key);
        }
    }

    fn forget_secret(&self, kind: &ResourceKind, key: &ObjectKey) {
        if is_secret_kind(kind) {
            self.secrets.lock().remove(key);
        }
    }

    fn enqueue_inventory(&self) {
        let window = self.inventory_pace.lock().window();
        self.queue.add_after(Work::Inventory, window);
    }

    /// Whether all kinds of the inventory have been listed.
    pub(crate) fn is_inventory_complete(&self) -> bool {
        let watches = self.kind_watches.lock();
        let mut feeding = watches
            .values()
            .filter(|watch| watch.duties.feeds_inventory);
        feeding.all(KindWatch::is_complete)
    }

    /// The kinds of the inventory.
    pub(crate) fn feeding_kinds(&self) -> HashSet<ResourceKind> {
        let watches = self.kind_watches.lock();
        let feeding = watches
            .iter()
            .filter(|(_, watch)| watch.duties.feeds_inventory);
        feeding.map(|(kind, _)| kind.clone()).collect()
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
            self.inventory_pace.lock().reviewed(Instant::now());
            self.queue.add(Work::Kinds);
        }
        Action::AwaitChange
    }
}

fn is_secret_kind(kind: &ResourceKind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
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
