//! The merge itself, with the directives that kyaml understands: `$patch: delete` and `$patch: replace`. Other words with `$` are keys.

use reeve_go_compat::value::{Key, List, Map, Value};
use reeve_go_compat::yaml;

use super::schema::{Merging, Node};
use crate::error::Error;
use crate::values::{NodeKind, text_of};

/// The key of a directive.
pub(super) const DIRECTIVE: &str = "$patch";

/// The object with a patch applied; `None` if the patch deletes it.
pub(super) fn merged_object(
    object: &Map,
    patch: &Map,
    schema: &Node,
) -> Result<Option<Map>, Error> {
    merged_map(Some(object), patch, schema)
}

/// The value of a `$patch` that kyaml does not know. It does not look into lists that replace.
pub(super) fn unknown_directive(patch: &Map, schema: &Node) -> Option<String> {
    const KNOWN: [&str; 3] = ["delete", "merge", "replace"];
    let in_element = |element: &Value, schema: &Node| match element {
        Value::Map(map) => unknown_directive(map, schema),
        _ => None,
    };
    patch.entries().iter().find_map(|(key, value)| {
        let Key::Str(name) = key else { return None };
        let name = name.lossy();
        if name == DIRECTIVE {
            let word = text_of(value);
            return (!KNOWN.contains(&word.as_str())).then_some(word);
        }
        match (value, schema.field(&name)) {
            (Value::Map(map), (child, _)) => unknown_directive(map, &child),
            (Value::List(list), (child, Some(_))) => {
                list.iter().find_map(|element| in_element(element, &child))
            }
            _ => None,
        }
    })
}

