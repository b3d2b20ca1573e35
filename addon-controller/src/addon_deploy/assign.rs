//! Assigns objects to works.

use std::collections::HashMap;

use serde_json::Value;

use crate::identity::Identity;

/// The limit of the objects of one work, in bytes of JSON: four fifths of OCM's limit for a work.
pub const LIMIT: usize = 500 * 1024 * 4 / 5;

/// Spreads objects over works. An object of a work stays there, in its order, and one that is no longer desired is
/// removed; new objects are appended in their own order to the last work, and to further ones when that is full. A
/// work may end empty.
pub fn assign(present: &[&[Identity]], objects: Vec<Value>, limit: usize) -> Vec<Vec<Value>> {
    let mut order = Vec::with_capacity(objects.len());
    let mut by_name = HashMap::with_capacity(objects.len());
    for object in objects {
        let name = Identity::of(&object);
        order.push(name.clone());
        by_name.insert(name, object);
    }
    let mut works: Vec<Vec<Value>> = present
        .iter()
        .map(|layout| {
            let kept = layout.iter().filter_map(|name| by_name.remove(name));
            kept.collect()
        })
        .collect();
    let size = |object: &Value| object.to_string().len();
    let mut filled = works.last().map_or(0, |work| work.iter().map(size).sum());
    for name in order {
        let Some(object) = by_name.remove(&name) else {
            continue;
        };
        let added = size(&object);
        let is_full = works
            .last()
            .is_none_or(|work| !work.is_empty() && filled + added > limit);
        if is_full {
            works.push(Vec::new());
            filled = 0;
        }
        filled += added;
        if let Some(work) = works.last_mut() {
            work.push(object);
        }
    }
    works
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
    }

    fn spread(present: &[&[&str]], wanted: &[&str], limit: usize) -> Vec<Vec<String>> {
        let present: Vec<Vec<Identity>> = present
            .iter()
            .map(|layout| {
                layout
                    .iter()
                    .map(|name| Identity::of(&object(name)))
                    .collect()
            })
            .collect();
        let present: Vec<&[Identity]> = present.iter().map(Vec::as_slice).collect();
        let works = assign(
            &present,
            wanted.iter().map(|name| object(name)).collect(),
            limit,
        );
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        works
            .iter()
            .map(|work| work.iter().map(name).collect())
            .collect()
    }

    #[test]
    fn addon_63_new_objects_keep_their_order_and_existing_ones_their_place() {
        assert_eq!(spread(&[], &["a", "b", "c"], LIMIT), [["a", "b", "c"]]);
        let changed = spread(&[&["c", "gone", "a"]], &["a", "b", "c", "d"], LIMIT);
        assert_eq!(changed, [["c", "a", "b", "d"]]);
    }

    #[test]
    fn full_work_is_followed_by_another_and_no_object_moves() {
        let size = object("a").to_string().len();
        let two = 2 * size;
        assert_eq!(
            spread(&[], &["a", "b", "c"], two),
            [vec!["a", "b"], vec!["c"]]
        );
        let grown = spread(&[&["a", "b"], &["c"]], &["a", "b", "c", "d", "e"], two);
        assert_eq!(grown, [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
        let shrunk = spread(&[&["a", "b"], &["c"]], &["a"], two);
        assert_eq!(shrunk, [vec!["a".to_owned()], vec![]]);
        // An object that is too large for any work gets its own; the API server may accept it.
        assert_eq!(spread(&[], &["a", "b"], 1), [["a"], ["b"]]);
    }
}
