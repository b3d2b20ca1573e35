//! The merge itself, with the directives that kyaml understands: `$patch: delete` and `$patch: replace`. Other words with `$` are keys.

use reeve_go_compat::value::{Key, List, Map, Value};
use reeve_go_compat::yaml;

use super::schema::{Merging, Node};

const DIRECTIVE: &str = "$patch";

/// The object with a patch applied; `None` if the patch deletes it.
pub(super) fn merged_object(object: &Map, patch: &Map, schema: &Node) -> Option<Map> {
    merged_map(Some(object), patch, schema)
}

fn merged(
    own: Option<&Value>,
    patch: &Value,
    schema: &Node,
    merging: Option<&Merging>,
) -> Option<Value> {
    match (patch, merging) {
        (Value::Nil, _) => None,
        (Value::Map(patch), _) => {
            let own = match own {
                Some(Value::Map(map)) => Some(map),
                _ => None,
            };
            merged_map(own, patch, schema).map(Value::Map)
        }
        (Value::List(patch), Some(merging)) => {
            let own = match own {
                Some(Value::List(list)) => list.to_vec(),
                _ => Vec::new(),
            };
            Some(merged_list(&own, patch, schema, merging))
        }
        (scalar, _) => Some(styled(own, scalar)),
    }
}

/// kyaml writes a scalar in the style of the one that it replaces: what replaces quoted text is text.
fn styled(own: Option<&Value>, scalar: &Value) -> Value {
    let is_plain = |value: &Value| {
        let written = yaml::encode(value).unwrap_or_default();
        !matches!(written.first(), Some(b'"' | b'\'' | b'|'))
    };
    match (own, scalar) {
        (
            Some(own @ Value::Str(_)),
            Value::Bool(_) | Value::Int(_) | Value::Uint64(_) | Value::Float(_),
        ) if !is_plain(own) => {
            let written = yaml::encode(scalar).unwrap_or_default();
            Value::str(String::from_utf8_lossy(&written).trim_end())
        }
        _ => scalar.clone(),
    }
}

fn merged_map(own: Option<&Map>, patch: &Map, schema: &Node) -> Option<Map> {
    let result = Map::dict();
    match directive(patch).as_deref() {
        Some("delete") => return None,
        Some("replace") => {}
        _ => {
            for (key, value) in own.into_iter().flat_map(Map::entries) {
                result.insert(key, value);
            }
        }
    }
    for (key, value) in patch.entries() {
        let Key::Str(name) = &key else {
            continue;
        };
        let name = name.lossy();
        if name == DIRECTIVE {
            continue;
        }
        let (child, merging) = schema.field(&name);
        match merged(result.get(&key).as_ref(), &value, &child, merging.as_ref()) {
            Some(value) => {
                result.insert(key, value);
            }
            None => {
                result.remove(&key);
            }
        }
    }
    Some(result)
}

/// The elements of the patch, merged with those of the object that they match, then the others of the object. Where two fields are the
/// key, kyaml leaves elements that match where they are, and puts only new ones first.
fn merged_list(own: &[Value], patch: &List, element: &Node, merging: &Merging) -> Value {
    let of_patch = patch.to_vec();
    let replaced = of_patch.iter().any(replaces);
    let mut rest: Vec<Option<Value>> = if replaced {
        Vec::new()
    } else {
        own.iter().cloned().map(Some).collect()
    };
    let stays = matches!(merging, Merging::Keys(keys) if keys.len() > 1);
    let mut first = Vec::new();
    for value in of_patch.iter().filter(|value| !replaces(value)) {
        let matching = |own: &Option<Value>| {
            let own = own.as_ref();
            own.is_some_and(|own| matches(own, value, merging))
        };
        let position = rest.iter().position(matching);
        match position.and_then(|position| rest.get_mut(position)) {
            // Upstream's kyaml leaves the element as it is.
            Some(found) if is_directed(value, "replace") => {
                if !stays {
                    first.extend(found.take());
                }
            }
            Some(found) => {
                let result = merged(found.as_ref(), value, element, None);
                *found = None;
                if stays {
                    *found = result;
                } else {
                    first.extend(result);
                }
            }
            None => first.extend(merged(None, value, element, None)),
        }
    }
    Value::list(first.into_iter().chain(rest.into_iter().flatten()))
}

/// Whether an element of a patch says that the list is replaced by the other elements.
fn replaces(value: &Value) -> bool {
    is_directed(value, "replace") && matches!(value, Value::Map(map) if map.len() == 1)
}

fn is_directed(value: &Value, by: &str) -> bool {
    matches!(value, Value::Map(map) if directive(map).as_deref() == Some(by))
}

fn matches(own: &Value, patch: &Value, merging: &Merging) -> bool {
    let keys = match (merging, own, patch) {
        (Merging::Values, _, _) => return own.deep_equal(patch),
        (Merging::Keys(keys), Value::Map(_), Value::Map(_)) => keys,
        (Merging::Keys(_), _, _) => return false,
    };
    let (Value::Map(own), Value::Map(patch)) = (own, patch) else {
        return false;
    };
    // A key that the patch leaves out matches any.
    let mut given = keys
        .iter()
        .filter_map(|key| Some((key, patch.get_str(key).filter(Value::truth)?)))
        .peekable();
    given.peek().is_some()
        && given.all(|(key, value)| own.get_str(key).is_some_and(|own| own.deep_equal(&value)))
}

fn directive(map: &Map) -> Option<String> {
    match map.get_str(DIRECTIVE) {
        Some(Value::Str(text)) => Some(text.lossy().into_owned()),
        _ => None,
    }
}
