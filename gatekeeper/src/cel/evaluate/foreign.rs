//! Functions and values of the library: times, durations, quantities, URLs, addresses, versions and formats.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::objects::{Key, Map as ForeignMap, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value as Foreign};

use crate::cel::error::{EvalError, Evaluated};
use crate::cel::messages;
use crate::cel::value::Value;

thread_local! {
    static FUNCTIONS: Context<'static> = Context::default().with_all();
}

/// Whether a conversion of this literal fails.
pub fn constant_fails(name: &str, text: &str) -> bool {
    let value = Value::text(text);
    let converted = super::conversions::call(name, &[&value]);
    converted
        .unwrap_or_else(|| call(name, None, &[&value]))
        .is_err()
}

/// Calls a function of the library.
pub fn call<'a>(name: &str, target: Option<&Value<'a>>, arguments: &[&Value<'a>]) -> Evaluated<'a> {
    let convert = |value: &Value<'a>| to_foreign(value).ok_or_else(EvalError::no_overload);
    let identifier = |name: String| IdedExpr {
        id: 0,
        expr: Expr::Ident(name),
    };
    let mut variables = Vec::new();
    let mut parts = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        variables.push((format!("@{index}"), convert(argument)?));
        parts.push(identifier(format!("@{index}")));
    }
    // A name with a point is a function of a namespace.
    let (prefix, function) = match name.split_once('.') {
        Some((prefix, function)) if target.is_none() => (Some(prefix), function),
        _ => (None, name),
    };
    let target = match (target, prefix) {
        (Some(target), _) => {
            variables.push(("@target".to_owned(), convert(target)?));
            Some(identifier("@target".to_owned()))
        }
        (None, prefix) => prefix.map(|prefix| identifier(prefix.to_owned())),
    };
    let call = IdedExpr {
        id: 0,
        expr: Expr::Call(CallExpr {
            func_name: function.to_owned(),
            target: target.map(Box::new),
            args: parts,
        }),
    };
    let result = FUNCTIONS.with(|functions| {
        let mut scope = functions.new_inner_scope();
        for (name, value) in variables {
            scope.add_variable_from_value(name, value);
        }
        // The library panics on some of what it does not know.
        catch_unwind(AssertUnwindSafe(|| Foreign::resolve(&call, &scope)))
    });
    match result {
        Ok(Ok(value)) => from_foreign(value),
        Ok(Err(error)) => Err(error_of(name, arguments, &error)),
        Err(_) => Err(EvalError::new(messages::UNREADABLE)),
    }
}

/// The text that Gatekeeper has for an error of the library.
fn error_of(name: &str, arguments: &[&Value<'_>], error: &ExecutionError) -> EvalError {
    let argument = arguments.first().and_then(|one| one.as_str());
    let text = match (name, argument) {
        ("duration", Some(_)) => return EvalError::conversion("string", "google.protobuf.Duration"),
        ("timestamp", Some(text)) => format!("invalid RFC 3339 timestamp \"{text}\""),
        ("quantity", Some(_)) => {
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()
        }
        ("semver", Some(_)) => "No Major.Minor.Patch elements found".to_owned(),
        ("url", Some(text)) => format!(
            "URL parse error during conversion from string: parse \"{text}\": invalid URI for request"
        ),
        ("ip", Some(text)) => format!(
            "IP Address \"{text}\" parse error during conversion from string: ParseAddr(\"{text}\"): unable to parse IP"
        ),
        ("cidr", Some(text)) => {
            let prefix = "network address parse error during conversion from string: ";
            format!("{prefix}{prefix}netip.ParsePrefix(\"{text}\"): no '/'")
        }
        _ => match error {
            ExecutionError::FunctionError { message, .. } => message.clone(),
            ExecutionError::Overflow(..) => "integer overflow".to_owned(),
            _ => return EvalError::no_overload(),
        },
    };
    EvalError::new(text)
}

fn to_foreign(value: &Value<'_>) -> Option<Foreign> {
    Some(match value {
        Value::Null => Foreign::Null,
        Value::Bool(value) => Foreign::Bool(*value),
        Value::Int(value) => Foreign::Int(*value),
        Value::UInt(value) => Foreign::UInt(*value),
        Value::Double(value) => Foreign::Float(*value),
        Value::String(text) => Foreign::String(Arc::new(text.as_str().to_owned())),
        Value::Bytes(bytes) => Foreign::Bytes(bytes.clone()),
        Value::List(list) => {
            let values: Option<Vec<Foreign>> = list.iter().map(|one| to_foreign(&one)).collect();
            Foreign::List(Arc::new(values?))
        }
        Value::Map(map) => {
            let mut converted = HashMap::new();
            for (key, value) in map.entries() {
                let key = key_of(&key)?;
                converted.insert(key, to_foreign(&value)?);
            }
            Foreign::Map(ForeignMap {
                map: Arc::new(converted),
            })
        }
        Value::Optional(None) => Foreign::Opaque(Arc::new(OptionalValue::none())),
        Value::Optional(Some(held)) => {
            Foreign::Opaque(Arc::new(OptionalValue::of(to_foreign(held)?)))
        }
        Value::Foreign(value) => value.clone(),
        Value::Type(_) | Value::Format(_) => return None,
    })
}

fn key_of(value: &Value<'_>) -> Option<Key> {
    match value {
        Value::Bool(key) => Some(Key::Bool(*key)),
        Value::Int(key) => Some(Key::Int(*key)),
        Value::UInt(key) => Some(Key::Uint(*key)),
        Value::String(key) => Some(Key::String(Arc::new(key.as_str().to_owned()))),
        _ => None,
    }
}

fn from_foreign<'a>(value: Foreign) -> Evaluated<'a> {
    Ok(match value {
        Foreign::Null => Value::Null,
        Foreign::Bool(value) => Value::Bool(value),
        Foreign::Int(value) => Value::Int(value),
        Foreign::UInt(value) => Value::UInt(value),
        Foreign::Float(value) => Value::Double(value),
        Foreign::String(text) => Value::text(text.as_str()),
        Foreign::Bytes(bytes) => Value::Bytes(bytes),
        Foreign::List(list) => {
            let values: Result<Vec<Value<'a>>, EvalError> =
                list.iter().map(|one| from_foreign(one.clone())).collect();
            Value::list(values?)
        }
        Foreign::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.map.iter() {
                let key = match key {
                    Key::Int(key) => Value::Int(*key),
                    Key::Uint(key) => Value::UInt(*key),
                    Key::Bool(key) => Value::Bool(*key),
                    Key::String(key) => Value::text(key.as_str()),
                };
                entries.push((key, from_foreign(value.clone())?));
            }
            Value::map(entries)
        }
        Foreign::Opaque(_) => match <&OptionalValue>::try_from(&value) {
            Ok(optional) => match optional.value() {
                Some(held) => Value::some(from_foreign(held.clone())?),
                None => Value::Optional(None),
            },
            Err(_) => Value::Foreign(value),
        },
        Foreign::Function(..) => return Err(EvalError::no_overload()),
        other => Value::Foreign(other),
    })
}
