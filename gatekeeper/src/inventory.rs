//! The objects that referential templates see as `data.inventory` (GK-112).

use std::collections::BTreeMap;

use crate::Json;
use crate::matching::{own_name, own_namespace};

/// An object's place in the inventory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InventoryKey {
    /// Empty for objects without a namespace.
    pub namespace: String,
    /// `v1` or `apps/v1`.
    pub group_version: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
}

impl InventoryKey {
    /// The place of an object; none when it has no `apiVersion`, `kind` or name.
    pub fn of(object: &Json) -> Option<Self> {
        let text = |value: &Json| {
            let text = value.as_str().unwrap_or_default();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let name = own_name(object);
        Some(Self {
            namespace: own_namespace(object).to_owned(),
            group_version: text(&object["apiVersion"])?,
            kind: text(&object["kind"])?,
            name: (!name.is_empty()).then(|| name.to_owned())?,
        })
    }
}

/// The synced objects, as values of the Rego engine.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    objects: BTreeMap<InventoryKey, regorus::Value>,
}

impl Inventory {
    /// Adds or replaces an object; false when it has no place.
    pub fn insert(&mut self, object: &Json) -> bool {
        let Some(key) = InventoryKey::of(object) else {
            return false;
        };
        self.objects.insert(key, crate::rego::to_value(object));
        true
    }

    /// Removes an object; false when it was not there.
    pub fn remove(&mut self, key: &InventoryKey) -> bool {
        self.objects.remove(key).is_some()
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.objects.clear();
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The document `data.inventory`.
    pub(crate) fn document(&self) -> regorus::Value {
        let mut root = regorus::Value::new_object();
        for (key, object) in &self.objects {
            let mut path = Vec::with_capacity(5);
            if key.namespace.is_empty() {
                path.push("cluster");
            } else {
                path.extend(["namespace", key.namespace.as_str()]);
            }
            path.extend([&key.group_version, &key.kind, &key.name].map(String::as_str));
            insert(&mut root, &path, object);
        }
        root
    }
}

fn insert(node: &mut regorus::Value, path: &[&str], object: &regorus::Value) {
    let [key, rest @ ..] = path else {
        *node = object.clone();
        return;
    };
    if let Ok(map) = node.as_object_mut() {
        let key = regorus::Value::from(*key);
        let mut child = map
            .get(&key)
            .cloned()
            .unwrap_or_else(regorus::Value::new_object);
        // The map must not hold the child while it changes: it would be copied.
        map.insert(key.clone(), regorus::Value::Null);
        insert(&mut child, rest, object);
        map.insert(key, child);
    }
}
