//! Objects of built-in kinds in Protobuf, as Go's typed clients send them. No object is answered so: clients that ask for
//! it also take JSON. The `OpenAPI` v2 document is, since Go's clients take no other.

mod openapi;
mod types;
mod wire;
mod write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::json::{MOST_DEPTH, too_deep};
use types::{Other, Type};
use wire::{Field, Fields};

pub(crate) use openapi::openapi;

/// What a body in Protobuf begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProtobufError {
    /// It is none of Kubernetes.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    Prefix,
    /// It ends early, or is none at all.
    #[error("unexpected EOF")]
    Broken,
    /// Its messages are nested deeper than those of any object that can be kept.
    #[error("exceeded max depth of {MOST_DEPTH}")]
    TooDeep,
    /// There is no such kind, or it is not known in this form.
    #[error("no kind {kind:?} is registered for version {version:?}")]
    Kind {
        /// Its version, with the group.
        version: String,
        /// Its name.
        kind: String,
    },
}

/// Reads an object, with its version and kind.
pub(crate) fn parse(body: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(ProtobufError::Prefix)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), [].as_slice());
    for field in Fields::of(envelope) {
        let (number, field) = field?;
        match (number, field) {
            (1, Field::Bytes(named)) => {
                for field in Fields::of(named) {
                    match field? {
                        (1, Field::Bytes(text)) => version = lossy(text),
                        (2, Field::Bytes(text)) => kind = lossy(text),
                        _ => {}
                    }
                }
            }
            (2, Field::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let Some(name) = types::of_kind(&version, &kind) else {
        return Err(ProtobufError::Kind { version, kind });
    };
    let mut object = message(name, raw, 0)?;
    object.insert("apiVersion".to_owned(), version.into());
    object.insert("kind".to_owned(), kind.into());
    let object = Value::Object(object);
    // A message in a list or map is two levels of JSON.
    if too_deep(&object).is_some() {
        return Err(ProtobufError::TooDeep);
    }
    Ok(object)
}

/// Fields that are unknown are left out, as Go leaves them out.
fn message(
    name: &'static str,
    bytes: &[u8],
    depth: usize,
) -> Result<Map<String, Value>, ProtobufError> {
    if depth > MOST_DEPTH {
        return Err(ProtobufError::TooDeep);
    }
    let mut object = Map::new();
    for field in Fields::of(bytes) {
        let (number, field) = field?;
        let Some((property, of)) = types::field(name, number) else {
            continue;
        };
        match (of, property) {
            (Type::Message(inner), "") => {
                for (key, value) in message(inner, field.bytes()?, depth + 1)? {
                    object.insert(key, value);
                }
            }
            (Type::List(of), _) => {
                let value = single(of, field, depth)?;
                let list = object.entry(property).or_insert_with(|| json!([]));
                list.as_array_mut()
                    .ok_or(ProtobufError::Broken)?
                    .push(value);
            }
            (Type::Map(of), _) => {
                let (key, value) = entry(of, field.bytes()?, depth)?;
                let map = object.entry(property).or_insert_with(|| json!({}));
                map.as_object_mut()
                    .ok_or(ProtobufError::Broken)?
                    .insert(key, value);
            }
            (of, _) => {
                let value = single(of, field, depth)?;
                let is_omitted = matches!(of, Type::Omitted(_)) && is_zero(&value);
                if !value.is_null() && !is_omitted {
                    object.insert(property.to_owned(), value);
                }
            }
        }
    }
    Ok(object)
}

fn entry(of: &'static Type, bytes: &[u8], depth: usize) -> Result<(String, Value), ProtobufError> {
    let (mut key, mut value) = (String::new(), None);
    for field in Fields::of(bytes) {
        match field? {
            (1, field) => key = lossy(field.bytes()?),
            (2, field) => value = Some(single(of, field, depth)?),
            _ => {}
        }
    }
    let value = match (value, of) {
        (Some(value), _) => value,
        (None, Type::List(_)) => json!([]),
        (None, _) => Value::String(String::new()),
    };
    Ok((key, value))
}

fn single(of: &'static Type, field: Field<'_>, depth: usize) -> Result<Value, ProtobufError> {
    Ok(match of {
        Type::Text => lossy(field.bytes()?).into(),
        Type::Integer => field.integer()?.into(),
        Type::Bool => (field.integer()? != 0).into(),
        Type::Double => number(field.double()?),
        Type::Bytes => STANDARD.encode(field.bytes()?).into(),
        Type::Message(name) => Value::Object(message(name, field.bytes()?, depth + 1)?),
        Type::Either(other, name) => either(*other, name, field.bytes()?, depth)?,
        Type::Time => time(field.bytes()?)?,
        Type::Duration => {
            let nanos = find(field.bytes()?, 1)?.map_or(Ok(0), Field::integer)?;
            format!("{nanos}ns").into()
        }
        Type::Quantity => match find(field.bytes()?, 1)? {
            Some(text) => lossy(text.bytes()?).into(),
            None => "0".into(),
        },
        Type::IntegerOrText => integer_or_text(field.bytes()?)?,
        Type::Raw => match find(field.bytes()?, 1)? {
            Some(raw) => crate::json::parse(raw.bytes()?).map_err(|_| ProtobufError::Broken)?,
            None => Value::Null,
        },
        Type::Texts => {
            let mut texts = Vec::new();
            for item in Fields::of(field.bytes()?) {
                texts.push(lossy(item?.1.bytes()?).into());
            }
            Value::Array(texts)
        }
        Type::Omitted(of) => single(of, field, depth)?,
        // A list of lists, or of maps, is none of Protobuf's.
        Type::List(_) | Type::Map(_) => return Err(ProtobufError::Broken),
    })
}

fn is_zero(value: &Value) -> bool {
    *value == "" || *value == false || value.as_f64() == Some(0.0)
}

/// As Go writes a number in JSON: without a fraction where it has none.
fn number(value: f64) -> Value {
    // Every whole number below 2^53 is one of the machine's integers too.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it has no fraction and is small"
    )]
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        return (value as i64).into();
    }
    value.into()
}

