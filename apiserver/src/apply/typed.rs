//! Values by their types: which fields they have, and what is different between two.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::set::{Set, shown};
use crate::printing::sprintf;
use crate::schema::{
    Additional, Edge, ListType, MAX_DEPTH, Node, Special, TypeId, Types, ValueType,
};

/// A type, or that there is none: then maps are merged and lists are not.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a> {
    types: &'a Types,
    id: Option<TypeId>,
    depth: usize,
}

/// How a value is taken apart.
pub(super) enum Shape<'a> {
    /// As a whole.
    Atomic,
    /// By its fields.
    Map(Option<&'a Node>),
    /// By its items, which are identified by these fields, or by their value.
    List(&'a [String], Option<&'a Edge>),
}

/// The difference of two values.
#[derive(Default)]
pub(super) struct Comparison {
    pub(super) added: Set,
    pub(super) modified: Set,
    pub(super) removed: Set,
}

impl Comparison {
    fn put(&mut self, element: &str, inner: Self) {
        self.added.put(element.to_owned(), inner.added);
        self.modified.put(element.to_owned(), inner.modified);
        self.removed.put(element.to_owned(), inner.removed);
    }

    /// What the new value has that the old had not, or not so.
    pub(super) fn written(&self) -> Set {
        self.added.clone().union(&self.modified)
    }
}

impl<'a> Typed<'a> {
    pub(super) fn new(types: &'a Types, id: Option<TypeId>) -> Self {
        Self {
            types,
            id,
            depth: 0,
        }
    }

