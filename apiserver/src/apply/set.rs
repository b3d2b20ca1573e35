//! Sets of fields, as `managedFields` write them (`FieldsV1`): `f:name` of fields, `k:{...}` of list items by their
//! keys, `v:...` of items by their value, `i:0` of items by their place, `.` of the thing itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::MAX_DEPTH;

/// A set of paths, as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    /// The path that leads here is in the set.
    pub(super) member: bool,
    pub(super) children: BTreeMap<String, Set>,
}

impl Set {
    /// Reads `fieldsV1`; what is no set is an empty one.
    pub(super) fn read(fields: &Value) -> Self {
        Self::read_at(fields, 0)
    }

    fn read_at(fields: &Value, depth: usize) -> Self {
        let mut set = Self::default();
        let Value::Object(object) = fields else {
            return set;
        };
        if depth > MAX_DEPTH {
            return set;
        }
        for (element, inner) in object {
            if element == "." {
                set.member = true;
                continue;
            }
            let mut child = Self::read_at(inner, depth + 1);
            child.member |= child.children.is_empty();
            set.children.insert(element.clone(), child);
        }
        set
    }

    /// Writes `fieldsV1`.
    pub(super) fn write(&self) -> Value {
        let mut object = Map::new();
        for (element, child) in &self.children {
            let mut inner = match child.write() {
                Value::Object(inner) => inner,
                _ => Map::new(),
            };
            if child.member && !inner.is_empty() {
                inner.insert(".".to_owned(), Value::Object(Map::new()));
            }
            object.insert(element.clone(), Value::Object(inner));
        }
        Value::Object(object)
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// Adds a child, unless there is nothing in it.
    pub(super) fn put(&mut self, element: String, child: Self) {
        if !child.is_empty() {
            match self.children.get_mut(&element) {
                Some(there) => there.unite(&child),
                None => {
                    self.children.insert(element, child);
                }
            }
        }
    }

    pub(super) fn unite(&mut self, other: &Self) {
        self.member |= other.member;
        for (element, child) in &other.children {
            match self.children.get_mut(element) {
                Some(there) => there.unite(child),
                None => {
                    self.children.insert(element.clone(), child.clone());
                }
            }
        }
    }

    pub(super) fn union(mut self, other: &Self) -> Self {
        self.unite(other);
        self
    }

    /// Takes the other's members out.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.member &= !other.member;
        if other.children.is_empty() {
            return;
        }
        self.children.retain(|element, child| {
            if let Some(gone) = other.children.get(element) {
                child.subtract(gone);
            }
            !child.is_empty()
        });
    }

    pub(super) fn difference(mut self, other: &Self) -> Self {
        self.subtract(other);
        self
    }

    /// The members of both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut common = Self {
            member: self.member && other.member,
            children: BTreeMap::new(),
        };
        for (element, child) in &self.children {
            if let Some(there) = other.children.get(element) {
                common.put(element.clone(), child.intersection(there));
            }
        }
        common
    }

    /// With every path that leads to a member.
    pub(super) fn with_parents(mut self) -> Self {
        self.make_parents_members();
        self
    }

    fn make_parents_members(&mut self) {
        for child in self.children.values_mut() {
            child.member = true;
            child.make_parents_members();
        }
    }

    /// Without what the server itself writes.
    pub(super) fn without_identity(mut self) -> Self {
        self.children.remove("f:apiVersion");
        self.children.remove("f:kind");
        if let Some(metadata) = self.children.get_mut("f:metadata") {
            metadata.member = false;
            for field in [
                "f:name",
                "f:namespace",
                "f:creationTimestamp",
                "f:selfLink",
                "f:uid",
                "f:clusterName",
                "f:generation",
                "f:managedFields",
                "f:resourceVersion",
            ] {
                metadata.children.remove(field);
            }
        }
        self.children.retain(|_, child| !child.is_empty());
        self
    }

    /// The paths as errors show them: of every level the members first.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut all = Vec::new();
        self.collect(&mut String::new(), &mut all);
        all
    }

    /// One text for the path of all levels: one a level would take memory with the square of the depth.
    fn collect(&self, path: &mut String, all: &mut Vec<String>) {
        for (element, child) in &self.children {
            if child.member {
                all.push(format!("{path}{}", shown(element)));
            }
        }
        let length = path.len();
        for (element, child) in &self.children {
            path.push_str(&shown(element));
            child.collect(path, all);
            path.truncate(length);
        }
    }
}

/// An element as errors show it: `.name`, `[k="v"]`, `[="v"]`, `[0]`.
pub(super) fn shown(element: &str) -> String {
    match element.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("v", value)) => format!("[={value}]"),
        Some(("k", keys)) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let keys: Vec<String> = keys
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            format!("[{}]", keys.join(","))
        }
        Some((_, index)) => format!("[{index}]"),
        None => element.to_owned(),
    }
}
