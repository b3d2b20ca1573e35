//! The objects that referential templates see as `data.inventory` (GK-112).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::Json;
use crate::matching::{own_name, own_namespace};
use crate::template::SyncRequirement;

/// An object's place in the inventory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
        self.objects
            .insert(key, crate::rego::to_object_value(object));
        true
    }

    /// Removes an object; false when it was not there.
    pub fn remove(&mut self, key: &InventoryKey) -> bool {
        self.objects.remove(key).is_some()
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

/// The kinds of the inventory that a source names: a part of the path that is a variable may be anything.
pub(crate) fn references(source: &str) -> Vec<SyncRequirement> {
    static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let part = r#"\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*(?:"([^"]*)"|[^\]]*)\s*\])"#;
        let pattern = format!(
            r"data\s*\.\s*inventory\s*\.\s*(?:cluster|namespace(?:{part}))(?:{part})?(?:{part})?"
        );
        Regex::new(&pattern).ok()
    });
    let any = || vec!["*".to_owned()];
    let Some(reference) = &*REFERENCE else {
        return Vec::new();
    };
    let captures = reference.captures_iter(source);
    captures
        .map(|found| {
            let part = |at: usize| found.get(at).or_else(|| found.get(at + 1));
            let (groups, versions) = match part(3).map(|part| part.as_str()) {
                None => (any(), any()),
                Some(group_version) => {
                    let (group, version) = group_version
                        .rsplit_once('/')
                        .unwrap_or(("", group_version));
                    (vec![group.to_owned()], vec![version.to_owned()])
                }
            };
            let kinds = part(5).map_or_else(any, |kind| vec![kind.as_str().to_owned()]);
            SyncRequirement {
                groups,
                versions,
                kinds,
            }
        })
        .collect()
}

#[cfg(test)]
mod reference_tests {
    use super::references;

    fn shown(source: &str) -> Vec<String> {
        references(source)
            .iter()
            .map(|one| format!("{}/{} {}", one.groups[0], one.versions[0], one.kinds[0]))
            .collect()
    }

    #[test]
    fn literal_parts_of_an_inventory_path_are_read() {
        let source = r#"
            other := data.inventory.namespace[ns]["networking.k8s.io/v1"]["Ingress"][name]
            data.inventory.cluster["v1"].Namespace[name]
            data.inventory.namespace[_][version].Service[name]
            data.inventory.cluster[_][_][_]
            data.inventory.namespace.shop["apps/v1"]["Deployment"]
        "#;
        assert_eq!(
            shown(source),
            [
                "networking.k8s.io/v1 Ingress",
                "/v1 Namespace",
                "*/* Service",
                "*/* *",
                "apps/v1 Deployment"
            ]
        );
    }

    #[test]
    fn path_that_names_nothing_may_be_anything() {
        assert_eq!(shown("x := data.inventory.cluster"), ["*/* *"]);
        assert!(shown("x := input.review.object").is_empty());
    }
}
