//! The values that templates compute with: those that Go distinguishes, and no others.
//!
//! Go's `text/template` works on `reflect.Value`s; what an author notices of that is the type in an
//! error text, the difference between a missing value and a nil one, and that maps are shared.

mod bytes;
mod extent;
mod frozen;
mod key;
mod list;
mod map;
mod native;
mod release;
mod serde_values;
mod structs;
mod types;

use std::borrow::Cow;
use std::rc::Rc;

pub use bytes::Str;
pub use extent::Extent;
pub use frozen::Frozen;
pub use key::Key;
pub use list::List;
pub use map::Map;
pub use native::{Directive, Native};
pub use structs::Struct;
pub use types::{Element, Kind};

/// One value of a template.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value at all: the result of a missing map key. Go: the zero `reflect.Value`.
    Missing,
    /// A nil interface, for instance a JSON `null`.
    Nil,
    /// Go: `bool`.
    Bool(bool),
    /// Go: `int`, the type of integer literals.
    Int(i64),
    /// Go: `int64`, the type of integers in Kubernetes objects.
    Int64(i64),
    /// Go: `uint8`, a byte of a string.
    Uint8(u8),
    /// Go: `uint64`.
    Uint64(u64),
    /// Go: `float64`.
    Float(f64),
    /// Go: `string`, which need not be UTF-8.
    Str(Str),
    /// Go: a slice. Never changed in place.
    List(List),
    /// Go: a map. Shared: `set` through one holder changes it for all.
    Map(Map),
    /// Go: a struct with exported fields and no methods.
    Struct(Rc<Struct>),
    /// A Go type with methods: a time, a duration, a semantic version.
    Native(Rc<dyn Native>),
}

impl Value {
    /// A string.
    pub fn str(text: impl Into<Str>) -> Self {
        Self::Str(text.into())
    }

    /// A `[]interface {}`.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(List::new(Element::Any, items))
    }

    /// A `[]string`.
    pub fn strings<S: Into<Str>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::List(List::new(
            Element::Str,
            items.into_iter().map(|item| Self::Str(item.into())),
        ))
    }

    /// A `map[string]interface {}`.
    pub fn dict<K: Into<Str>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        let map = Map::dict();
        for (key, value) in entries {
            map.insert(Key::Str(key.into()), value);
        }
        Self::Map(map)
    }

    /// A `map[string]string`, nil without entries: labels and annotations as Go has them.
    pub fn string_map<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        let map = Map::typed(Element::Str, Element::Str);
        for (key, value) in entries {
            map.insert(Key::Str(key.into()), Self::str(value));
        }
        Self::Map(if map.is_empty() {
            map.nil_of_same_type()
        } else {
            map
        })
    }

    /// The name of the dynamic type as Go's `%T` prints it; `<nil>` for nil and missing.
    pub fn type_name(&self) -> Cow<'static, str> {
        match self {
            Self::Missing | Self::Nil => Cow::Borrowed("<nil>"),
            Self::Bool(_) => Cow::Borrowed("bool"),
            Self::Int(_) => Cow::Borrowed("int"),
            Self::Int64(_) => Cow::Borrowed("int64"),
            Self::Uint8(_) => Cow::Borrowed("uint8"),
            Self::Uint64(_) => Cow::Borrowed("uint64"),
            Self::Float(_) => Cow::Borrowed("float64"),
            Self::Str(_) => Cow::Borrowed("string"),
            Self::List(list) => list.type_name(),
            Self::Map(map) => map.type_name(),
            Self::Struct(value) => Cow::Owned(value.type_name().to_owned()),
            Self::Native(value) => Cow::Borrowed(value.type_name()),
        }
    }

    /// The name of the dynamic type, for a pointer that of what it points to.
    pub fn pointed_to(&self) -> Cow<'static, str> {
        match self {
            Self::Native(value) => Cow::Borrowed(value.pointed_to()),
            other => other.type_name(),
        }
    }

    /// The kind of the dynamic type, `Kind::Invalid` for nil and missing.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Missing | Self::Nil => Kind::Invalid,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Int64(_) => Kind::Int64,
            Self::Uint8(_) => Kind::Uint8,
            Self::Uint64(_) => Kind::Uint64,
            Self::Float(_) => Kind::Float64,
            Self::Str(_) => Kind::String,
            Self::List(_) => Kind::Slice,
            Self::Map(_) => Kind::Map,
            Self::Struct(_) => Kind::Struct,
            Self::Native(value) => value.kind(),
        }
    }

    /// What `if` decides: false for nothing, zero and empty, as `text/template` does.
    pub fn truth(&self) -> bool {
        match self {
            Self::Missing | Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(value) | Self::Int64(value) => *value != 0,
            Self::Uint8(value) => *value != 0,
            Self::Uint64(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Str(value) => !value.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Struct(_) => true,
            Self::Native(value) => value.integer().is_none_or(|number| number != 0),
        }
    }

    /// Whether this is nil, missing, a nil map or a nil slice.
    pub fn is_nil(&self) -> bool {
        match self {
            Self::Missing | Self::Nil => true,
            Self::List(list) => list.is_nil(),
            Self::Map(map) => map.is_nil(),
            _ => false,
        }
    }

    /// Equality of types and contents through all containers: Go's `reflect.DeepEqual`.
    pub fn deep_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Missing | Self::Nil, Self::Missing | Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) | (Self::Int64(a), Self::Int64(b)) => a == b,
            (Self::Uint8(a), Self::Uint8(b)) => a == b,
            (Self::Uint64(a), Self::Uint64(b)) => a == b,
            #[allow(clippy::float_cmp)] // Go compares them exactly, too
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::List(a), Self::List(b)) => a.deep_equal(b),
            (Self::Map(a), Self::Map(b)) => a.deep_equal(b),
            (Self::Struct(a), Self::Struct(b)) => a.deep_equal(b),
            (Self::Native(a), Self::Native(b)) => Rc::ptr_eq(a, b) || a.equals(b.as_ref()),
            _ => false,
        }
    }

    /// A copy that shares no map with this value.
    #[must_use]
    pub fn deep_copy(&self) -> Self {
        match self {
            Self::List(list) => Self::List(list.deep_copy()),
            Self::Map(map) => Self::Map(map.deep_copy()),
            Self::Struct(value) => Self::Struct(Rc::new(value.deep_copy())),
            other => other.clone(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
