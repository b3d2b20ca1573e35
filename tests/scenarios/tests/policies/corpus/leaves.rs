//! The leaves of an object, and definitions that speak of one of them alone.

use serde_json::{Map, Value, json};

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Key(String),
    Item(usize),
}

/// What `metadata` holds that a policy can speak of, beside what names the object.
const COMPARED: [&str; 2] = ["annotations", "labels"];

/// What a server adds to `metadata`; a policy cannot have written it.
const OF_THE_SERVER: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// An object without what the API server and the controllers alone write.
pub(crate) fn without_the_servers_own(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| !OF_THE_SERVER.contains(&key.as_str()));
    }
    object
}

/// The paths of everything in an object that holds nothing else: scalars, nulls, empty maps and lists. A list
/// in a list is compared as a whole (only maps are merged), so it counts as a leaf.
pub(crate) fn leaves(object: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    collect(object, &mut Vec::new(), &mut found);
    found.retain(|path| is_compared(path));
    found
}

fn is_compared(path: &[Step]) -> bool {
    let key = |at: usize| match path.get(at) {
        Some(Step::Key(key)) => key.as_str(),
        _ => "",
    };
    match key(0) {
        "apiVersion" | "kind" => false,
        "metadata" => COMPARED.contains(&key(1)),
        _ => true,
    }
}

fn collect(value: &Value, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    let steps: Vec<(Step, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (Step::Key(key.clone()), value))
            .collect(),
        Value::Array(items) => (0..).map(Step::Item).zip(items).collect(),
        _ => Vec::new(),
    };
    let in_list = matches!(path.last(), Some(Step::Item(_)));
    let steps = if in_list && value.is_array() {
        Vec::new()
    } else {
        steps
    };
    if steps.is_empty() {
        found.push(path.clone());
    }
    for (step, value) in steps {
        path.push(step);
        collect(value, path, found);
        path.pop();
    }
}

/// The object with the items of its lists in the opposite order, but for lists in lists, whose order counts.
pub(crate) fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), reversed(value)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .rev()
            .map(|item| match item {
                Value::Array(_) => item.clone(),
                item => reversed(item),
            })
            .collect(),
        scalar => scalar.clone(),
    }
}

/// What is at a path.
pub(crate) fn at<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Item(index) => value.get(index),
    })
}

/// A definition of the object that speaks of one leaf. Of the items of a list only the one on the way is
/// left, of that item only its name and what leads to the leaf.
pub(crate) fn alone(object: &Value, path: &[Step], leaf: Value) -> Value {
    let mut definition = only(object, path, leaf);
    for key in ["apiVersion", "kind"] {
        definition[key] = object[key].clone();
    }
    for key in ["name", "namespace"] {
        if let Some(value) = object["metadata"].get(key) {
            definition["metadata"][key] = value.clone();
        }
    }
    definition
}

fn only(value: &Value, path: &[Step], leaf: Value) -> Value {
    match path.split_first() {
        None => leaf,
        Some((Step::Key(key), rest)) => {
            let mut fields = Map::new();
            fields.insert(key.clone(), only(&value[key], rest, leaf));
            Value::Object(fields)
        }
        Some((Step::Item(index), rest)) => {
            let mut item = only(&value[index], rest, leaf);
            let name = value[index].get("name").filter(|name| name.is_string());
            if let (Some(name), Some(fields)) = (name, item.as_object_mut()) {
                fields.entry("name").or_insert_with(|| name.clone());
            }
            json!([item])
        }
    }
}

/// Another value of the same type, where there is one.
pub(crate) fn another(leaf: &Value) -> Option<Value> {
    match leaf {
        Value::Bool(flag) => Some(json!(!flag)),
        Value::String(text) => Some(json!(format!("{text}x"))),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Some(json!(whole.checked_add(1).unwrap_or(0))),
            (None, Some(float)) => Some(json!(2.0 * float + 1.0)),
            (None, None) => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A path as `properties.fields` publishes it: items of lists by their names, and no further than an item that
/// has none (such an item is there or is not).
pub(crate) fn reported(object: &Value, path: &[Step]) -> String {
    let mut text = String::new();
    for (position, step) in path.iter().enumerate() {
        match step {
            Step::Key(key) if key.contains(['.', '/', '[', ']', '"']) => {
                text = format!("{text}[{key:?}]");
            }
            Step::Key(key) if text.is_empty() => text.clone_from(key),
            Step::Key(key) => text = format!("{text}.{key}"),
            Step::Item(_) => {
                let item = at(object, path.get(..=position).unwrap_or_default());
                let changes_name = path.get(position + 1..) == Some(&[Step::Key("name".into())]);
                match item.and_then(|item| item.get("name")?.as_str()) {
                    Some(name) if !changes_name => text = format!("{text}[name={name}]"),
                    _ => return format!("{text}["),
                }
            }
        }
    }
    text
}

/// A JSON pointer as steps.
pub(crate) fn steps(pointer: &str) -> Vec<Step> {
    let parts = pointer.split('/').skip(1);
    parts
        .map(|part| match part.parse() {
            Ok(index) => Step::Item(index),
            Err(_) => Step::Key(part.replace("~1", "/").replace("~0", "~")),
        })
        .collect()
}