/// As Go writes it in JSON: the list where there is one, or else the schema, or else nothing.
fn either(
    other: Other,
    name: &'static str,
    bytes: &[u8],
    depth: usize,
) -> Result<Value, ProtobufError> {
    let schema = |at| {
        let schema = find(bytes, at)?.map(|field| message(name, field.bytes()?, depth + 1));
        Ok(schema.transpose()?.map(Value::Object))
    };
    if other == Other::Bool {
        let allows = find(bytes, 1)?.map_or(Ok(0), Field::integer)?;
        return Ok(schema(2)?.unwrap_or_else(|| (allows != 0).into()));
    }
    let mut list = Vec::new();
    for field in Fields::of(bytes) {
        if let (2, field) = field? {
            list.push(match other {
                Other::Texts => lossy(field.bytes()?).into(),
                _ => Value::Object(message(name, field.bytes()?, depth + 1)?),
            });
        }
    }
    if list.is_empty() {
        return Ok(schema(1)?.unwrap_or_default());
    }
    Ok(Value::Array(list))
}

/// A time with microseconds, all six digits of them: `MicroTime` is read with no fewer, `Time` with any. No time at all is written as an empty
/// message.
fn time(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let Some(seconds) = find(bytes, 1)? else {
        return Ok(Value::Null);
    };
    let nanos = find(bytes, 2)?.map_or(Ok(0), Field::integer)?;
    let nanos = i32::try_from(nanos).map_err(|_| ProtobufError::Broken)?;
    let time = jiff::Timestamp::new(seconds.integer()?, nanos);
    let time = time.map_err(|_| ProtobufError::Broken)?;
    Ok(format!("{time:.6}").into())
}

fn integer_or_text(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let is_text = find(bytes, 1)?.map_or(Ok(0), Field::integer)? != 0;
    Ok(match find(bytes, if is_text { 3 } else { 2 })? {
        Some(text) if is_text => lossy(text.bytes()?).into(),
        Some(number) => number.integer()?.into(),
        None if is_text => "".into(),
        None => 0.into(),
    })
}

