//! The function `external_data`, which answers with what a test gives.

use regorus::Value;

use crate::external_data::ExternalData;
use crate::messages;
use crate::rego::value::{object, to_object_value};

/// The status code of an answer, as that of HTTP.
const ANSWERED: u64 = 200;
const REFUSED: u64 = 400;

/// What `external_data` gives a template: `responses` and `errors` are lists of a key and what it has.
pub fn respond(external_data: &ExternalData, request: &Value) -> Value {
    let member = |name: &str| request.as_object().ok()?.get(&Value::from(name)).cloned();
    let provider = match member("provider") {
        Some(Value::String(name)) => name.to_string(),
        _ => return refused(&messages::no_provider_name()),
    };
    let Some(values) = external_data.provider(&provider) else {
        return refused(&messages::unknown_provider(&provider));
    };
    let keys: Vec<Value> = match member("keys") {
        Some(Value::Array(keys)) => keys.iter().cloned().collect(),
        Some(Value::Set(keys)) => keys.iter_sorted().cloned().collect(),
        _ => return refused(&messages::no_keys(&provider)),
    };
    let mut responses = Vec::new();
    let mut errors = Vec::new();
    for key in keys {
        let Value::String(name) = &key else {
            return refused(&messages::no_keys(&provider));
        };
        if let Some(value) = values.get(name.as_ref()) {
            responses.push(pair(key, to_object_value(value)));
        } else {
            let error = messages::no_stub(&provider, name);
            errors.push(pair(key, error.into()));
        }
    }
    answer(responses, errors, ANSWERED, "")
}

fn pair(key: Value, value: Value) -> Value {
    Value::from(vec![key, value])
}

fn refused(error: &str) -> Value {
    answer(Vec::new(), Vec::new(), REFUSED, error)
}

fn answer(responses: Vec<Value>, errors: Vec<Value>, status_code: u64, error: &str) -> Value {
    object([
        ("responses", Value::from(responses)),
        ("errors", Value::from(errors)),
        ("status_code", Value::from(status_code)),
        ("system_error", Value::from(error)),
    ])
}
