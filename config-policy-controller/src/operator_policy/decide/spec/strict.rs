//! Decodes the fields of OLM's specs as Go's strict decoder does: an unknown field or a value of another type is an
//! error that names the first one in alphabetical order. Pure.

use reeve_go_compat::json::typed::{Struct, Type, TypedError, UnknownFields, decode_typed};
use serde_json::{Map, Value};

use crate::go_types::{OPERATOR_GROUP_SPEC, SUBSCRIPTION_SPEC};
use crate::messages::operator as messages;

/// The spec of a Subscription, with the field names as OLM writes them.
pub fn subscription_spec(fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    decode(fields, &SUBSCRIPTION_SPEC, "SubscriptionSpec")
}

/// The spec of an `OperatorGroup`, with the field names as OLM writes them.
pub fn operator_group_spec(fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    decode(fields, &OPERATOR_GROUP_SPEC, "OperatorGroupSpec")
}

fn decode(
    fields: &Map<String, Value>,
    of: &'static Struct,
    spec: &str,
) -> Result<Map<String, Value>, String> {
    let fields = Value::Object(fields.clone());
    match decode_typed(&fields, &Type::Struct(of), UnknownFields::Refuse) {
        Ok(Value::Object(decoded)) => Ok(decoded),
        Ok(_) => Ok(Map::new()),
        // The message names the spec, where Go's own text names the innermost struct.
        Err(TypedError::Field {
            value,
            path,
            expected,
            ..
        }) => Err(messages::wrong_type(
            &value,
            &format!("{spec}.{path}"),
            &expected,
        )),
        Err(error) => Err(error.to_string()),
    }
}
