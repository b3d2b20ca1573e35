//! JSON for a target with a Go type: what `encoding/json` does for structs.
//!
//! Types have few levels, so this recurses.

use serde_json::{Map, Number, Value};

use super::{json_float, kind};
use crate::quantity::Quantity;
use crate::runes::quote;
use crate::time::{self, Zone};

const RFC3339: &[u8] = b"2006-01-02T15:04:05Z07:00";

/// The type of a place, as Go declares it.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// A string, with the name of its type.
    Text(&'static str),
    /// `bool`
    Bool,
    /// `int32` or `int64`.
    Int(&'static str),
    /// A slice.
    List(&'static Self),
    /// A map whose keys are strings, with the name of its type.
    Map(&'static str, &'static Self),
    /// A pointer: only errors about a slice or a map of pointers show it.
    Pointer(&'static Self),
    /// A struct.
    Struct(&'static Struct),
    /// A type that takes any JSON and keeps it.
    Any,
    /// `resource.Quantity` of Kubernetes.
    Quantity,
    /// `intstr.IntOrString` of Kubernetes.
    IntOrString,
    /// `metav1.Time` of Kubernetes.
    Time,
}

/// `string`
pub const TEXT: Type = Type::Text("string");

/// A Go struct.
#[derive(Debug)]
pub struct Struct {
    /// Its name with the package, as errors print it.
    pub name: &'static str,
    /// Its fields, those of embedded structs included.
    pub fields: &'static [Field],
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    key: &'static str,
    of: Type,
    embedded: Option<&'static str>,
}

impl Field {
    /// A field with this key in JSON.
    pub const fn new(key: &'static str, of: Type) -> Self {
        let embedded = None;
        Self { key, of, embedded }
    }

    /// The field as one of an embedded struct, which errors name as a part of the path.
    #[must_use]
    pub const fn embedded(self, within: &'static str) -> Self {
        let embedded = Some(within);
        Self { embedded, ..self }
    }

    /// Its type, unless it is one of an embedded struct.
    pub(crate) fn direct_type(&self) -> Option<Type> {
        self.embedded.is_none().then_some(self.of)
    }
}

impl Struct {
    /// The field that Go decodes a key to: it prefers the exact name, and takes any case.
    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        let exact = self.fields.iter().find(|field| field.key == key);
        exact.or_else(|| {
            let key = fold(key);
            self.fields.iter().find(|field| fold(field.key) == key)
        })
    }
}

impl Type {
    /// The type as errors print it.
    pub fn name(&self) -> String {
        match self {
            Self::Text(name) | Self::Int(name) | Self::Map(name, _) => (*name).to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::List(of) => format!("[]{}", of.name()),
            Self::Pointer(of) => format!("*{}", of.name()),
            Self::Struct(of) => of.name.to_owned(),
            Self::Any => "interface {}".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Time => "v1.Time".to_owned(),
        }
    }
}

/// What to do with a key that a struct does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// The value is dropped.
    Ignore,
    /// It is an error.
    Refuse,
}

/// Why JSON does not fit a type, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedError {
    /// A struct has no field of this name.
    #[error("json: unknown field {}", quote(.0))]
    UnknownField(String),
    /// A value of another type at the root.
    #[error("json: cannot unmarshal {value} into Go value of type {expected}")]
    Root {
        /// What the value is.
        value: String,
        /// The type that it does not fit.
        expected: String,
    },
    /// A value of another type below a field.
    #[error(
        "json: cannot unmarshal {value} into Go struct field {holder}.{path} of type {expected}"
    )]
    Field {
        /// What the value is.
        value: String,
        /// The innermost struct on the way to the value, without its package.
        holder: String,
        /// The fields on the way from the root.
        path: String,
        /// The type that it does not fit.
        expected: String,
    },
    /// What a type with a decoder of its own says.
    #[error("{0}")]
    Other(String),
}

/// Reads a value as a type. The result has the fields as Go spells them and is without nulls.
///
/// As in Go the first value that does not fit is the error, unless a type with a decoder of its own refuses a later one:
/// Go stops there.
pub fn decode_typed(value: &Value, of: &Type, unknown: UnknownFields) -> Result<Value, TypedError> {
    let mut decoder = Decoder {
        unknown,
        first: None,
        holder: None,
        path: Vec::new(),
    };
    let read = decoder.value(value, of)?;
    match decoder.first {
        Some(error) => Err(error),
        None => Ok(read),
    }
}

