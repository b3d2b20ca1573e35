//! Prunes the fields that a type does not declare, and returns their paths.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::model::{Additional, Node, Special, TypeId, Types};

/// Prunes unknown fields and returns their paths as the API server writes them (`spec.containers[0].bar`): of the
/// object's metadata first, then of all else by name, then of the metadata of embedded resources.
pub fn prune(types: &Types, id: TypeId, value: &mut Value) -> Vec<String> {
    let mut pruner = Pruner {
        types,
        path: String::new(),
        unknown: Vec::new(),
        first: Vec::new(),
        last: Vec::new(),
    };
    pruner.value(id, value, 0);
    let mut all = pruner.first;
    all.append(&mut pruner.unknown);
    all.append(&mut pruner.last);
    all
}

struct Pruner<'a> {
    types: &'a Types,
    path: String,
    unknown: Vec<String>,
    first: Vec<String>,
    last: Vec<String>,
}

impl Pruner<'_> {
    fn value(&mut self, id: TypeId, value: &mut Value, depth: usize) {
        let node = self.types.node(id);
        if depth > MAX_DEPTH || node.special == Special::Raw {
            return;
        }
        match value {
            Value::Object(object) => self.object(node, object, depth),
            Value::Array(list) => {
                let Some(items) = &node.items else {
                    return;
                };
                let length = self.path.len();
                for (index, item) in list.iter_mut().enumerate() {
                    if matches!(item, Value::Object(_) | Value::Array(_)) {
                        let _ = write!(self.path, "[{index}]");
                        self.value(items.id, item, depth + 1);
                        self.path.truncate(length);
                    }
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, node: &Node, object: &mut Map<String, Value>, depth: usize) {
        let length = self.path.len();
        let mut gone = Vec::new();
        for (key, inner) in object.iter_mut() {
            let edge = node.properties.get(key).or(match &node.additional {
                Additional::Of(edge) => Some(edge),
                _ => None,
            });
            let structure = matches!(inner, Value::Object(_) | Value::Array(_));
            match edge {
                Some(_) if !structure => {}
                Some(edge) => {
                    self.step(key);
                    if node.embedded && key == "metadata" {
                        self.metadata(edge.id, inner, depth);
                    } else {
                        self.value(edge.id, inner, depth + 1);
                    }
                }
                None if node.preserve_unknown || matches!(node.additional, Additional::Any) => {}
                None => {
                    self.step(key);
                    self.unknown.push(self.path.clone());
                    gone.push(key.clone());
                }
            }
            self.path.truncate(length);
        }
        for key in gone {
            object.remove(&key);
        }
    }

    /// The API server reports metadata of custom resources separately.
    fn metadata(&mut self, id: TypeId, value: &mut Value, depth: usize) {
        let before = std::mem::take(&mut self.unknown);
        self.value(id, value, depth + 1);
        let found = std::mem::replace(&mut self.unknown, before);
        if depth == 0 {
            self.first.extend(found);
        } else {
            self.last.extend(found);
        }
    }

    fn step(&mut self, key: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
    }
}
