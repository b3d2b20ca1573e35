//! JSON patches (RFC 6902) as kustomize applies them: negative indices count from the end, and what is replaced may be missing in a map.

use reeve_go_compat::runes::quote;
use serde_json::{Map, Value};

use super::trees::MAX_DEPTH;
use crate::error::Error;
use crate::messages;

/// The most that the operations of one patch copy, in bytes of JSON: each copy may double an object. Kubernetes takes no larger one than
/// 1.5 MiB.
const MAX_COPIED: usize = 4 << 20;

/// A list of operations.
pub(super) struct JsonPatch(Vec<Map<String, Value>>);

/// Where an operation works: in a map or a list, at a key.
struct Place<'a> {
    holder: &'a mut Value,
    key: String,
    /// How many maps and lists are around it.
    depth: usize,
}

impl JsonPatch {
    /// A list of operations; otherwise what JSON this is.
    pub(super) fn read(json: Value) -> Result<Self, Error> {
        let unread = |value: &Value, of: &str| {
            let is = match value {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            Error::new(messages::unread_operations(is, of))
        };
        let operations = match json {
            Value::Array(operations) => operations,
            Value::Null => Vec::new(),
            other => return Err(unread(&other, "Patch")),
        };
        let operations = operations.into_iter().map(|operation| match operation {
            Value::Object(operation) => Ok(operation),
            Value::Null => Ok(Map::new()),
            other => Err(unread(&other, "Operation")),
        });
        Ok(Self(operations.collect::<Result<_, _>>()?))
    }

    /// Changes an object.
    pub(super) fn apply(&self, object: &mut Value) -> Result<(), Error> {
        let mut copied = 0;
        for operation in &self.0 {
            match operation.get("op").and_then(Value::as_str) {
                Some("add") => add(object, operation),
                Some("remove") => remove(object, operation),
                Some("replace") => replace(object, operation),
                Some("test") => test(object, operation),
                Some("move") => shift(object, operation),
                Some("copy") => copy(object, operation, &mut copied),
                other => Err(messages::unknown_operation(other.unwrap_or("unknown"))),
            }
            .map_err(Error::new)?;
        }
        Ok(())
    }
}

fn path_of<'a>(operation: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    let path = operation.get("path").and_then(Value::as_str);
    path.ok_or_else(|| messages::operation_without_path(name))
}

fn from_of<'a>(operation: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    let path = operation.get("from").and_then(Value::as_str);
    path.ok_or_else(|| messages::operation_without_from(name))
}

fn value_of(operation: &Map<String, Value>) -> Value {
    operation.get("value").cloned().unwrap_or_default()
}

