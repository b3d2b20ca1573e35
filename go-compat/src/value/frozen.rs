//! Values that many renders share: Kubernetes objects, prepared once when they are read.
//!
//! A template may change the maps that a lookup gives it, and only its own render may see that.
//! Instead of copying an object for every lookup, a [`Map`](super::Map) is backed by a frozen one and
//! copies the values that are read; it copies all of them when it is changed or iterated.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Key, Str};

/// A value that nothing changes, and that threads may share.
#[derive(Clone, Debug)]
pub enum Frozen {
    /// `null`
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int64(i64),
    /// Another number.
    Float(f64),
    /// A string.
    Str(Str),
    /// A list.
    List(Arc<[Frozen]>),
    /// A map.
    Map(Arc<BTreeMap<Key, Frozen>>),
}

impl Frozen {
    /// From JSON: integers become `int64` and other numbers `float64`, as in objects read from an
    /// API server.
    pub fn new(json: &Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => number.as_i64().map_or_else(
                || Self::Float(number.as_f64().unwrap_or(f64::NAN)),
                Self::Int64,
            ),
            Json::String(text) => Self::Str(text.into()),
            Json::Array(items) => Self::List(items.iter().map(Self::new).collect()),
            Json::Object(entries) => Self::map(
                entries
                    .iter()
                    .map(|(key, value)| (key.as_str(), Self::new(value))),
            ),
        }
    }

    /// A map with these entries.
    pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (Key::from(key), value));
        Self::Map(Arc::new(entries.collect()))
    }

    /// A field of a map.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.get(&Key::from(name)),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => text.as_utf8(),
            _ => None,
        }
    }
}
