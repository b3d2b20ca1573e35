//! An `OpenAPI` v2 document in Protobuf: the messages of `openapi_v2` (gnostic), which clients of Go read.

use serde_json::{Map, Value};

use super::write::Message;

/// How a field of a schema is written.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Texts,
    Integer,
    Double,
    Boolean,
    /// Any value, as YAML.
    Any,
    Anys,
    /// A schema in a message of its own.
    Items,
    /// A schema or a boolean.
    Additional,
    /// Schemas by name.
    Schemas,
    /// A text or several, in a message of its own.
    Types,
}

/// The fields of a schema: their names, numbers and forms.
const SCHEMA: &[(&str, u64, Form)] = &[
    ("$ref", 1, Form::Text),
    ("format", 2, Form::Text),
    ("title", 3, Form::Text),
    ("description", 4, Form::Text),
    ("default", 5, Form::Any),
    ("multipleOf", 6, Form::Double),
    ("maximum", 7, Form::Double),
    ("exclusiveMaximum", 8, Form::Boolean),
    ("minimum", 9, Form::Double),
    ("exclusiveMinimum", 10, Form::Boolean),
    ("maxLength", 11, Form::Integer),
    ("minLength", 12, Form::Integer),
    ("pattern", 13, Form::Text),
    ("maxItems", 14, Form::Integer),
    ("minItems", 15, Form::Integer),
    ("uniqueItems", 16, Form::Boolean),
    ("maxProperties", 17, Form::Integer),
    ("minProperties", 18, Form::Integer),
    ("required", 19, Form::Texts),
    ("enum", 20, Form::Anys),
    ("additionalProperties", 21, Form::Additional),
    ("type", 22, Form::Types),
    ("items", 23, Form::Items),
    ("properties", 25, Form::Schemas),
    ("example", 30, Form::Any),
];

/// The methods of a path, with their numbers.
const METHODS: &[(&str, u64)] = &[
    ("get", 2),
    ("put", 3),
    ("post", 4),
    ("delete", 5),
    ("patch", 8),
];

/// Writes a document.
pub(crate) fn openapi(document: &Value) -> Vec<u8> {
    let text = |path: &str| {
        let text = document.pointer(path).and_then(Value::as_str);
        text.unwrap_or_default()
    };
    let mut whole = Message::default();
    whole.text(1, text("/swagger"));
    let mut info = Message::default();
    info.text(1, text("/info/title"));
    info.text(2, text("/info/version"));
    whole.message(2, &info);
    let mut paths = Message::default();
    for (path, item) in fields(document, "paths") {
        paths.message(2, &named(path, &path_item(item)));
    }
    whole.message(8, &paths);
    whole.message(9, &schemas(fields(document, "definitions")));
    whole.into_bytes()
}

fn fields<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let fields = value.get(field).and_then(Value::as_object);
    fields.into_iter().flatten()
}

fn named(name: &str, value: &Message) -> Message {
    let mut message = Message::default();
    message.text(1, name);
    message.message(2, value);
    message
}

fn any(value: &Value) -> Message {
    let mut message = Message::default();
    // Every JSON is YAML.
    message.text(2, &value.to_string());
    message
}

fn schemas<'a>(all: impl Iterator<Item = (&'a String, &'a Value)>) -> Message {
    let mut message = Message::default();
    for (name, value) in all {
        message.message(1, &named(name, &schema(value)));
    }
    message
}

fn schema(value: &Value) -> Message {
    let mut message = Message::default();
    for (name, number, form) in SCHEMA {
        if let Some(value) = value.get(name) {
            field(&mut message, *number, *form, value);
        }
    }
    extensions(&mut message, 31, value);
    message
}

fn field(message: &mut Message, number: u64, form: Form, value: &Value) {
    let texts = || {
        let several = value.as_array().into_iter().flatten();
        several.filter_map(Value::as_str).chain(value.as_str())
    };
    match form {
        Form::Text => message.text(number, value.as_str().unwrap_or_default()),
        Form::Texts => texts().for_each(|text| message.text(number, text)),
        Form::Integer => message.integer(number, value.as_i64().unwrap_or_default()),
        Form::Double => message.double(number, value.as_f64().unwrap_or_default()),
        Form::Boolean => message.boolean(number, value == true),
        Form::Any => message.message(number, &any(value)),
        Form::Anys => {
            for one in value.as_array().into_iter().flatten() {
                message.message(number, &any(one));
            }
        }
        Form::Items => {
            let mut items = Message::default();
            items.message(1, &schema(value));
            message.message(number, &items);
        }
        Form::Additional => {
            let mut item = Message::default();
            match value {
                Value::Bool(allowed) => item.boolean(2, *allowed),
                value => item.message(1, &schema(value)),
            }
            message.message(number, &item);
        }
        Form::Schemas => {
            let all = value.as_object().into_iter().flatten();
            message.message(number, &schemas(all));
        }
        Form::Types => {
            let mut types = Message::default();
            texts().for_each(|text| types.text(1, text));
            message.message(number, &types);
        }
    }
}

/// What begins with `x-`.
fn extensions(message: &mut Message, number: u64, of: &Value) {
    let all = of.as_object().into_iter().flat_map(Map::iter);
    for (name, value) in all.filter(|(name, _)| name.starts_with("x-")) {
        message.message(number, &named(name, &any(value)));
    }
}

fn path_item(item: &Value) -> Message {
    let mut message = Message::default();
    for (method, number) in METHODS {
        if let Some(value) = item.get(method) {
            message.message(*number, &operation(value));
        }
    }
    message
}

fn operation(value: &Value) -> Message {
    let mut message = Message::default();
    let parameters = value.get("parameters").and_then(Value::as_array);
    for parameter in parameters.into_iter().flatten() {
        message.message(8, &query_parameter(parameter));
    }
    let mut responses = Message::default();
    for (code, value) in fields(value, "responses") {
        responses.message(1, &named(code, &response(value)));
    }
    message.message(9, &responses);
    extensions(&mut message, 13, value);
    message
}

/// A parameter, which is in the query: there are no others here.
fn query_parameter(value: &Value) -> Message {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut query = Message::default();
    query.text(2, text("in"));
    query.text(4, text("name"));
    query.text(6, text("type"));
    query.boolean(20, value.get("uniqueItems") == Some(&true.into()));
    within(&[1, 2, 3], query)
}

fn response(value: &Value) -> Message {
    let mut message = Message::default();
    let description = value.get("description").and_then(Value::as_str);
    message.text(1, description.unwrap_or_default());
    if let Some(value) = value.get("schema") {
        message.message(2, &within(&[1], schema(value)));
    }
    within(&[1], message)
}

/// A message in messages that have but this field, outermost first.
fn within(numbers: &[u64], inner: Message) -> Message {
    numbers.iter().rev().fold(inner, |inner, number| {
        let mut outer = Message::default();
        outer.message(*number, &inner);
        outer
    })
}
