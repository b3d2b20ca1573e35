//! Values in fixtures: JSON whose strings carry the type, as `oracle/golang/yaml.go` writes them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reeve_go_compat::time::Time;
use reeve_go_compat::value::{Element, Key, List, Map, Value};
use serde_json::Value as Json;

/// The member that marks a `map[interface {}]interface {}`.
const GENERAL: &str = "\0general";
/// The member that marks a `map[string]interface {}` whose keys are no text.
const DICT: &str = "\0dict";
/// The member that marks an error.
#[allow(dead_code)] // not every test has errors in place of values
const ERROR: &str = "\0error";

/// The error in place of a value.
#[allow(dead_code)] // not every test has errors in place of values
pub fn error_of(json: &Json) -> Option<&str> {
    json.get(ERROR)?.as_str()
}

/// Bytes as text, or in base64 when they are no text.
pub fn bytes_of(case: &Json, text: &str, base64: &str) -> Vec<u8> {
    match (case.get(text), case.get(base64)) {
        (Some(Json::String(text)), _) => text.clone().into_bytes(),
        (_, Some(Json::String(encoded))) => STANDARD.decode(encoded).unwrap(),
        _ => Vec::new(),
    }
}

/// A value from its tagged form.
pub fn from_tagged(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => panic!("untagged number {number}"),
        Json::String(text) => scalar(text),
        Json::Array(items) => Value::list(items.iter().map(from_tagged)),
        Json::Object(entries) => match (entries.get(GENERAL), entries.get(DICT)) {
            (Some(Json::Array(pairs)), _) => {
                from_pairs(Map::typed(Element::Any, Element::Any), pairs)
            }
            (_, Some(Json::Array(pairs))) => from_pairs(Map::dict(), pairs),
            _ => Value::dict(
                entries
                    .iter()
                    .map(|(key, value)| (key.as_str(), from_tagged(value))),
            ),
        },
    }
}

fn from_pairs(map: Map, pairs: &[Json]) -> Value {
    for pair in pairs {
        let key = Key::from_value(&from_tagged(&pair[0])).unwrap();
        map.insert(key, from_tagged(&pair[1]));
    }
    Value::Map(map)
}

fn scalar(text: &str) -> Value {
    let (tag, text) = text.split_at(2);
    match tag {
        "s:" => Value::str(text),
        "b:" => Value::str(STANDARD.decode(text).unwrap()),
        "i:" => Value::Int(text.parse().unwrap()),
        "l:" => Value::Int64(text.parse().unwrap()),
        "u:" => Value::Uint64(text.parse().unwrap()),
        "f:" => Value::Float(text.parse().unwrap()),
        "t:" => time(text),
        "n:" if text == "list" => Value::List(List::nil(Element::Any)),
        "n:" => Value::Map(Map::nil()),
        _ => panic!("unknown tag {tag}"),
    }
}

fn time(text: &str) -> Value {
    let layout = b"2006-01-02T15:04:05.999999999Z07:00";
    let utc = &reeve_go_compat::time::Zone::Utc;
    let time: Time = reeve_go_compat::time::parse(layout, text.as_bytes(), utc).unwrap();
    time.into_value()
}

/// The tagged form of a value.
pub fn to_tagged(value: &Value) -> Json {
    match value {
        Value::Missing => Json::String("missing".to_owned()),
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::String(format!("i:{value}")),
        Value::Int64(value) => Json::String(format!("l:{value}")),
        Value::Uint8(value) => Json::String(format!("c:{value}")),
        Value::Uint64(value) => Json::String(format!("u:{value}")),
        Value::Float(value) => {
            let text = reeve_go_compat::printing::shortest_float(*value);
            Json::String(format!("f:{text}"))
        }
        Value::Str(text) => Json::String(match text.as_utf8() {
            Some(text) => format!("s:{text}"),
            None => format!("b:{}", STANDARD.encode(&text[..])),
        }),
        Value::List(list) => Json::Array(list.iter().map(to_tagged).collect()),
        Value::Map(map) if map.is_dict() && has_text_keys(map) => Json::Object(
            map.entries()
                .iter()
                .map(|(key, value)| match key {
                    Key::Str(key) => (key.as_utf8().unwrap().to_owned(), to_tagged(value)),
                    other => panic!("key {other:?} in a dict"),
                })
                .collect(),
        ),
        Value::Map(map) => {
            let pairs = map.entries();
            let pairs = pairs
                .iter()
                .map(|(key, value)| Json::Array(vec![to_tagged(&key.to_value()), to_tagged(value)]))
                .collect();
            let marker = if map.is_dict() { DICT } else { GENERAL };
            marked(marker, pairs)
        }
        Value::Struct(value) => panic!("struct {}", value.type_name()),
        Value::Native(native) => match native.as_any().downcast_ref::<Time>() {
            Some(time) => Json::String(format!("t:{}", time.rfc3339_nano())),
            None => panic!("native {}", native.type_name()),
        },
    }
}

fn has_text_keys(map: &Map) -> bool {
    map.entries()
        .iter()
        .all(|(key, _)| matches!(key, Key::Str(key) if key.as_utf8().is_some()))
}

/// Pairs in an order that both sides can make.
fn marked(marker: &str, mut pairs: Vec<Json>) -> Json {
    pairs.sort_by_key(Json::to_string);
    Json::Object(
        [(marker.to_owned(), Json::Array(pairs))]
            .into_iter()
            .collect(),
    )
}

/// Brings the pairs of general maps of a fixture into that order; times as keys become texts, as
/// which the engine holds them.
pub fn normalised(json: &Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.iter().map(normalised).collect()),
        Json::Object(entries) => {
            for marker in [GENERAL, DICT] {
                if let Some(Json::Array(pairs)) = entries.get(marker) {
                    return marked(marker, pairs.iter().map(normalised_pair).collect());
                }
            }
            Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), normalised(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

fn normalised_pair(pair: &Json) -> Json {
    let mut pair = normalised(pair);
    if let Some(Json::String(key)) = pair.get_mut(0)
        && let Some(time) = key.strip_prefix("t:")
    {
        *key = format!("s:{time}");
    }
    pair
}