struct Decoder {
    unknown: UnknownFields,
    first: Option<TypedError>,
    holder: Option<&'static str>,
    path: Vec<&'static str>,
}

impl Decoder {
    fn note(&mut self, error: TypedError) {
        self.first.get_or_insert(error);
    }

    fn mismatch(&self, value: String, expected: String) -> TypedError {
        match self.holder {
            None => TypedError::Root { value, expected },
            Some(holder) => TypedError::Field {
                value,
                holder: holder.rsplit('.').next().unwrap_or(holder).to_owned(),
                path: self.path.join("."),
                expected,
            },
        }
    }

    /// The value as it is in the decoded tree. One that does not fit is noted.
    fn value(&mut self, value: &Value, of: &Type) -> Result<Value, TypedError> {
        Ok(match (of, value) {
            (Type::Pointer(of), value) if !value.is_null() => return self.value(value, of),
            (Type::Any, _) | (Type::Text(_), Value::String(_)) | (Type::Bool, Value::Bool(_)) => {
                value.clone()
            }
            (_, Value::Null) => zero(of),
            (Type::Int(name), Value::Number(number)) => {
                if fits(number, name) {
                    value.clone()
                } else {
                    let number = format!("number {}", written(number));
                    self.note(self.mismatch(number, of.name()));
                    Value::Null
                }
            }
            (Type::List(of), Value::Array(items)) => {
                let items = items.iter().map(|item| self.value(item, of));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            (Type::Map(_, of), Value::Object(entries)) => {
                let mut decoded = Map::new();
                for (key, value) in entries {
                    decoded.insert(key.clone(), self.value(value, of)?);
                }
                Value::Object(decoded)
            }
            (Type::Struct(of), Value::Object(fields)) => Value::Object(self.fields(fields, of)?),
            (Type::Quantity, value) => quantity(value)?,
            (Type::IntOrString, value) => self.int_or_string(value)?,
            (Type::Time, value) => self.time(value)?,
            _ => {
                self.note(self.mismatch(kind(value).to_owned(), of.name()));
                Value::Null
            }
        })
    }

    fn fields(
        &mut self,
        fields: &Map<String, Value>,
        of: &'static Struct,
    ) -> Result<Map<String, Value>, TypedError> {
        let (holder, depth) = (self.holder, self.path.len());
        let mut decoded = Map::new();
        for (key, value) in fields {
            let Some(field) = of.field(key) else {
                if self.unknown == UnknownFields::Refuse {
                    self.note(TypedError::UnknownField(key.clone()));
                }
                continue;
            };
            // Null leaves a field as it is.
            if value.is_null() && !matches!(field.of, Type::Any) {
                continue;
            }
            self.holder = Some(of.name);
            self.path.extend(field.embedded);
            self.path.push(field.key);
            let value = self.value(value, &field.of)?;
            self.path.truncate(depth);
            self.holder = holder;
            match (decoded.get_mut(field.key), value) {
                // The same field in another case adds to it.
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                (_, value) => {
                    decoded.insert(field.key.to_owned(), value);
                }
            }
        }
        Ok(decoded)
    }

    fn int_or_string(&self, value: &Value) -> Result<Value, TypedError> {
        match value {
            Value::String(_) => Ok(value.clone()),
            Value::Number(number) if fits(number, "int32") => Ok(value.clone()),
            Value::Number(number) => {
                let number = format!("number {}", written(number));
                Err(self.mismatch(number, "int32".to_owned()))
            }
            other => Err(self.mismatch(kind(other).to_owned(), "int32".to_owned())),
        }
    }

    fn time(&self, value: &Value) -> Result<Value, TypedError> {
        let Value::String(text) = value else {
            return Err(self.mismatch(kind(value).to_owned(), "string".to_owned()));
        };
        match time::parse(RFC3339, text.as_bytes(), &Zone::Utc) {
            Ok(_) => Ok(value.clone()),
            Err(error) => Err(TypedError::Other(error)),
        }
    }
}

/// What null is in a list or a map.
fn zero(of: &Type) -> Value {
    match of {
        Type::Text(_) => Value::String(String::new()),
        Type::Bool => Value::Bool(false),
        Type::Int(_) | Type::IntOrString => Value::from(0),
        Type::Quantity => Value::String("0".to_owned()),
        Type::Struct(_) => Value::Object(Map::new()),
        Type::List(_) | Type::Map(..) | Type::Pointer(_) | Type::Any | Type::Time => Value::Null,
    }
}

/// An amount as Kubernetes writes it again. It may be a number, and any other JSON is no amount.
fn quantity(value: &Value) -> Result<Value, TypedError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => written(number),
        other => other.to_string(),
    };
    let text = text.trim();
    let canonical = match Quantity::parse(text) {
        Ok(amount) => amount.canonical(),
        Err(crate::quantity::QuantityError::TooLong) => None,
        Err(error) => return Err(TypedError::Other(error.to_string())),
    };
    Ok(Value::String(canonical.unwrap_or_else(|| text.to_owned())))
}

