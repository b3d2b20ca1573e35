use std::borrow::Cow;
use std::fmt;

/// The static type of the elements of a list or map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// `interface {}`
    Any,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `int64`
    Int64,
    /// `float64`
    Float,
    /// `string`
    Str,
    /// A slice of these.
    List(Box<Element>),
    /// A map with string keys of these.
    Map(Box<Element>),
    /// Another type, by its name.
    Named(&'static str),
}

impl Element {
    /// The name as Go prints it.
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Any => "interface {}",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Float => "float64",
            Self::Str => "string",
            Self::Named(name) => name,
            Self::List(element) => return Cow::Owned(format!("[]{}", element.name())),
            Self::Map(element) => return Cow::Owned(format!("map[string]{}", element.name())),
        })
    }
}

/// Go's `reflect.Kind`, as far as templates can meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value.
    Invalid,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `int64`
    Int64,
    /// `uint8`
    Uint8,
    /// `uint64`
    Uint64,
    /// `float64`
    Float64,
    /// `string`
    String,
    /// A slice.
    Slice,
    /// A map.
    Map,
    /// A struct.
    Struct,
    /// A pointer to a struct.
    Ptr,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Invalid => "invalid",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint64 => "uint64",
            Self::Float64 => "float64",
            Self::String => "string",
            Self::Slice => "slice",
            Self::Map => "map",
            Self::Struct => "struct",
            Self::Ptr => "ptr",
        })
    }
}
