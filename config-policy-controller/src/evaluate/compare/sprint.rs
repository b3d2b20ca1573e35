//! How Go prints a value (`fmt.Sprint`), which is what decides whether two scalars are "the same".

use reeve_go_compat::printing;
use serde_json::Value;

/// The text Go prints for a decoded JSON value: `<nil>`, `map[a:1 b:2]`, `[x y]`, `1e+06`.
///
/// Map keys are sorted, strings are verbatim.
pub fn sprint(value: &Value) -> String {
    String::from_utf8_lossy(&printing::display(&value.into())).into_owned()
}

/// Whether the two values would be the same to a reader of [`sprint`], without its collisions:
/// containers are compared item by item, only scalars by their text (so `1` equals `"1"`).
pub fn same_text(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_text(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same_text(a, b)))
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
        (a, b) => sprint(a) == sprint(b),
    }
}

/// The Go type a decoded JSON value has, as error messages name it.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
