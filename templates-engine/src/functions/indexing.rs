//! `index`. Go's `slice` is not here: Sprig's, which takes lists only, stands in its place.

use super::define::{Answer, Group, any, takes_more};
use crate::function::Parameter::Reflect;
use crate::function::{Arguments, Env, Failure, Function};
use reeve_go_compat::value::{Element, Key, List, Map, Value};

const GO: Group = Group("Language");

/// The table of this topic.
pub(super) const FUNCTIONS: &[Function] = &[GO.function(
    "index",
    any(takes_more(&[Reflect], Reflect)),
    index,
    "value key…",
    "The element of a list, map or string under a key, and the element of that under the next. A key that a map does not have gives nothing; a position that a list does not have is an error.",
)];

fn index(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut item = match arguments.any(0) {
        Value::Nil | Value::Missing => return Err(Failure::text("index of untyped nil")),
        value => value.clone(),
    };
    for key in arguments.from(1) {
        item = match &item {
            Value::Nil | Value::Missing => return Err(Failure::text("index of nil pointer")),
            Value::List(list) => {
                let place = position(key, list.len())?;
                list.get(place)
                    .cloned()
                    .ok_or_else(|| Failure::text("reflect: slice index out of range"))?
            }
            Value::Str(text) => {
                let place = position(key, text.len())?;
                let byte = text.get(place).copied();
                Value::Uint8(
                    byte.ok_or_else(|| Failure::text("reflect: string index out of range"))?,
                )
            }
            Value::Map(map) => entry(map, key)?,
            other => {
                return Err(Failure::text(format!(
                    "can't index item of type {}",
                    other.pointed_to()
                )));
            }
        };
    }
    Ok(item)
}

/// A position up to the length itself, which only the access refuses.
fn position(key: &Value, length: usize) -> Result<usize, Failure> {
    let number: i128 = match key {
        Value::Int(number) | Value::Int64(number) => (*number).into(),
        Value::Uint8(number) => (*number).into(),
        // Go converts it to a signed number first.
        Value::Uint64(number) => number.cast_signed().into(),
        Value::Nil | Value::Missing => {
            return Err(Failure::text("cannot index slice/array with nil"));
        }
        other => {
            return Err(Failure::text(format!(
                "cannot index slice/array with type {}",
                other.type_name()
            )));
        }
    };
    usize::try_from(number)
        .ok()
        .filter(|place| *place <= length)
        .ok_or_else(|| Failure::text(format!("index out of range: {number}")))
}

fn entry(map: &Map, key: &Value) -> Result<Value, Failure> {
    let wanted = map.key_element();
    let fits = match (&wanted, key) {
        (Element::Any, _)
        | (Element::Str, Value::Str(_))
        | (Element::Bool, Value::Bool(_))
        | (Element::Float, Value::Float(_))
        | (
            Element::Int | Element::Int64,
            Value::Int(_) | Value::Int64(_) | Value::Uint8(_) | Value::Uint64(_),
        ) => true,
        (_, Value::Nil | Value::Missing) => {
            return Err(Failure::text(format!(
                "value is nil; should be of type {}",
                wanted.name()
            )));
        }
        _ => false,
    };
    let found = Key::from_value(key).filter(|_| fits);
    let Some(key) = found else {
        return Err(Failure::text(format!(
            "value has type {}; should be {}",
            key.type_name(),
            wanted.name()
        )));
    };
    let key = match (wanted, key) {
        (Element::Int | Element::Int64, Key::Uint(number)) => Key::Int(number.cast_signed()),
        (_, key) => key,
    };
    Ok(map.get(&key).unwrap_or_else(|| zero(&map.element())))
}

/// The zero value of an element type.
fn zero(element: &Element) -> Value {
    match element {
        Element::Any | Element::Named(_) => Value::Nil,
        Element::Bool => Value::Bool(false),
        Element::Int => Value::Int(0),
        Element::Int64 => Value::Int64(0),
        Element::Float => Value::Float(0.0),
        Element::Str => Value::from(""),
        Element::List(element) => Value::List(List::nil((**element).clone())),
        Element::Map(element) => {
            Value::Map(Map::typed(Element::Str, (**element).clone()).nil_of_same_type())
        }
    }
}