/// A number as Go writes it.
fn written(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => json_float(float),
        _ => number.to_string(),
    }
}

fn fits(number: &Number, of: &str) -> bool {
    let number = written(number);
    match of {
        "int32" => number.parse::<i32>().is_ok(),
        _ => number.parse::<i64>().is_ok(),
    }
}

/// A key without its case. Two letters beyond ASCII are variants of such within.
fn fold(key: &str) -> String {
    let folded = key.chars().map(|letter| match letter {
        'ſ' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    });
    folded.collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    static INNER: Struct = Struct {
        name: "v1.Inner",
        fields: &[
            Field::new("name", TEXT).embedded("Reference"),
            Field::new("seconds", Type::Int("int64")),
            Field::new("port", Type::IntOrString),
            Field::new("amount", Type::Quantity),
            Field::new("at", Type::Time),
            Field::new("raw", Type::Any),
        ],
    };
    static OUTER: Struct = Struct {
        name: "v1.Outer",
        fields: &[
            Field::new("flag", Type::Bool),
            Field::new("labels", Type::Map("map[string]string", &TEXT)),
            Field::new("items", Type::List(&Type::Pointer(&Type::Struct(&INNER)))),
        ],
    };

    fn decode(value: &Value) -> Result<Value, String> {
        let decoded = decode_typed(value, &Type::Struct(&OUTER), UnknownFields::Refuse);
        decoded.map_err(|error| error.to_string())
    }

    #[rstest]
    #[case::root(json!([]), "json: cannot unmarshal array into Go value of type v1.Outer")]
    #[case::items(json!({"items": {}}), "json: cannot unmarshal object into Go struct field Outer.items of type []*v1.Inner")]
    #[case::item(json!({"items": ["a"]}), "json: cannot unmarshal string into Go struct field Outer.items of type v1.Inner")]
    #[case::embedded(json!({"items": [{"name": 1}]}), "json: cannot unmarshal number into Go struct field Inner.items.Reference.name of type string")]
    #[case::number(json!({"items": [{"seconds": 1.5}]}), "json: cannot unmarshal number 1.5 into Go struct field Inner.items.seconds of type int64")]
    #[case::port(json!({"items": [{"port": true}]}), "json: cannot unmarshal bool into Go struct field Inner.items.port of type int32")]
    #[case::unknown(json!({"flag": true, "x": 1}), "json: unknown field \"x\"")]
    #[case::first_of_two(json!({"flag": 1, "x": 1}), "json: cannot unmarshal number into Go struct field Outer.flag of type bool")]
    #[case::own_decoder_ends_decoding(json!({"flag": 1, "items": [{"amount": "1Qi"}]}), "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    fn mismatch_is_named_in_the_words_of_go(#[case] given: Value, #[case] error: &str) {
        assert_eq!(decode(&given).unwrap_err(), error);
    }

    #[test]
    fn fields_are_read_in_any_case_and_nulls_dropped() {
        let given = json!({
            "FLAG": null, "labels": {"a": null},
            "items": [null, {"Name": "a", "\u{17f}econds": 5.0, "amount": 0.5, "raw": {"x": [1]}}],
        });
        let expected = json!({
            "labels": {"a": ""},
            "items": [null, {"name": "a", "seconds": 5.0, "amount": "500m", "raw": {"x": [1]}}],
        });
        assert_eq!(decode(&given), Ok(expected));
    }
}