/// The place of a path; none where something on the way is neither a map nor a list. What is before the first slash does not count, unless
/// there is no slash.
fn find<'a>(object: &'a mut Value, path: &str) -> Option<Place<'a>> {
    let (parents, key) = path.rsplit_once('/')?;
    let mut holder = object;
    for part in parents.split('/').skip(1) {
        let part = unescaped(part);
        holder = match holder {
            Value::Object(map) => map.get_mut(&part)?,
            Value::Array(list) => {
                let index = existing(list.len(), &part).ok()?;
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    let key = unescaped(key);
    let depth = parents.split('/').count();
    (holder.is_object() || holder.is_array()).then_some(Place { holder, key, depth })
}

/// How many maps and lists are within one another.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(list) => open.extend(list.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    deepest
}

fn unescaped(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

/// An index as it is written.
fn index(key: &str) -> Result<i64, String> {
    let digits = key.strip_prefix(['+', '-']).unwrap_or(key);
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number {
        return Err(messages::unparsed_index(&quote(key), "invalid syntax"));
    }
    let range = |_| messages::unparsed_index(&quote(key), "value out of range");
    key.parse().map_err(range)
}

/// The position that an index means among this many.
fn position(index: i64, count: usize) -> Result<usize, String> {
    let invalid = || messages::invalid_index(index);
    let back = usize::try_from(index.unsigned_abs()).map_err(|_| invalid())?;
    let position = if index < 0 {
        count.checked_sub(back)
    } else {
        Some(back).filter(|at| *at < count)
    };
    position.ok_or_else(invalid)
}

/// The position of an element that is there.
fn existing(count: usize, key: &str) -> Result<usize, String> {
    position(index(key)?, count)
}

impl Place<'_> {
    /// Each copy may double the depth of an object.
    fn check_depth(&self, value: &Value) -> Result<(), String> {
        if self.depth + depth(value) > MAX_DEPTH {
            return Err(messages::too_deep(MAX_DEPTH));
        }
        Ok(())
    }

    /// The value; null for a key that a map does not have.
    fn get(&self) -> Result<Value, String> {
        match &*self.holder {
            Value::Array(list) => {
                let at = existing(list.len(), &self.key)?;
                Ok(list.get(at).cloned().unwrap_or_default())
            }
            other => Ok(other.get(&self.key).cloned().unwrap_or_default()),
        }
    }

    fn insert(self, value: Value) -> Result<(), String> {
        self.check_depth(&value)?;
        match self.holder {
            Value::Array(list) if self.key == "-" => list.push(value),
            Value::Array(list) => {
                let index = index(&self.key)
                    .map_err(|error| messages::improper_index(&self.key, &error))?;
                let at = position(index, list.len() + 1)?;
                list.insert(at, value);
            }
            Value::Object(map) => {
                map.insert(self.key, value);
            }
            _ => {}
        }
        Ok(())
    }

    fn take(self) -> Result<(), String> {
        match self.holder {
            Value::Array(list) => {
                let at = existing(list.len(), &self.key)?;
                list.remove(at);
            }
            Value::Object(map) => {
                let missing = || messages::nothing_to_remove(&self.key);
                map.remove(&self.key).ok_or_else(missing)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn add(object: &mut Value, operation: &Map<String, Value>) -> Result<(), String> {
    let path = path_of(operation, "add")?;
    let place = find(object, path);
    let place = place.ok_or_else(|| messages::no_place("add", &quote(path)))?;
    let failed = |error: String| messages::failed_operation("add", path, &error);
    place.insert(value_of(operation)).map_err(failed)
}

fn remove(object: &mut Value, operation: &Map<String, Value>) -> Result<(), String> {
    let path = path_of(operation, "remove")?;
    let place = find(object, path);
    let place = place.ok_or_else(|| messages::no_place("remove", &quote(path)))?;
    let failed = |error: String| messages::failed_operation("remove", path, &error);
    place.take().map_err(failed)
}

fn replace(object: &mut Value, operation: &Map<String, Value>) -> Result<(), String> {
    let path = path_of(operation, "replace")?;
    if path.is_empty() {
        let value = value_of(operation);
        if !value.is_object() && !value.is_array() {
            return Err(messages::SCALAR_FOR_OBJECT.to_owned());
        }
        *object = value;
        return Ok(());
    }
    let missing = |_| messages::no_key("replace", path);
    let place = find(object, path).ok_or_else(|| messages::no_place("replace", path))?;
    place.get().map_err(missing)?;
    place.check_depth(&value_of(operation))?;
    match place.holder {
        Value::Array(list) => {
            let at = existing(list.len(), &place.key).map_err(missing)?;
            if let Some(element) = list.get_mut(at) {
                *element = value_of(operation);
            }
        }
        Value::Object(map) => {
            map.insert(place.key, value_of(operation));
        }
        _ => {}
    }
    Ok(())
}

fn test(object: &mut Value, operation: &Map<String, Value>) -> Result<(), String> {
    let path = path_of(operation, "test")?;
    let wanted = value_of(operation);
    let found = if path.is_empty() {
        object.clone()
    } else {
        let place = find(object, path);
        let place = place.ok_or_else(|| messages::nothing_to_test(path))?;
        let failed = |error: String| messages::failed_operation("test", path, &error);
        place.get().map_err(failed)?
    };
    if is_same(&found, &wanted) {
        Ok(())
    } else {
        Err(messages::failed_test(path))
    }
}

fn shift(object: &mut Value, operation: &Map<String, Value>) -> Result<(), String> {
    let from = from_of(operation, "move")?;
    let missing = || messages::no_origin("move", from);
    let place = find(object, from).ok_or_else(missing)?;
    let key = place.key.clone();
    let failed = |error: String| messages::failed_operation("move", &key, &error);
    let value = place.get().map_err(failed)?;
    place.take().map_err(failed)?;
    let path = path_of(operation, "move")?;
    let place = find(object, path).ok_or_else(|| messages::no_destination("move", path))?;
    let failed = |error: String| messages::failed_operation("move", path, &error);
    place.insert(value).map_err(failed)
}

fn copy(
    object: &mut Value,
    operation: &Map<String, Value>,
    copied: &mut usize,
) -> Result<(), String> {
    let from = from_of(operation, "copy")?;
    let missing = || messages::no_origin("copy", from);
    let place = find(object, from).ok_or_else(missing)?;
    let failed = |error: String| messages::nothing_to_copy(from, &error);
    let value = place.get().map_err(failed)?;
    *copied = copied.saturating_add(value.to_string().len());
    if *copied > MAX_COPIED {
        return Err(messages::copied_too_much(MAX_COPIED));
    }
    let path = path_of(operation, "copy")?;
    let place = find(object, path).ok_or_else(|| messages::no_destination("copy", path))?;
    let failed = |error: String| messages::failed_copy(&error);
    place.insert(value).map_err(failed)
}

/// The same, in lists and maps, too; numbers are the same by their value.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let in_other = |(key, value): (&String, &Value)| {
                b.get(key).is_some_and(|other| is_same(value, other))
            };
            a.len() == b.len() && a.iter().all(in_other)
        }
        _ => a == b,
    }
}