/// The value with a patch applied. kustomize merges no value into one of another kind.
fn merged(
    own: Option<&Value>,
    patch: &Value,
    schema: &Node,
    merging: Option<&Merging>,
) -> Result<Option<Value>, Error> {
    let own = own.filter(|own| !own.is_nil());
    let expected = own.map(NodeKind::of);
    match (patch, expected) {
        (Value::Nil, _) => return Ok(None),
        (patch, Some(expected)) if NodeKind::of(patch) != expected => {
            return Err(expected.instead_of(patch));
        }
        _ => {}
    }
    match (patch, merging) {
        (Value::Map(patch), _) => {
            let own = match own {
                Some(Value::Map(map)) => Some(map),
                _ => None,
            };
            Ok(merged_map(own, patch, schema)?.map(Value::Map))
        }
        (Value::List(patch), Some(merging)) => {
            let own = match own {
                Some(Value::List(list)) => Some(list.to_vec()),
                _ => None,
            };
            merged_list(own, patch, schema, merging)
        }
        (scalar, _) => Ok(Some(styled(own, scalar))),
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

fn merged_map(own: Option<&Map>, patch: &Map, schema: &Node) -> Result<Option<Map>, Error> {
    let result = Map::dict();
    match directive(patch).as_deref() {
        Some("delete") => return Ok(None),
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
        match merged(result.get(&key).as_ref(), &value, &child, merging.as_ref())? {
            Some(value) => {
                result.insert(key, value);
            }
            None => {
                result.remove(&key);
            }
        }
    }
    Ok(Some(result))
}

/// The elements of the object and of the patch; `None` if an element of the patch deletes the list.
fn merged_list(
    own: Option<Vec<Value>>,
    patch: &List,
    element: &Node,
    merging: &Merging,
) -> Result<Option<Value>, Error> {
    let mut of_patch = patch.to_vec();
    let is_new = own.is_none();
    let mut kept = own.unwrap_or_default();
    let first = of_patch.iter().find(|value| is_any_directed(value));
    match first.and_then(list_directive).as_deref() {
        Some("delete") => return Ok(None),
        Some(word) => {
            if word == "replace" {
                kept.clear();
            }
            of_patch.retain(|value| !is_directed(value, word));
        }
        // Behind an element with a directive of its own, one for the list drops what the object has.
        None if of_patch.iter().any(|value| list_directive(value).is_some()) => {
            kept.clear();
            of_patch.retain(|value| list_directive(value).is_none());
        }
        None => {}
    }
    check_elements(&kept, &of_patch, merging, is_new)?;
    if matches!(merging, Merging::Keys(_)) && !is_new && of_patch.iter().any(|value| !is_map(value))
    {
        // kyaml finds no elements by their keys then.
        return Ok(Some(match merging {
            Merging::Keys(keys) if keys.len() > 1 => Value::list(kept),
            _ => Value::list([]),
        }));
    }
    let of_patch: Vec<&Value> = of_patch.iter().collect();
    let used = match merging {
        Merging::Keys(keys) if keys.len() > 1 => Merging::Keys(keys_in_use(keys, &kept, &of_patch)),
        _ => merging.clone(),
    };
    let merged = match &used {
        Merging::Keys(keys) if keys.len() > 1 && !is_new && !has_any(&kept, &of_patch, keys) => {
            Value::list(kept)
        }
        Merging::Keys(keys) if keys.len() > 1 => {
            merged_by_keys(&kept, &of_patch, element, keys, is_new)?
        }
        used => merged_by_key(&kept, &of_patch, element, used)?,
    };
    Ok(Some(merged))
}

fn is_map(value: &Value) -> bool {
    matches!(value, Value::Map(_))
}

/// Lists that merge by keys have maps, and those that merge by values have none.
fn check_elements(
    own: &[Value],
    patch: &[Value],
    merging: &Merging,
    is_new: bool,
) -> Result<(), Error> {
    let expected = match merging {
        Merging::Keys(_) => NodeKind::Mapping,
        Merging::Values => NodeKind::Scalar,
    };
    let is_wrong = |value: &&Value| !value.is_nil() && NodeKind::of(value) != expected;
    let of_patch = |value: &&Value| match merging {
        _ if is_new => true,
        Merging::Keys(_) => false,
        Merging::Values => !own.is_empty() && !is_any_directed(value),
    };
    let mut all = own.iter().chain(patch.iter().filter(of_patch));
    match all.find(is_wrong) {
        Some(wrong) => Err(expected.instead_of(wrong)),
        None => Ok(()),
    }
}

/// Whether any element has any of the keys.
fn has_any(own: &[Value], patch: &[&Value], keys: &[String]) -> bool {
    let mut elements = own.iter().chain(patch.iter().copied());
    elements.any(|element| keys.iter().any(|key| key_of(element, key).is_some()))
}

/// The keys that at least one element has; all of them if none has any. Two ports without a protocol differ by their numbers alone.
fn keys_in_use(keys: &[String], own: &[Value], patch: &[&Value]) -> Vec<String> {
    let has = |key: &&String| {
        let mut elements = own.iter().chain(patch.iter().copied());
        elements.any(|element| key_of(element, key).is_some())
    };
    let used: Vec<String> = keys.iter().filter(has).cloned().collect();
    if used.is_empty() { keys.to_vec() } else { used }
}

fn key_of(element: &Value, key: &str) -> Option<Value> {
    match element {
        Value::Map(map) => map.get_str(key).filter(Value::truth),
        _ => None,
    }
}

/// The elements of the patch, merged with those of the object that they match, then the others of the object.
fn merged_by_key(
    own: &[Value],
    patch: &[&Value],
    element: &Node,
    merging: &Merging,
) -> Result<Value, Error> {
    let mut rest: Vec<Option<Value>> = own.iter().cloned().map(Some).collect();
    let mut first = Vec::new();
    for value in patch {
        let matching = |own: &Option<Value>| {
            let own = own.as_ref();
            own.is_some_and(|own| matches(own, value, merging))
        };
        let position = rest.iter().position(matching);
        match position.and_then(|position| rest.get_mut(position)) {
            // Upstream's kyaml leaves the element as it is.
            Some(found) if is_directed(value, "replace") => first.extend(found.take()),
            Some(found) => first.extend(merged(found.take().as_ref(), value, element, None)?),
            None => first.extend(merged(None, value, element, None)?),
        }
    }
    Ok(Value::list(
        first.into_iter().chain(rest.into_iter().flatten()),
    ))
}

/// The new elements of the patch, then those of the object, of which those that the patch has in all keys are merged where they are. kyaml
/// puts the elements of the object behind those of the patch again, in place of all that agree with them in the keys that both have: such
/// an element of the patch is lost. In a new list, an element whose second key is null stays as the patch has it beside another one with the
/// same first key.
fn merged_by_keys(
    own: &[Value],
    patch: &[&Value],
    element: &Node,
    keys: &[String],
    is_new: bool,
) -> Result<Value, Error> {
    let mut rest: Vec<Option<Value>> = own.iter().cloned().map(Some).collect();
    let mut first = Vec::new();
    for value in patch {
        let is_same = |own: &Value| {
            let lacks = |key| key_of(own, key).is_none() && key_of(value, key).is_none();
            keys.iter()
                .all(|key| is_same_key(own, value, key).unwrap_or_else(|| lacks(key)))
        };
        let agrees = |own: &Value| {
            keys.iter()
                .all(|key| is_same_key(own, value, key).unwrap_or(true))
        };
        let is_whole = keys.iter().all(|key| key_of(value, key).is_some());
        let is_other = |other: &&Value| !other.deep_equal(value) && agrees(other);
        let is_lost = rest.iter().flatten().any(agrees);
        let mut same = rest
            .iter_mut()
            .filter(|own| own.as_ref().is_some_and(is_same));
        match same.next() {
            Some(_) if is_directed(value, "replace") => {}
            Some(_) if is_directed(value, "delete") && !is_whole => {}
            Some(found) => *found = merged(found.take().as_ref(), value, element, None)?,
            None if is_lost => {}
            None if is_new && has_null_key(value, keys) && patch.iter().any(is_other) => {
                first.push((*value).clone());
            }
            None => first.extend(merged(None, value, element, None)?),
        }
    }
    Ok(Value::list(
        first.into_iter().chain(rest.into_iter().flatten()),
    ))
}

/// What an element of a patch says of the list that it is in.
fn list_directive(value: &Value) -> Option<String> {
    match value {
        Value::Map(map) if map.len() == 1 => directive(map),
        _ => None,
    }
}

fn is_any_directed(value: &Value) -> bool {
    matches!(value, Value::Map(map) if directive(map).is_some())
}

fn is_directed(value: &Value, by: &str) -> bool {
    matches!(value, Value::Map(map) if directive(map).as_deref() == Some(by))
}

/// Whether an element of the patch is for one of the object, in a list that merges by values or by one key.
fn matches(own: &Value, patch: &Value, merging: &Merging) -> bool {
    match merging {
        Merging::Values => own.deep_equal(patch),
        Merging::Keys(keys) => keys
            .iter()
            .all(|key| is_same_key(own, patch, key) == Some(true)),
    }
}

/// Whether an element has one of the keys without a value.
fn has_null_key(element: &Value, keys: &[String]) -> bool {
    let Value::Map(map) = element else {
        return false;
    };
    keys.iter()
        .any(|key| map.get_str(key).is_some_and(|value| value.is_nil()))
}

/// Whether two elements have the same value of a key; none if one of them has none.
fn is_same_key(own: &Value, patch: &Value, key: &str) -> Option<bool> {
    Some(key_of(own, key)?.deep_equal(&key_of(patch, key)?))
}

fn directive(map: &Map) -> Option<String> {
    match map.get_str(DIRECTIVE) {
        Some(Value::Str(text)) => Some(text.lossy().into_owned()),
        _ => None,
    }
}
