//! Dropping deeply nested values without recursion: an author's text may nest them ten thousand
//! levels deep, which no thread's stack need survive.

use super::Value;

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}

/// Takes the containers out of a container that is about to be dropped, and those out of them,
/// as far as nobody else holds them.
pub(super) fn release<'a>(items: impl Iterator<Item = &'a mut Value>) {
    let mut pending = Vec::new();
    take_containers(items, &mut pending);
    while let Some(mut value) = pending.pop() {
        match &mut value {
            Value::List(list) => {
                if let Some(items) = list.sole_items() {
                    take_containers(items.iter_mut(), &mut pending);
                }
            }
            Value::Map(map) => {
                if let Some(entries) = map.sole_entries() {
                    take_containers(entries.values_mut(), &mut pending);
                }
            }
            _ => {}
        }
    }
}

fn take_containers<'a>(items: impl Iterator<Item = &'a mut Value>, pending: &mut Vec<Value>) {
    for item in items {
        if is_container(item) {
            pending.push(std::mem::replace(item, Value::Nil));
        }
    }
}