/// The field of a number.
fn find(bytes: &[u8], wanted: u64) -> Result<Option<Field<'_>>, ProtobufError> {
    let mut found = None;
    for field in Fields::of(bytes) {
        let (number, field) = field?;
        if number == wanted {
            found = Some(field);
        }
    }
    Ok(found)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::write::Message;
    use super::{MAGIC, ProtobufError, Value, json, parse};

    /// A definition in Protobuf with this schema of its objects.
    fn definition(schema: &Message) -> Vec<u8> {
        let (mut validation, mut version, mut spec) =
            (Message::default(), Message::default(), Message::default());
        validation.message(1, schema);
        version.message(4, &validation);
        spec.message(7, &version);
        let mut definition = Message::default();
        definition.message(2, &spec);
        body(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &definition,
        )
    }

    fn body(version: &str, kind: &str, object: &Message) -> Vec<u8> {
        let (mut types, mut envelope) = (Message::default(), Message::default());
        types.text(1, version);
        types.text(2, kind);
        envelope.message(1, &types);
        envelope.message(2, object);
        [MAGIC, &envelope.into_bytes()].concat()
    }

    fn schema(fields: impl FnOnce(&mut Message)) -> Message {
        let mut schema = Message::default();
        fields(&mut schema);
        schema
    }

    fn read(schema: &Message) -> Value {
        let object = parse(&definition(schema)).unwrap();
        object["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    }

    #[test]
    fn schema_unions_are_serialized_like_go() {
        let string = schema(|it| it.text(5, "string"));
        let union = |fields: &dyn Fn(&mut Message)| schema(|it| fields(it));
        let either = read(&schema(|it| {
            it.message(24, &union(&|it| it.message(2, &string)));
            it.message(30, &union(&|it| it.boolean(1, true)));
            it.message(33, &union(&|it| it.boolean(1, false)));
        }));
        let expected = json!({ "items": [{ "type": "string" }], "additionalProperties": true, "additionalItems": false });
        assert_eq!(either, expected);
        let both = read(&schema(|it| {
            let list = |it: &mut Message| {
                it.message(1, &string);
                it.message(2, &Message::default());
            };
            it.message(24, &union(&list));
            it.message(30, &union(&|it| it.message(2, &string)));
        }));
        let expected = json!({ "items": [{}], "additionalProperties": { "type": "string" } });
        assert_eq!(both, expected);
        let neither = read(&schema(|it| it.message(24, &Message::default())));
        assert_eq!(
            neither,
            json!({}),
            "Go writes a null, which it reads as nothing"
        );
    }

    #[test]
    fn times_have_all_digits_of_their_microseconds() {
        let renewed = |nanos| {
            let (mut time, mut spec, mut lease) =
                (Message::default(), Message::default(), Message::default());
            time.integer(1, 1_795_676_668);
            time.integer(2, nanos);
            spec.message(4, &time);
            lease.message(2, &spec);
            let object = parse(&body("coordination.k8s.io/v1", "Lease", &lease)).unwrap();
            object["spec"]["renewTime"].clone()
        };
        assert_eq!(renewed(0), "2026-11-26T07:04:28.000000Z");
        assert_eq!(renewed(332_730_000), "2026-11-26T07:04:28.332730Z");
        assert_eq!(renewed(332_731_999), "2026-11-26T07:04:28.332731Z");
    }

    #[test]
    fn zero_values_are_omitted_unless_behind_a_pointer() {
        let zeros = read(&schema(|it| {
            it.text(4, "");
            it.double(11, 0.0);
            it.boolean(12, false);
            it.integer(14, 0);
        }));
        assert_eq!(zeros, json!({ "minimum": 0, "minLength": 0 }));
    }

    #[test]
    fn schema_depth_is_limited() {
        let nested = |levels| {
            (0..levels).fold(Message::default(), |inner, _| {
                schema(|it| it.message(25, &inner))
            })
        };
        crate::stack::large(|| {
            // Each is a list with an object in it.
            assert!(parse(&definition(&nested(4_900))).is_ok());
            for levels in [5_000, 9_900, 20_000] {
                let deep = parse(&definition(&nested(levels)));
                assert!(matches!(deep, Err(ProtobufError::TooDeep)), "{levels}");
            }
        });
    }
}
