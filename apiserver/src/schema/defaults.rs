//! Puts the defaults of a custom resource's schema where nothing is.

use serde_json::Value;

use super::MAX_DEPTH;
use super::model::{Edge, TypeId, Types};

/// Sets what is missing to its default, and takes away the `null`s of fields that cannot be `null`: where there is a
/// default it takes their place. Nulls in lists stay, for validation to refuse.
pub fn default(types: &Types, id: TypeId, value: &mut Value) {
    fill(types, id, value, 0);
}

/// Whether there is a `null` where none may be.
fn wrong_null(types: &Types, edge: &Edge, value: &Value) -> bool {
    value.is_null() && !types.node(edge.id).nullable
}

fn fill(types: &Types, id: TypeId, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let node = types.node(id);
    match value {
        Value::Object(object) => {
            for (name, edge) in &node.properties {
                let missing = object
                    .get(name)
                    .is_none_or(|inner| wrong_null(types, edge, inner));
                if let (true, Some(default)) = (missing, &edge.default) {
                    object.insert(name.clone(), default.clone());
                }
            }
            object.retain(|name, inner| {
                let Some(edge) = node.field(name) else {
                    return true;
                };
                if wrong_null(types, edge, inner) {
                    match &edge.default {
                        Some(default) => *inner = default.clone(),
                        None => return false,
                    }
                }
                let metadata = node.embedded && name == "metadata";
                if !metadata && matches!(inner, Value::Object(_) | Value::Array(_)) {
                    fill(types, edge.id, inner, depth + 1);
                }
                true
            });
        }
        Value::Array(list) => {
            let Some(items) = &node.items else {
                return;
            };
            for item in list {
                match &items.default {
                    Some(default) if wrong_null(types, items, item) => *item = default.clone(),
                    _ => {}
                }
                if matches!(item, Value::Object(_) | Value::Array(_)) {
                    fill(types, items.id, item, depth + 1);
                }
            }
        }
        _ => {}
    }
}
