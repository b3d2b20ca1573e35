//! From the values of go-yaml v2 to those of a Kubernetes object, as `sigs.k8s.io/yaml` and the
//! JSON decoder behind it make them.

use std::collections::BTreeMap;

use crate::json;
use crate::json::typed::{Field, Type};
use crate::printing;
use crate::value::{Key, List, Map, Value};
use crate::yaml::error::YamlError;
use crate::yaml::go_syntax::go_syntax;

enum Frame {
    Sequence {
        list: List,
        next: usize,
        items: Vec<Value>,
    },
    Mapping {
        rest: std::vec::IntoIter<(Key, Value)>,
        key: Key,
        entries: BTreeMap<Key, Value>,
    },
}

/// Keys become texts, numbers `int64` or `float64` as their JSON form is read.
pub(in crate::yaml) fn to_json_object(value: Value) -> Result<Value, YamlError> {
    let mut stack: Vec<Frame> = Vec::new();
    let mut number_error = None;
    let mut begun = Some(value);
    let mut done = None;
    loop {
        if let Some(value) = begun.take() {
            match value {
                Value::List(list) => stack.push(Frame::Sequence {
                    items: Vec::with_capacity(list.len()),
                    list,
                    next: 0,
                }),
                Value::Map(map) => stack.push(Frame::Mapping {
                    rest: map.entries().into_iter(),
                    key: Key::Nil,
                    entries: BTreeMap::new(),
                }),
                scalar => done = Some(to_json_scalar(scalar, &mut number_error)),
            }
        }
        match stack.last_mut() {
            None => match number_error {
                Some(error) => return Err(error),
                None => return Ok(done.unwrap_or(Value::Nil)),
            },
            Some(Frame::Sequence { list, next, items }) => {
                items.extend(done.take());
                begun = list.get(*next).cloned();
                *next += 1;
                if begun.is_none() {
                    done = Some(Value::list(std::mem::take(items)));
                    stack.pop();
                }
            }
            Some(Frame::Mapping { rest, key, entries }) => {
                if let Some(value) = done.take() {
                    entries.insert(std::mem::replace(key, Key::Nil), value);
                }
                if let Some((next, value)) = rest.next() {
                    *key = key_text(&next, &value)?;
                    begun = Some(value);
                } else {
                    done = Some(Value::Map(Map::from_entries(std::mem::take(entries))));
                    stack.pop();
                }
            }
        }
    }
}

/// Numbers and booleans become texts where the type has a text.
///
/// Types have few levels, so this recurses. The original finds no text among the fields of embedded structs.
pub(in crate::yaml) fn with_texts(value: Value, of: &Type) -> Value {
    match (of, value) {
        (Type::Pointer(of), value) => with_texts(value, of),
        (Type::List(of), Value::List(list)) => {
            let items = (0..list.len()).filter_map(|index| list.get(index).cloned());
            Value::list(items.map(|item| with_texts(item, of)).collect::<Vec<_>>())
        }
        (Type::Map(_, of), Value::Map(map)) => {
            let entries = map.entries().into_iter();
            let entries = entries.map(|(key, value)| (key, with_texts(value, of)));
            Value::Map(Map::from_entries(entries.collect()))
        }
        (Type::Struct(of), Value::Map(map)) => {
            let entries = map.entries().into_iter().map(|(key, value)| {
                let field = match &key {
                    Key::Str(name) => of.field(&name.lossy()),
                    _ => None,
                };
                match field.and_then(Field::direct_type) {
                    Some(of) => (key, with_texts(value, &of)),
                    None => (key, value),
                }
            });
            Value::Map(Map::from_entries(entries.collect()))
        }
        (Type::Text(_), Value::Bool(flag)) => Value::str(flag.to_string()),
        (Type::Text(_), Value::Int(number) | Value::Int64(number)) => {
            Value::str(number.to_string())
        }
        (Type::Text(_), Value::Uint64(number)) => Value::str(number.to_string()),
        (Type::Text(_), Value::Float(number)) => {
            #[allow(clippy::cast_possible_truncation)] // it is what the original does
            let single = number as f32;
            Value::str(printing::shortest_single(single))
        }
        (_, value) => value,
    }
}

fn key_text(key: &Key, value: &Value) -> Result<Key, YamlError> {
    let text = match key {
        Key::Str(text) if text.as_utf8().is_some() => return Ok(key.clone()),
        Key::Str(text) => json::replace_invalid(text),
        Key::Bool(value) => value.to_string(),
        Key::Int(value) => value.to_string(),
        Key::Float(value) => float_key(*value),
        Key::Nil | Key::Uint(_) => {
            let (type_name, key) = match key {
                Key::Uint(number) => ("uint64", format!("{number:#x}")),
                _ => ("%!s(<nil>)", "<nil>".to_owned()),
            };
            let value = match value {
                Value::Nil => "<nil>".to_owned(),
                other => go_syntax(other),
            };
            return Err(YamlError::NotJson(format!(
                "unsupported map key of type: {type_name}, key: {key}, value: {value}"
            )));
        }
    };
    Ok(Key::Str(text.into()))
}

/// A number as a key: with the precision of a `float32`.
fn float_key(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation)] // it is what the original does
    let single = value as f32;
    match printing::shortest_single(single).as_str() {
        "NaN" => ".nan".to_owned(),
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        text => text.to_owned(),
    }
}

fn to_json_scalar(value: Value, error: &mut Option<YamlError>) -> Value {
    match value {
        Value::Int(number) => Value::Int64(number),
        Value::Uint64(number) => {
            #[allow(clippy::cast_precision_loss)] // as Go's decoder does
            let float = Value::Float(number as f64);
            i64::try_from(number).map_or(float, Value::Int64)
        }
        Value::Float(number) if !number.is_finite() => {
            error.get_or_insert_with(|| {
                let name = printing::shortest_float(number);
                YamlError::NotJson(format!("json: unsupported value: {name}"))
            });
            Value::Nil
        }
        Value::Float(number) => {
            let text = json::json_float(number);
            text.parse().map_or(Value::Float(number), Value::Int64)
        }
        Value::Str(text) if text.as_utf8().is_none() => Value::str(json::replace_invalid(&text)),
        other => other,
    }
}
