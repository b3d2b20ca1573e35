//! JSON and YAML functions.

use super::define::{Answer, charge_bytes, charge_items};
use crate::budget::Meter;
use crate::function::{Arguments, Body, Env, Failure, Function, Parameter, Signature};
use reeve_go_compat::json::{self, Escape, JsonError};
use reeve_go_compat::value::Value;
use reeve_go_compat::yaml::{self, YamlError};

const GROUP: &str = "JSON and YAML";

const VALUE: Signature = Signature {
    fixed: &[Parameter::Any],
    variadic: None,
    returns_any: false,
};

const TEXT: Signature = Signature {
    fixed: &[Parameter::Str],
    variadic: None,
    returns_any: true,
};

const fn to_text(name: &'static str, body: Body, help: &'static str) -> Function {
    Function {
        name,
        signature: VALUE,
        body,
        group: GROUP,
        usage: "value",
        help,
    }
}

const fn from_text(name: &'static str, body: Body, help: &'static str) -> Function {
    Function {
        name,
        signature: TEXT,
        body,
        group: GROUP,
        usage: "text",
        help,
    }
}

const TO_JSON: &str = "The value as JSON on one line, keys sorted. `<`, `>` and `&` are written \
    as `\\u003c`, `\\u003e` and `\\u0026`. Empty when the value has no form in JSON.";
const MUST_TO_JSON: &str = "The same as `toJson`, but fails when the value has no form in JSON.";
const TO_RAW_JSON: &str = "The value as JSON on one line, keys sorted, with `<`, `>` and `&` as \
    they are. Fails when the value has no form in JSON.";
const MUST_TO_RAW_JSON: &str = "The same as `toRawJson`.";
const FROM_JSON: &str = "The value that the JSON text means. Every number becomes a `float64`. \
    Nil when the text is not JSON.";
const MUST_FROM_JSON: &str = "The same as `fromJson`, but fails when the text is not JSON.";
const TO_YAML: &str = "The value as YAML with an indentation of 2, keys sorted, without a line \
    break at the end.";
const FROM_YAML: &str = "The value that the YAML text means: integers become `int`, other numbers \
    `float64`, unquoted dates times. Only the first document is read. Fails when the text is not \
    YAML.";

/// The functions, in both spellings where there are two.
pub const FUNCTIONS: &[Function] = &[
    to_text("toJson", to_json, TO_JSON),
    to_text("toJSON", to_json, TO_JSON),
    to_text("mustToJson", must_to_json, MUST_TO_JSON),
    to_text("mustToJSON", must_to_json, MUST_TO_JSON),
    to_text("toRawJson", to_raw_json, TO_RAW_JSON),
    to_text("toRawJSON", to_raw_json, TO_RAW_JSON),
    to_text("mustToRawJson", to_raw_json, MUST_TO_RAW_JSON),
    to_text("mustToRawJSON", to_raw_json, MUST_TO_RAW_JSON),
    to_text(
        "toPrettyJson",
        to_pretty_json,
        "The value as JSON over several lines, indented by 2, keys sorted. Empty when the value \
         has no form in JSON.",
    ),
    to_text(
        "mustToPrettyJson",
        must_to_pretty_json,
        "The same as `toPrettyJson`, but fails when the value has no form in JSON.",
    ),
    from_text("fromJson", from_json, FROM_JSON),
    from_text("fromJSON", from_json, FROM_JSON),
    from_text("mustFromJson", must_from_json, MUST_FROM_JSON),
    from_text("mustFromJSON", must_from_json, MUST_FROM_JSON),
    to_text("toYaml", to_yaml, TO_YAML),
    to_text("toYAML", to_yaml, TO_YAML),
    from_text("fromYaml", from_yaml, FROM_YAML),
    from_text("fromYAML", from_yaml, FROM_YAML),
];

impl From<JsonError> for Failure {
    fn from(error: JsonError) -> Self {
        Self::text(error.to_string())
    }
}

impl From<YamlError> for Failure {
    fn from(error: YamlError) -> Self {
        Self::text(error.to_string())
    }
}

/// Empty in place of an error that is the value's fault.
fn or_empty(result: Result<Vec<u8>, Failure>) -> Answer {
    match result {
        Ok(text) => Ok(Value::str(text)),
        Err(Failure::Text(_)) => Ok(Value::str("")),
        Err(limit) => Err(limit),
    }
}

fn compact(meter: &mut Meter, value: &Value, escape: Escape) -> Result<Vec<u8>, Failure> {
    json::encode_charged(value, escape, &mut |count| Ok(meter.bytes(count)?))
}

fn pretty(meter: &mut Meter, value: &Value) -> Result<Vec<u8>, Failure> {
    let compact = compact(meter, value, Escape::Html)?;
    json::indent(&compact, "", "  ", &mut |count| Ok(meter.bytes(count)?))
}

fn to_json(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    or_empty(compact(env.meter, arguments.any(0), Escape::Html))
}

fn must_to_json(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    compact(env.meter, arguments.any(0), Escape::Html).map(Value::str)
}

fn to_raw_json(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    compact(env.meter, arguments.any(0), Escape::None).map(Value::str)
}

fn to_pretty_json(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    or_empty(pretty(env.meter, arguments.any(0)))
}

fn must_to_pretty_json(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    pretty(env.meter, arguments.any(0)).map(Value::str)
}

/// Values take many times their text, so that those that there can be are charged before anything
/// is read.
fn charge(env: &mut Env<'_>, text: &[u8]) -> Result<(), Failure> {
    charge_bytes(env, text.len())?;
    let ends = text
        .iter()
        .filter(|byte| matches!(byte, b',' | b':' | b'\n' | b'[' | b'{' | b'-'))
        .count();
    charge_items(env, text.len() / 16 + ends)
}

fn from_json(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge(env, text)?;
    Ok(json::decode_partly(text).0)
}

fn must_from_json(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge(env, text)?;
    Ok(json::decode(text)?)
}

fn to_yaml(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let meter = &mut *env.meter;
    let encoded = yaml::encode_charged(arguments.any(0), &mut |count| Ok(meter.bytes(count)?));
    let mut text = encoded.map_err(|failure| match failure {
        Failure::Text(error) => Failure::text(format!("yaml marshal error: {error}")),
        limit => limit,
    })?;
    if text.ends_with(b"\n") {
        text.pop();
    }
    Ok(Value::str(text))
}

fn from_yaml(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge(env, text)?;
    Ok(yaml::decode(text)?)
}
