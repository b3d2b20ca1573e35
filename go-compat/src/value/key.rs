use std::cmp::Ordering;

use super::{Str, Value};

/// A map key. Ordered as Go's `fmt` prints maps: strings bytewise, numbers numerically.
#[derive(Clone, Debug)]
pub enum Key {
    /// A nil interface.
    Nil,
    /// `bool`
    Bool(bool),
    /// `int` (`int64` in a map of `int64` keys).
    Int(i64),
    /// `uint64`
    Uint(u64),
    /// `float64`
    Float(f64),
    /// `string`
    Str(Str),
}

impl Key {
    fn rank(&self) -> u8 {
        match self {
            Self::Nil => 0,
            Self::Bool(_) => 1,
            Self::Int(_) => 2,
            Self::Uint(_) => 3,
            Self::Float(_) => 4,
            Self::Str(_) => 5,
        }
    }

    /// The key as a value.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Nil => Value::Nil,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint64(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Str(value) => Value::Str(value.clone()),
        }
    }

    /// The value as a key, if its type can be one.
    pub fn from_value(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Missing | Value::Nil => Self::Nil,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) | Value::Int64(value) => Self::Int(*value),
            Value::Uint8(value) => Self::Uint((*value).into()),
            Value::Uint64(value) => Self::Uint(*value),
            Value::Float(value) => Self::Float(*value),
            Value::Str(value) => Self::Str(value.clone()),
            _ => return None,
        })
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Str(a), Self::Str(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Uint(a), Self::Uint(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}
