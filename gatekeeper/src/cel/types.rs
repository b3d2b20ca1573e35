//! The types of expressions: those of literals, declared variables and functions; objects are dynamic.

use std::fmt;

/// What is known of a value before it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Only known when it is evaluated.
    Dyn,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    String,
    Bytes,
    /// A type as a value.
    Meta,
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Optional(Box<Self>),
    /// An abstract type by its name.
    Named(&'static str),
    /// A part of `request`.
    Struct(&'static Struct),
}

pub const TIMESTAMP: Type = Type::Named("timestamp");
pub const DURATION: Type = Type::Named("duration");

/// A type with declared fields.
#[derive(Debug, PartialEq, Eq)]
pub struct Struct {
    pub name: &'static str,
    pub fields: &'static [(&'static str, FieldType)],
}

/// The type of a declared field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    String,
    Bool,
    Dyn,
    Strings,
    StringLists,
    Struct(&'static Struct),
}

static USER_INFO: Struct = Struct {
    name: "kubernetes.UserInfo",
    fields: &[
        ("username", FieldType::String),
        ("uid", FieldType::String),
        ("groups", FieldType::Strings),
        ("extra", FieldType::StringLists),
    ],
};

static KIND: Struct = Struct {
    name: "kubernetes.GroupVersionKind",
    fields: &[
        ("group", FieldType::String),
        ("version", FieldType::String),
        ("kind", FieldType::String),
    ],
};

static RESOURCE: Struct = Struct {
    name: "kubernetes.GroupVersionResource",
    fields: &[
        ("group", FieldType::String),
        ("version", FieldType::String),
        ("resource", FieldType::String),
    ],
};

/// The type of `request`.
pub static REQUEST: Struct = Struct {
    name: "kubernetes.AdmissionRequest",
    fields: &[
        ("kind", FieldType::Struct(&KIND)),
        ("resource", FieldType::Struct(&RESOURCE)),
        ("subResource", FieldType::String),
        ("requestKind", FieldType::Struct(&KIND)),
        ("requestResource", FieldType::Struct(&RESOURCE)),
        ("requestSubResource", FieldType::String),
        ("name", FieldType::String),
        ("namespace", FieldType::String),
        ("operation", FieldType::String),
        ("userInfo", FieldType::Struct(&USER_INFO)),
        ("dryRun", FieldType::Bool),
        ("options", FieldType::Dyn),
    ],
};

impl Struct {
    /// The type of a field.
    pub fn field(&'static self, name: &str) -> Option<Type> {
        let (_, of) = self.fields.iter().find(|(field, _)| *field == name)?;
        Some(match of {
            FieldType::String => Type::String,
            FieldType::Bool => Type::Bool,
            FieldType::Dyn => Type::Dyn,
            FieldType::Strings => Type::list(Type::String),
            FieldType::StringLists => Type::map(Type::String, Type::list(Type::String)),
            FieldType::Struct(inner) => Type::Struct(inner),
        })
    }
}

impl Type {
    pub fn list(of: Self) -> Self {
        Self::List(Box::new(of))
    }

    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    pub fn optional(of: Self) -> Self {
        Self::Optional(Box::new(of))
    }

    /// Whether a value of the one type may be one of the other.
    pub fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(one), Self::List(other)) | (Self::Optional(one), Self::Optional(other)) => {
                one.fits(other)
            }
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                key.fits(other_key) && value.fits(other_value)
            }
            (Self::Null, other) | (other, Self::Null) => matches!(
                other,
                Self::Null | Self::Named(_) | Self::Struct(_) | Self::Optional(_)
            ),
            (one, other) => one == other,
        }
    }

    pub fn is_dyn(&self) -> bool {
        *self == Self::Dyn
    }

    pub fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::UInt | Self::Double)
    }

    /// The type of either.
    pub fn join(self, other: &Self) -> Self {
        if self == *other { self } else { Self::Dyn }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => formatter.write_str("dyn"),
            Self::Null => formatter.write_str("null"),
            Self::Bool => formatter.write_str("bool"),
            Self::Int => formatter.write_str("int"),
            Self::UInt => formatter.write_str("uint"),
            Self::Double => formatter.write_str("double"),
            Self::String => formatter.write_str("string"),
            Self::Bytes => formatter.write_str("bytes"),
            Self::Meta => formatter.write_str("type"),
            Self::List(of) => write!(formatter, "list({of})"),
            Self::Map(key, value) => write!(formatter, "map({key}, {value})"),
            Self::Optional(of) => write!(formatter, "optional_type({of})"),
            Self::Named(name) => formatter.write_str(name),
            Self::Struct(of) => formatter.write_str(of.name),
        }
    }
}
