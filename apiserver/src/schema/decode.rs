//! Reads an object of a built-in kind as the API server's types do, and leaves it as they would write it.

use std::fmt::Write as _;

use reeve_go_compat::quantity::{Quantity, QuantityError};
use serde_json::{Map, Number, Value};

use super::model::{Additional, Edge, Node, Special, TypeId, Types, ValueType};
use super::scalars;
use super::{MAX_DEPTH, json_kind};

/// Refuses what Go's types cannot hold, with its text, and writes the rest as Go would: no `null`s, no empty
/// values of fields that are left out when empty, zeros where a field is always there, no unknown fields.
/// Of a custom resource only its metadata, and that of embedded resources, is typed.
pub fn decode(types: &Types, id: TypeId, value: &mut Value) -> Result<(), String> {
    let node = types.node(id);
    if node.embedded {
        return resource(types, id, value, &mut String::new(), 0);
    }
    let root = Edge::to(id);
    let mut decoder = Decoder {
        types,
        path: Vec::new(),
        owner: node.short_name(),
        wrong: None,
    };
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    decoder.value(&root, value, 0)?;
    decoder.wrong.map_or(Ok(()), Err)
}

/// Custom resources: the metadata of this one and of those in it. The path is one text for all levels: one a level would
/// take memory with the square of the depth.
fn resource(
    types: &Types,
    id: TypeId,
    value: &mut Value,
    path: &mut String,
    depth: usize,
) -> Result<(), String> {
    let node = types.node(id);
    if depth > MAX_DEPTH {
        return Ok(());
    }
    let length = path.len();
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                let Some(edge) = node.field(name) else {
                    continue;
                };
                if length > 0 {
                    path.push('.');
                }
                path.push_str(name);
                let versioned = matches!(name.as_str(), "apiVersion" | "kind");
                if node.embedded && depth > 0 && versioned && !inner.is_string() {
                    return Err(format!("{path}: Invalid value: {inner}: must be a string"));
                }
                if node.embedded && name == "metadata" {
                    metadata(types, edge, inner).map_err(|error| match depth {
                        0 => error,
                        _ => format!("{path}: Invalid value: {inner}: {error}"),
                    })?;
                } else if matches!(inner, Value::Object(_) | Value::Array(_)) {
                    resource(types, edge.id, inner, path, depth + 1)?;
                }
                path.truncate(length);
            }
        }
        Value::Array(list) => {
            let Some(items) = &node.items else {
                return Ok(());
            };
            for (index, item) in list.iter_mut().enumerate() {
                if item.is_object() || item.is_array() {
                    let _ = write!(path, "[{index}]");
                    resource(types, items.id, item, path, depth + 1)?;
                    path.truncate(length);
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn metadata(types: &Types, edge: &Edge, value: &mut Value) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    if !value.is_object() {
        return Err(format!(
            "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
            json_kind(value)
        ));
    }
    let mut decoder = Decoder {
        types,
        path: Vec::new(),
        owner: "ObjectMeta",
        wrong: None,
    };
    let before = value.clone();
    let result = decoder.value(edge, value, 0);
    match result.and(decoder.wrong.map_or(Ok(()), Err)) {
        Ok(()) => Ok(()),
        Err(error) => {
            *value = before;
            Err(error)
        }
    }
}

struct Decoder<'a> {
    types: &'a Types,
    /// The names of the fields on the way.
    path: Vec<&'a str>,
    /// The Go type that has the field at hand.
    owner: &'a str,
    /// The first value of a wrong type. Go reads on, and an error of a type that reads itself wins.
    wrong: Option<String>,
}

impl<'a> Decoder<'a> {
    /// Of a value that is there.
    fn value(&mut self, edge: &'a Edge, value: &mut Value, depth: usize) -> Result<(), String> {
        let node = self.types.node(edge.id);
        if depth > MAX_DEPTH {
            return Err("json: exceeded max depth".to_owned());
        }
        if node.special != Special::None || node.format == "byte" {
            return self.special(node, value);
        }
        match (node.value_type, &mut *value) {
            (ValueType::Object, Value::Object(object)) => {
                if let Additional::Of(inner) = &node.additional {
                    return self.map(inner, object, depth);
                }
                return self.structure(node, object, depth);
            }
            (ValueType::Array, Value::Array(list)) => {
                if let Some(items) = &node.items {
                    for item in list {
                        self.element(items, item, depth)?;
                    }
                }
            }
            (ValueType::Integer, Value::Number(number)) => {
                let fits = match node.format.as_str() {
                    "int32" => number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
                    _ => number.as_i64().is_some(),
                };
                if !fits {
                    let what = format!("number {number}");
                    self.refuse(edge, &what);
                }
            }
            (ValueType::Any, _)
            | (ValueType::String, Value::String(_))
            | (ValueType::Number, Value::Number(_))
            | (ValueType::Boolean, Value::Bool(_)) => {}
            (_, other) => {
                let what = json_kind(other);
                self.refuse(edge, what);
            }
        }
        Ok(())
    }

    /// Of a list or map: `null` is the zero there.
    fn element(&mut self, edge: &'a Edge, value: &mut Value, depth: usize) -> Result<(), String> {
        if value.is_null() {
            *value = zero(self.types.node(edge.id));
            if !value.is_object() {
                return Ok(());
            }
        }
        self.value(edge, value, depth + 1)
    }

    fn map(
        &mut self,
        inner: &'a Edge,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        for value in object.values_mut() {
            self.element(inner, value, depth)?;
        }
        Ok(())
    }

    fn structure(
        &mut self,
        node: &'a Node,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        let owner = std::mem::replace(&mut self.owner, node.short_name());
        object.retain(|name, value| !value.is_null() && node.properties.contains_key(name));
        for (name, edge) in &node.properties {
            self.path.push(name);
            if let Some(value) = object.get_mut(name) {
                self.value(edge, value, depth + 1)?;
                if self.left_out(edge, value) {
                    object.remove(name);
                }
            } else if let Some(mut absent) = self.absent(edge) {
                if absent.is_object() && depth < MAX_DEPTH {
                    self.value(edge, &mut absent, depth + 1)?;
                }
                if !self.left_out(edge, &absent) {
                    object.insert(name.clone(), absent);
                }
            }
            self.path.pop();
        }
        self.owner = owner;
        Ok(())
    }

    /// Whether Go would not write the value.
    fn left_out(&self, edge: &Edge, value: &Value) -> bool {
        let node = self.types.node(edge.id);
        match value {
            Value::Object(object) if node.special != Special::Raw => {
                let map = matches!(node.additional, Additional::Of(_));
                let go = &edge.go;
                object.is_empty() && ((map && !go.pointer && !go.always) || (!map && go.omit_zero))
            }
            Value::Null => !edge.go.always,
            Value::Object(_) => false,
            _ if edge.go.pointer || edge.go.always => false,
            // Both are structures or pointers to one, which Go writes whatever is in them.
            _ if matches!(node.special, Special::IntOrString | Special::Raw) => false,
            Value::Array(list) => list.is_empty(),
            Value::String(text) => text.is_empty(),
            Value::Bool(flag) => !flag,
            Value::Number(number) => number.as_f64() == Some(0.0) && edge.default.is_none(),
        }
    }

    /// The value that Go serializes for an absent field.
    fn absent(&self, edge: &Edge) -> Option<Value> {
        let node = self.types.node(edge.id);
        let empty = matches!(&edge.default, Some(Value::Object(map)) if map.is_empty());
        match (node.value_type, node.special) {
            (ValueType::Object, Special::None) if empty => Some(Value::Object(Map::new())),
            _ if !edge.go.always => None,
            (_, Special::Quantity) if !edge.go.pointer => Some("0".into()),
            (_, Special::IntOrString) if !edge.go.pointer => Some(0.into()),
            (ValueType::Object | ValueType::Array, _)
            | (_, Special::Time | Special::MicroTime | Special::Raw) => Some(Value::Null),
            _ if edge.go.pointer => Some(Value::Null),
            _ => Some(zero(node)),
        }
    }

    /// Types that read themselves; their errors end the reading.
    fn special(&mut self, node: &Node, value: &mut Value) -> Result<(), String> {
        match node.special {
            Special::Raw => Ok(()),
            Special::Quantity => {
                let text = match &*value {
                    Value::String(text) => text.trim().to_owned(),
                    other => other.to_string(),
                };
                *value = match Quantity::parse(&text) {
                    Ok(quantity) => quantity.canonical().unwrap_or(text).into(),
                    // An amount that does not fit stays as it is.
                    Err(QuantityError::TooLong) => text.into(),
                    Err(error) => return Err(error.to_string()),
                };
                Ok(())
            }
            Special::IntOrString => match value {
                Value::String(_) => Ok(()),
                Value::Number(number)
                    if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
                {
                    Ok(())
                }
                Value::Number(number) => Err(self.mismatch(&format!("number {number}"), "int32")),
                other => Err(self.mismatch(json_kind(other), "int32")),
            },
            Special::Time | Special::MicroTime => match value {
                Value::String(text) => {
                    *text = scalars::time(text, node.special == Special::MicroTime)?;
                    Ok(())
                }
                other => Err(self.mismatch(json_kind(other), "string")),
            },
            Special::Duration => match value {
                Value::String(_) => Ok(()),
                other => Err(self.mismatch(json_kind(other), "string")),
            },
            Special::Bytes | Special::None => match value {
                Value::String(text) => {
                    *text = scalars::bytes(text)?;
                    Ok(())
                }
                other => {
                    let text = self.mismatch(json_kind(other), "[]uint8");
                    self.wrong.get_or_insert(text);
                    Ok(())
                }
            },
        }
    }

    fn refuse(&mut self, edge: &Edge, what: &str) {
        if self.wrong.is_none() {
            self.wrong = Some(self.mismatch(what, &self.go_type(edge, 0)));
        }
    }

    fn mismatch(&self, what: &str, go_type: &str) -> String {
        if self.path.is_empty() {
            return format!("json: cannot unmarshal {what} into Go value of type {go_type}");
        }
        format!(
            "json: cannot unmarshal {what} into Go struct field {}.{} of type {go_type}",
            self.owner,
            self.path.join(".")
        )
    }

    /// The name of the type in Go.
    fn go_type(&self, edge: &Edge, depth: usize) -> String {
        let node = self.types.node(edge.id);
        if let Some(name) = edge.go.type_name {
            return name.to_owned();
        }
        if depth > 8 {
            return "interface {}".to_owned();
        }
        if let (Some(name), Special::None) = (&node.name, node.special) {
            let mut parts = name.rsplit('.');
            let kind = parts.next().unwrap_or_default();
            let package = parts.next().unwrap_or_default();
            return format!("{package}.{kind}");
        }
        match (node.value_type, node.format.as_str()) {
            (ValueType::String, "byte") => "[]uint8".to_owned(),
            (ValueType::String, _) => "string".to_owned(),
            (ValueType::Integer, "int32") => "int32".to_owned(),
            (ValueType::Integer, _) => "int64".to_owned(),
            (ValueType::Number, _) => "float64".to_owned(),
            (ValueType::Boolean, _) => "bool".to_owned(),
            (ValueType::Array, _) => match &node.items {
                Some(items) => format!("[]{}", self.go_type(items, depth + 1)),
                None => "[]interface {}".to_owned(),
            },
            _ => match &node.additional {
                Additional::Of(inner) => {
                    format!("map[string]{}", self.go_type(inner, depth + 1))
                }
                _ => "map[string]interface {}".to_owned(),
            },
        }
    }
}

/// The serialized zero value of Go's type.
fn zero(node: &Node) -> Value {
    match node.special {
        Special::Quantity => return "0".into(),
        Special::IntOrString => return 0.into(),
        Special::Time | Special::MicroTime | Special::Raw => return Value::Null,
        _ => {}
    }
    match node.value_type {
        ValueType::String if node.format == "byte" => Value::Null,
        ValueType::String => "".into(),
        ValueType::Integer | ValueType::Number => Value::Number(Number::from(0)),
        ValueType::Boolean => false.into(),
        ValueType::Object if !matches!(node.additional, Additional::Of(_)) => {
            Value::Object(Map::new())
        }
        _ => Value::Null,
    }
}
