//! JSON patches (RFC 6902), with what a kube-apiserver allows besides: `replace` of what is not there in an object,
//! `copy` of what is not there as `null`, indexes that count from the end.

use serde_json::{Map, Value};

use super::{rejected, undecodable};
use crate::json::{self, MOST_DEPTH};
use crate::schema::json_kind;
use crate::status_error::StatusError;

/// The most operations of one patch.
const MOST_OPERATIONS: usize = 10_000;
/// The most bytes that `copy` operations of one patch may copy.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// What the patch makes of `current`.
pub fn json_patch(current: &Value, patch: &Value) -> Result<Value, StatusError> {
    let operations = match patch {
        Value::Array(operations) => operations,
        other => {
            return Err(undecodable(&format!(
                "json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
                json_kind(other)
            )));
        }
    };
    if let Some(wrong) = operations
        .iter()
        .find(|one| !one.is_object() && !one.is_null())
    {
        return Err(undecodable(&format!(
            "json: cannot unmarshal {} into Go value of type handlers.jsonPatchOp",
            json_kind(wrong)
        )));
    }
    if operations.len() > MOST_OPERATIONS {
        return Err(StatusError {
            code: 413,
            reason: "RequestEntityTooLarge".into(),
            message: format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
                operations.len()
            ),
            details: None,
        });
    }
    let mut document = current.clone();
    let mut copied = 0;
    for operation in operations {
        apply(&mut document, operation, &mut copied).ok_or_else(rejected)?;
    }
    Ok(document)
}

/// Nothing, if it cannot be done.
fn apply(document: &mut Value, operation: &Value, copied: &mut usize) -> Option<()> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let path = steps(text("path")?);
    // Each operation could make the object twice as deep, and what is too deep cannot even be dropped.
    if path.len() > MOST_DEPTH {
        return None;
    }
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match text("op")? {
        "add" => add(document, &path, value()),
        "remove" => remove(document, &path).map(drop),
        "replace" => replace(document, &path, value()),
        "move" => {
            let moved = remove(document, &steps(text("from")?))?;
            if json::too_deep(&moved).is_some() {
                return None;
            }
            add(document, &path, moved)
        }
        "copy" => {
            let from = steps(text("from")?);
            let source = get(document, &from)?.unwrap_or(&Value::Null);
            if json::too_deep(source).is_some() {
                return None;
            }
            let source = source.clone();
            *copied += source.to_string().len();
            if *copied > MOST_COPIED {
                return None;
            }
            add(document, &path, source)
        }
        "test" => {
            let found = get(document, &path)?.unwrap_or(&Value::Null);
            same(found, operation.get("value").unwrap_or(&Value::Null)).then_some(())
        }
        _ => None,
    }
}

/// Equal; numbers by their value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// The steps of a pointer; what stands before the first slash counts for nothing.
fn steps(path: &str) -> Vec<String> {
    path.split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// An index of a list, also counted from its end.
fn index(step: &str, length: usize) -> Option<usize> {
    let number: i64 = step.parse().ok()?;
    let index = match usize::try_from(number) {
        Ok(index) => index,
        Err(_) => length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
    };
    (index < length).then_some(index)
}

/// The value that the last step is taken in.
fn container<'a>(document: &'a mut Value, way: &[String]) -> Option<&'a mut Value> {
    let mut at = document;
    for step in way {
        at = match at {
            Value::Object(object) => object.get_mut(step)?,
            Value::Array(list) => {
                let index = index(step, list.len())?;
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    matches!(at, Value::Object(_) | Value::Array(_)).then_some(at)
}

/// The value; an inner nothing is a field that an object does not have.
// The outer nothing is a place that cannot be.
#[allow(clippy::option_option)]
fn get<'a>(document: &'a mut Value, path: &[String]) -> Option<Option<&'a Value>> {
    let Some((end, way)) = path.split_last() else {
        return Some(Some(document));
    };
    match container(document, way)? {
        Value::Object(object) => Some(object.get(end)),
        Value::Array(list) => {
            let index = index(end, list.len())?;
            Some(list.get(index))
        }
        _ => None,
    }
}

fn add(document: &mut Value, path: &[String], value: Value) -> Option<()> {
    let Some((end, way)) = path.split_last() else {
        *document = value;
        return Some(());
    };
    match container(document, way)? {
        Value::Object(object) => {
            object.insert(end.clone(), value);
        }
        Value::Array(list) => {
            let length = list.len();
            let at = match end.as_str() {
                "-" => length,
                step => index(step, length + 1)?,
            };
            list.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn replace(document: &mut Value, path: &[String], value: Value) -> Option<()> {
    let Some((end, way)) = path.split_last() else {
        *document = value;
        return Some(());
    };
    match container(document, way)? {
        Value::Object(object) => {
            object.insert(end.clone(), value);
        }
        Value::Array(list) => {
            let at = index(end, list.len())?;
            *list.get_mut(at)? = value;
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Value, path: &[String]) -> Option<Value> {
    let Some((end, way)) = path.split_last() else {
        return Some(std::mem::replace(document, Value::Object(Map::new())));
    };
    match container(document, way)? {
        Value::Object(object) => object.remove(end),
        Value::Array(list) => {
            let at = index(end, list.len())?;
            Some(list.remove(at))
        }
        _ => None,
    }
}
