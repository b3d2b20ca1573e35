//! Values of expressions. Objects are not copied: their lists and maps are borrowed.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value as Foreign;
use serde_json::{Map as JsonMap, Number};

use crate::Json;

/// Bytes of a text that cost a unit.
pub const BYTES_OF_A_UNIT: usize = 8;

#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<Vec<u8>>),
    List(List<'a>),
    Map(Map<'a>),
    Type(&'static str),
    Optional(Option<Arc<Self>>),
    /// A named format.
    Format(&'static str),
    /// A value of the library: a time, a duration, a quantity and the like.
    Foreign(Foreign),
}

#[derive(Clone, Debug)]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

#[derive(Clone, Debug)]
pub enum List<'a> {
    Borrowed(&'a [Json]),
    Shared(Arc<Vec<Value<'a>>>),
}

impl<'a> List<'a> {
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(list) => list.len(),
            Self::Shared(list) => list.len(),
        }
    }

    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Borrowed(list) => list.get(index).map(Value::of_json),
            Self::Shared(list) => list.get(index).cloned(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

#[derive(Clone, Debug)]
pub enum Map<'a> {
    Borrowed(&'a JsonMap<String, Json>),
    Shared(Arc<Vec<(Value<'a>, Value<'a>)>>),
}

impl<'a> Map<'a> {
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(map) => map.len(),
            Self::Shared(map) => map.len(),
        }
    }

    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Borrowed(map) => map.get(name).map(Value::of_json),
            Self::Shared(map) => map
                .iter()
                .find(|(key, _)| key.as_str() == Some(name))
                .map(|(_, value)| value.clone()),
        }
    }

    pub fn get(&self, key: &Value<'_>) -> Option<Value<'a>> {
        if let Value::String(name) = key {
            return self.field(name.as_str());
        }
        match self {
            Self::Borrowed(_) => None,
            Self::Shared(map) => map
                .iter()
                .find(|(one, _)| one.equals(key))
                .map(|(_, value)| value.clone()),
        }
    }

    pub fn entries(&self) -> Vec<(Value<'a>, Value<'a>)> {
        match self {
            Self::Borrowed(map) => map
                .iter()
                .map(|(key, value)| (Value::String(Text::Borrowed(key)), Value::of_json(value)))
                .collect(),
            Self::Shared(map) => map.to_vec(),
        }
    }
}

impl<'a> Value<'a> {
    pub fn of_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::of_number(number),
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(list) => Self::List(List::Borrowed(list)),
            Json::Object(map) => Self::Map(Map::Borrowed(map)),
        }
    }

    fn of_number(number: &Number) -> Self {
        match number.as_i64() {
            Some(value) => Self::Int(value),
            None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    pub fn text(text: impl AsRef<str>) -> Self {
        Self::String(Text::Shared(text.as_ref().into()))
    }

    pub fn list(values: Vec<Self>) -> Self {
        Self::List(List::Shared(Arc::new(values)))
    }

    pub fn map(entries: Vec<(Self, Self)>) -> Self {
        Self::Map(Map::Shared(Arc::new(entries)))
    }

    pub fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Foreign(Foreign::Timestamp(_)) => "google.protobuf.Timestamp",
            Self::Foreign(Foreign::Duration(_)) => "google.protobuf.Duration",
            Self::Foreign(Foreign::Opaque(value)) => match value.runtime_type_name() {
                name if name.ends_with("IP") => "net.IP",
                name if name.ends_with("CIDR") => "net.CIDR",
                name if name.ends_with("URL") || name.ends_with("Url") => "kubernetes.URL",
                name if name.ends_with("Quantity") => "kubernetes.Quantity",
                name if name.ends_with("Semver") => "kubernetes.Semver",
                _ => "dyn",
            },
            Self::Foreign(_) => "dyn",
        }
    }

    /// What it costs to go through a value, at most `limit`: a unit for each of its parts, and one for some bytes of a text. A part
    /// that several others share counts for each of them, and a made map as often as its keys are searched.
    pub fn cost(&self, limit: u64) -> u64 {
        let mut left = limit;
        self.spend_from(&mut left);
        limit - left
    }

    fn spend_from(&self, left: &mut u64) {
        let own = match self {
            Self::String(text) => text.as_str().len() / BYTES_OF_A_UNIT,
            Self::Bytes(bytes) => bytes.len() / BYTES_OF_A_UNIT,
            Self::Map(Map::Shared(map)) => map.len().saturating_mul(map.len()),
            _ => 0,
        };
        let own = u64::try_from(own).unwrap_or(u64::MAX);
        *left = left.saturating_sub(own.saturating_add(1));
        let mut go_on = |part: &Value<'_>| {
            part.spend_from(left);
            *left > 0
        };
        match self {
            Self::List(List::Borrowed(list)) => {
                list.iter().all(|part| go_on(&Value::of_json(part)));
            }
            Self::List(List::Shared(list)) => {
                list.iter().all(&mut go_on);
            }
            Self::Map(Map::Borrowed(map)) => {
                map.values().all(|part| go_on(&Value::of_json(part)));
            }
            Self::Map(Map::Shared(map)) => {
                map.iter().all(|(key, value)| go_on(key) && go_on(value));
            }
            Self::Optional(Some(held)) => {
                go_on(held);
            }
            _ => {}
        }
    }

    /// Whether two values are equal: numbers by their value, others of one type only.
    pub fn equals(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(one), Value::Bool(other)) => one == other,
            (Self::String(one), Value::String(other)) => one.as_str() == other.as_str(),
            (Self::Bytes(one), Value::Bytes(other)) => one == other,
            (Self::Type(one), Value::Type(other)) | (Self::Format(one), Value::Format(other)) => {
                one == other
            }
            (Self::List(one), Value::List(other)) => {
                one.len() == other.len()
                    && one
                        .iter()
                        .zip(other.iter())
                        .all(|(one, other)| one.equals(&other))
            }
            (Self::Map(one), Value::Map(other)) => {
                one.len() == other.len()
                    && one.entries().iter().all(|(key, value)| {
                        other.get(key).is_some_and(|other| value.equals(&other))
                    })
            }
            (Self::Optional(one), Value::Optional(other)) => match (one, other) {
                (Some(one), Some(other)) => one.equals(other),
                (one, other) => one.is_none() && other.is_none(),
            },
            (Self::Foreign(one), Value::Foreign(other)) => one == other,
            _ => self.compare_numbers(other) == Some(Ordering::Equal),
        }
    }

    fn compare_numbers(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self.as_integer(), other.as_integer()) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            _ => self.as_number()?.partial_cmp(&other.as_number()?),
        }
    }

    fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::UInt(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
    fn as_number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::UInt(value) => Some(*value as f64),
            Self::Double(value) => Some(*value),
            _ => None,
        }
    }

    /// How two values are ordered; none if their types have no order.
    pub fn compare(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
            (Self::String(one), Value::String(other)) => Some(one.as_str().cmp(other.as_str())),
            (Self::Bytes(one), Value::Bytes(other)) => Some(one.cmp(other)),
            (Self::Foreign(Foreign::Timestamp(one)), Value::Foreign(Foreign::Timestamp(other))) => {
                Some(one.cmp(other))
            }
            (Self::Foreign(Foreign::Duration(one)), Value::Foreign(Foreign::Duration(other))) => {
                Some(one.cmp(other))
            }
            _ => self.compare_numbers(other),
        }
    }

    /// Whether the type has an order.
    pub fn is_ordered(&self) -> bool {
        matches!(
            self,
            Self::Bool(_)
                | Self::Int(_)
                | Self::UInt(_)
                | Self::Double(_)
                | Self::String(_)
                | Self::Bytes(_)
                | Self::Foreign(Foreign::Timestamp(_) | Foreign::Duration(_))
        )
    }
}