    fn node(self) -> Option<&'a Node> {
        self.id.map(|id| self.types.node(id))
    }

    fn inner(self, id: Option<TypeId>) -> Self {
        Self {
            types: self.types,
            id,
            depth: self.depth + 1,
        }
    }

    /// The type of a field; nothing, if there is no such field.
    fn field(self, node: Option<&'a Node>, name: &str) -> Option<Self> {
        let Some(node) = node else {
            return Some(self.inner(None));
        };
        match node.field(name) {
            Some(edge) => Some(self.inner(Some(edge.id))),
            None if node.preserve_unknown || matches!(node.additional, Additional::Any) => {
                Some(self.inner(None))
            }
            None if node.properties.is_empty() && matches!(node.additional, Additional::None) => {
                Some(self.inner(None))
            }
            None => None,
        }
    }

    pub(super) fn child(self, node: Option<&'a Node>, name: &str) -> Self {
        self.field(node, name).unwrap_or_else(|| self.inner(None))
    }

    pub(super) fn item(self, items: Option<&'a Edge>) -> Self {
        self.inner(items.map(|items| items.id))
    }

    /// How a value of this type is taken apart.
    pub(super) fn shape(self, value: &Value) -> Shape<'a> {
        if self.depth > MAX_DEPTH {
            return Shape::Atomic;
        }
        let Some(node) = self.node() else {
            return match value {
                Value::Object(_) => Shape::Map(None),
                _ => Shape::Atomic,
            };
        };
        match (value, node.value_type) {
            (Value::Object(_), ValueType::Any) if node.special == Special::Raw => Shape::Map(None),
            (Value::Object(_), _)
                if node.special != Special::None && node.special != Special::Raw =>
            {
                Shape::Atomic
            }
            (Value::Object(_), ValueType::Object | ValueType::Any) if !node.map_atomic => {
                Shape::Map(Some(node))
            }
            (Value::Array(_), ValueType::Array) => match &node.list_type {
                ListType::Map(keys) => Shape::List(keys, node.items.as_ref()),
                ListType::Set => Shape::List(&[], node.items.as_ref()),
                _ => Shape::Atomic,
            },
            _ => Shape::Atomic,
        }
    }

    /// What names an item: its keys, those that are missing by their defaults, or its value.
    pub(super) fn element(self, keys: &[String], items: Option<&Edge>, item: &Value) -> String {
        if keys.is_empty() {
            return format!("v:{item}");
        }
        let node = items.map(|items| self.types.node(items.id));
        let mut named = Map::new();
        for key in keys {
            let default = || node?.properties.get(key)?.default.clone();
            if let Some(value) = item.get(key).cloned().or_else(default) {
                named.insert(key.clone(), value);
            }
        }
        format!("k:{}", Value::Object(named))
    }

    /// The fields of a value; of one that is empty or cannot be taken apart it is the value itself.
    pub(super) fn fields(self, value: &Value) -> Set {
        let mut set = Set::default();
        match (self.shape(value), value) {
            (Shape::Map(node), Value::Object(object)) if !object.is_empty() => {
                for (name, inner) in object {
                    let mut fields = self.child(node, name).fields(inner);
                    // The entries of a map are owned, the fields of a structure only by what is in them.
                    fields.member |= !node.is_some_and(|node| node.properties.contains_key(name));
                    set.put(format!("f:{name}"), fields);
                }
            }
            (Shape::List(keys, items), Value::Array(list)) if !list.is_empty() => {
                for item in list {
                    let mut inner = if keys.is_empty() {
                        Set::default()
                    } else {
                        self.item(items).fields(item)
                    };
                    inner.member = true;
                    set.put(self.element(keys, items, item), inner);
                }
            }
            _ => set.member = true,
        }
        set
    }

    /// Every path of a value, also those of what can be taken apart.
    fn all(self, value: &Value) -> Set {
        let mut set = Set {
            member: true,
            ..Set::default()
        };
        match (self.shape(value), value) {
            (Shape::Map(node), Value::Object(object)) => {
                for (name, inner) in object {
                    set.put(format!("f:{name}"), self.child(node, name).all(inner));
                }
            }
            (Shape::List(keys, items), Value::Array(list)) => {
                for item in list {
                    let element = self.element(keys, items, item);
                    set.put(element, self.item(items).all(item));
                }
            }
            _ => {}
        }
        set
    }

    /// What is different in `new`.
    pub(super) fn compare(self, old: Option<&Value>, new: Option<&Value>) -> Comparison {
        let mut found = Comparison::default();
        // One that is there, if only as null, gets its items; it is not itself new.
        let was_there = matches!(old, Some(Value::Null));
        let (old, new) = match (
            old.filter(|old| !old.is_null()),
            new.filter(|new| !new.is_null()),
        ) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(new)) => {
                found.added = self.all(new);
                found.added.member &= !was_there || found.added.children.is_empty();
                return found;
            }
            (Some(old), None) => {
                found.removed = self.all(old);
                return found;
            }
            (None, None) => return found,
        };
        match (self.shape(new), old, new) {
            (Shape::Map(node), Value::Object(old), Value::Object(new)) => {
                let gone = old.keys().filter(|name| !new.contains_key(*name));
                for name in new.keys().chain(gone) {
                    let typed = self.child(node, name);
                    let inner = typed.compare(old.get(name), new.get(name));
                    found.put(&format!("f:{name}"), inner);
                }
            }
            (Shape::List(keys, items), Value::Array(old), Value::Array(new)) => {
                let before = self.by_element(keys, items, old);
                let after = self.by_element(keys, items, new);
                let gone = before
                    .keys()
                    .filter(|element| !after.contains_key(*element));
                for element in after.keys().chain(gone) {
                    let inner = self
                        .item(items)
                        .compare(before.get(element).copied(), after.get(element).copied());
                    found.put(element, inner);
                }
            }
            (_, old, new) => {
                found.modified.member = old != new;
                // What was taken apart and is a whole now, or the other way round: its fields are gone, or new.
                found.removed.children = self.all(old).children;
                found.added.children = self.all(new).children;
            }
        }
        found
    }

    fn by_element<'v>(
        self,
        keys: &[String],
        items: Option<&Edge>,
        list: &'v [Value],
    ) -> HashMap<String, &'v Value> {
        let mut all = HashMap::with_capacity(list.len());
        for item in list {
            all.entry(self.element(keys, items, item)).or_insert(item);
        }
        all
    }

    /// Validates the types of a value, with the server's words.
    pub(super) fn errors(self, path: &str, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&mut path.to_owned(), value, &mut errors);
        errors
    }

    fn check(self, path: &mut String, value: &Value, errors: &mut Vec<String>) {
        let Some(node) = self.node() else {
            return;
        };
        let special = node.special != Special::None || node.int_or_string;
        if value.is_null() || special || self.depth > MAX_DEPTH {
            return;
        }
        let wrong = match (node.value_type, value) {
            (ValueType::Object, Value::Object(object)) => {
                return self.check_map(node, path, object, errors);
            }
            (ValueType::Array, Value::Array(list)) => {
                return self.check_list(node, path, list, errors);
            }
            (ValueType::Object, other) => {
                format!("expected map, got &{{{}}}", sprintf("%v", other))
            }
            (ValueType::Array, other) => {
                format!("expected list, got &{{{}}}", sprintf("%v", other))
            }
            (ValueType::String, other) if !other.is_string() => format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                sprintf("%#v", other)
            ),
            (ValueType::Boolean, other) if !other.is_boolean() => {
                format!("expected boolean, got &{{{}}}", sprintf("%v", other))
            }
            (ValueType::Integer | ValueType::Number, other) if !other.is_number() => {
                format!(
                    "expected numeric (int or float), got {}",
                    sprintf("%T", other)
                )
            }
            _ => return,
        };
        errors.push(format!("{path}: {wrong}"));
    }

    fn check_map(
        self,
        node: &'a Node,
        path: &mut String,
        object: &Map<String, Value>,
        errors: &mut Vec<String>,
    ) {
        let length = path.len();
        for (name, inner) in object {
            path.push('.');
            path.push_str(name);
            let Some(typed) = self.field(Some(node), name) else {
                errors.push(format!("{path}: field not declared in schema"));
                return;
            };
            typed.check(path, inner, errors);
            path.truncate(length);
        }
    }

    fn check_list(
        self,
        node: &'a Node,
        path: &mut String,
        list: &[Value],
        errors: &mut Vec<String>,
    ) {
        let length = path.len();
        let items = node.items.as_ref();
        let keys: Option<&[String]> = match &node.list_type {
            ListType::Map(keys) => Some(keys),
            ListType::Set => Some(&[]),
            _ => None,
        };
        let mut seen = HashSet::new();
        for (index, item) in list.iter().enumerate() {
            let Some(keys) = keys else {
                let _ = write!(path, "[{index}]");
                self.item(items).check(path, item, errors);
                path.truncate(length);
                continue;
            };
            if !keys.is_empty() && !item.is_object() {
                let why = "associative list with keys may not have non-map elements";
                errors.push(format!("{path}: element {index}: {why}"));
                return;
            }
            let element = self.element(keys, items, item);
            let shown = shown(&element);
            if !seen.insert(element) {
                errors.push(format!("{path}: duplicate entries for key {shown}"));
                continue;
            }
            path.push_str(&shown);
            self.item(items).check(path, item, errors);
            path.truncate(length);
        }
    }
}
