//! Lists of objects, such as `kubectl get -o yaml` writes them.

use std::collections::VecDeque;

use reeve_go_compat::value::{Map, Value};

use crate::error::Error;
use crate::messages;
use crate::values::text_field;

/// Whether an object is a list: its kind ends in `List`, and it has items.
pub(super) fn is_list(object: &Map) -> bool {
    let kind = text_field(object, "kind").unwrap_or_default();
    kind.ends_with("List") && object.get_str("items").is_some()
}

/// The objects with those of lists in place of the lists. As kustomize opens lists, their objects come after all others.
pub(super) fn opened(objects: Vec<Map>) -> Result<Vec<Map>, Error> {
    let mut rest = VecDeque::from(objects);
    let mut opened = Vec::with_capacity(rest.len());
    while let Some(object) = rest.pop_front() {
        if !is_list(&object) {
            opened.push(object);
            continue;
        }
        match object.get_str("items") {
            None | Some(Value::Nil) => {}
            Some(Value::List(items)) => {
                for item in items.iter() {
                    match item {
                        Value::Map(map) if map.is_dict() => rest.push_back(map.clone()),
                        _ => return Err(Error::new(messages::NOT_AN_OBJECT)),
                    }
                }
            }
            Some(_) => return Err(Error::new(messages::ITEMS_NOT_A_LIST)),
        }
    }
    Ok(opened)
}
