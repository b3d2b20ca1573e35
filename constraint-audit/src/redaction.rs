//! Takes the values of Secrets out of violations. A constraint that matches Secrets sees their values, and so does a referential
//! template where an administrator puts Secrets into the inventory. Statuses, events and refusals are read by others.

use std::collections::HashMap;

use reeve_gatekeeper::client::Violation;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::secrets::{self, Secrets};
use serde_json::Value;

use crate::resources::key_of;

/// The values of the Secrets in the inventory.
#[derive(Debug, Default)]
pub(crate) struct InventorySecrets {
    by_key: HashMap<ObjectKey, Secrets>,
    /// The values of all; absent when they have changed.
    all: Option<Secrets>,
}

impl InventorySecrets {
    /// An object is put into the inventory.
    pub(crate) fn insert(&mut self, object: &Value) {
        if is_secret(object) {
            self.by_key.insert(key_of(object), values_of(object));
            self.all = None;
        }
    }

    /// A Secret is removed from the inventory.
    pub(crate) fn remove(&mut self, key: &ObjectKey) {
        if self.by_key.remove(key).is_some() {
            self.all = None;
        }
    }

    /// The values of all Secrets.
    pub(crate) fn values(&mut self) -> Secrets {
        let all = self
            .all
            .get_or_insert_with(|| self.by_key.values().cloned().collect());
        all.clone()
    }
}

/// Whether an object is a Secret.
fn is_secret(object: &Value) -> bool {
    object["apiVersion"] == "v1" && object["kind"] == "Secret"
}

/// The values that violations by an object must not show: its own if it is a Secret.
fn values_of(object: &Value) -> Secrets {
    if !is_secret(object) {
        return Secrets::default();
    }
    // A message names its object, also where a value of the Secret is the same text.
    let names: Vec<String> = secrets::own_names(object).collect();
    let values = secrets::of_object(object).filter(|value| !names.contains(value));
    values.collect()
}

/// Replaces values in the messages of violations: those of the inventory, and those of the reviewed objects. Details are not
/// published.
pub(crate) fn redact<'a>(
    inventory: &Secrets,
    reviewed: impl IntoIterator<Item = &'a Value>,
    violations: &mut [Violation],
) {
    // Most objects comply: their values are not decoded.
    if violations.is_empty() {
        return;
    }
    let union = |all: Secrets, object| all.union(&values_of(object));
    let secrets = reviewed.into_iter().fold(inventory.clone(), union);
    for violation in violations {
        violation.message = secrets.redact(&violation.message);
    }
}
