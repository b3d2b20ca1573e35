//! Go's `%#v`, for the errors that show a value.

use std::fmt::Write;

use crate::printing::shortest_float;
use crate::runes::quote;
use crate::time::Time;
use crate::time::{MONTHS, Zone};
use crate::value::{Key, Value};

/// How deep a value is shown.
const MAX_DEPTH: usize = 64;

/// `%#v` of a value that was read from YAML.
pub fn go_syntax(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value, 0);
    text
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    if depth > MAX_DEPTH {
        text.push('…');
        return;
    }
    match value {
        Value::Missing | Value::Nil => text.push_str("interface {}(nil)"),
        Value::Bool(value) => push(text, value),
        Value::Int(value) | Value::Int64(value) => push(text, value),
        Value::Uint8(value) => push(text, &format!("{value:#x}")),
        Value::Uint64(value) => push(text, &format!("{value:#x}")),
        Value::Float(value) => text.push_str(&shortest_float(*value)),
        Value::Str(value) => text.push_str(&quote(value)),
        Value::List(list) => {
            text.push_str(&list.type_name());
            write_items(text, list.iter(), |text, item| {
                write_value(text, item, depth + 1);
            });
        }
        Value::Map(map) => {
            text.push_str(&map.type_name());
            let mut entries = map.entries();
            // Go orders keys of different types by where those types are in the program.
            entries.sort_by_key(|(key, _)| match key {
                Key::Nil => 0,
                Key::Str(_) => 1,
                _ => 2,
            });
            write_items(text, entries.iter(), |text, (key, value)| {
                write_key(text, key);
                text.push(':');
                write_value(text, value, depth + 1);
            });
        }
        Value::Struct(_) | Value::Native(_) => text.push_str(&native(value)),
    }
}

fn write_items<T>(
    text: &mut String,
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    text.push('{');
    for (position, item) in items.enumerate() {
        if position > 0 {
            text.push_str(", ");
        }
        write(text, item);
    }
    text.push('}');
}

fn write_key(text: &mut String, key: &Key) {
    write_value(text, &key.to_value(), 0);
}

fn push(text: &mut String, value: &impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{value}");
}

/// `time.Time` prints as the call that makes it.
fn native(value: &Value) -> String {
    let time = match value {
        Value::Native(native) => native.as_any().downcast_ref::<Time>(),
        _ => None,
    };
    let Some(time) = time else {
        return value.type_name().into_owned();
    };
    let zone = match time.zone() {
        Zone::Utc => "time.UTC".to_owned(),
        zone => format!("time.Location({})", quote(zone.name())),
    };
    let civil = time.civil();
    let month = usize::try_from(civil.month - 1)
        .ok()
        .and_then(|month| MONTHS.get(month))
        .unwrap_or(&"");
    format!(
        "time.Date({}, time.{month}, {}, {}, {}, {}, {}, {zone})",
        civil.year,
        civil.day,
        civil.hour,
        civil.minute,
        civil.second,
        time.nanoseconds(),
    )
}
