//! The rules of `x-kubernetes-validations`: CEL expressions about a value and the one it takes the place of.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map as CelMap, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};
use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::MAX_DEPTH;
use super::model::{Additional, Node, Rule, TypeId, Types, ValueType};
use super::program::Programs;
use super::scalars::type_name;
use crate::cel::{self, FUNCTIONS};
use crate::status_error::{Cause, FieldError};

/// The message when the rules exceed the budget of an object.
const EXCEEDED: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Checks the rules of one node. `field` is its path.
pub(super) fn check(
    types: &Types,
    id: TypeId,
    field: &str,
    value: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    let node = types.node(id);
    if node.rules.is_empty() || cel::is_exceeded() {
        return;
    }
    FUNCTIONS.with(|functions| {
        let itself = to_cel(types, Some(id), value, 0);
        let before = old.map(|old| to_cel(types, Some(id), old, 0));
        for rule in &node.rules {
            let programs = rule.compiled.programs(&rule.rule, &rule.message_expression);
            let mut scope = functions.new_inner_scope();
            scope.add_variable_from_value("self", itself.clone());
            match (&before, rule.optional_old_self) {
                (Some(before), false) => scope.add_variable_from_value("oldSelf", before.clone()),
                (None, false) if programs.transition => continue,
                (None, false) => {}
                (before, true) => {
                    let optional = before
                        .clone()
                        .map_or_else(OptionalValue::none, OptionalValue::of);
                    scope.add_variable_from_value("oldSelf", CelValue::Opaque(Arc::new(optional)));
                }
            }
            let broken = broken(rule, programs, &scope, field, value);
            if cel::is_exceeded() {
                let shown = Value::String(type_name(value).to_owned());
                let (cause, field) = (Cause::Invalid, named(field));
                errors.push(FieldError::of_value(cause, field, &shown, EXCEEDED));
                return;
            }
            errors.extend(broken);
        }
    });
}

/// The error if the rule does not hold.
fn broken(
    rule: &Rule,
    programs: &Programs,
    scope: &Context<'_>,
    field: &str,
    value: &Value,
) -> Option<FieldError> {
    let failed = |why: &str| {
        let shown = Value::String(type_name(value).to_owned());
        let about = if rule.message.is_empty() {
            &rule.rule
        } else {
            &rule.message
        };
        let detail = format!("{why} evaluating rule: {about}");
        Some(FieldError::of_value(
            Cause::Invalid,
            named(field),
            &shown,
            &detail,
        ))
    };
    let outcome = match &programs.rule {
        Ok(program) => cel::evaluate(program, scope),
        Err(error) => return failed(error),
    };
    match outcome {
        Ok(CelValue::Bool(true)) => None,
        Ok(CelValue::Bool(false)) => {
            let message = message(rule, programs, scope);
            Some(violation(rule, field, value, &message))
        }
        Ok(_) => failed("unexpected type of the result"),
        Err(ExecutionError::NoSuchKey(key)) => failed(&format!("no such key: {key}")),
        Err(ExecutionError::DivisionByZero(_)) => failed("division by zero"),
        Err(error) => failed(&error.to_string()),
    }
}

/// The whole object has no name.
fn named(field: &str) -> &str {
    if field.is_empty() { "<nil>" } else { field }
}

fn message(rule: &Rule, programs: &Programs, scope: &Context<'_>) -> String {
    let made = programs
        .message
        .as_ref()
        .map(|program| cel::evaluate(program, scope));
    if let Some(Ok(CelValue::String(text))) = made {
        let text = text.trim();
        if !text.is_empty() && !text.contains('\n') {
            return text.to_owned();
        }
    }
    if rule.message.is_empty() {
        format!("failed rule: {}", rule.rule.trim())
    } else {
        rule.message.trim().to_owned()
    }
}

/// Only scalars are shown.
fn violation(rule: &Rule, field: &str, value: &Value, message: &str) -> FieldError {
    let field = match (field, rule.field_path.as_str()) {
        (field, "") => named(field).to_owned(),
        ("", path) => path.trim_start_matches('.').to_owned(),
        (field, path) => format!("{field}{path}"),
    };
    let cause = match rule.reason.as_str() {
        "FieldValueForbidden" => return FieldError::new(Cause::Forbidden, field, message),
        "FieldValueRequired" => return FieldError::new(Cause::Required, field, message),
        "FieldValueDuplicate" => Cause::Duplicate,
        _ => Cause::Invalid,
    };
    let detail = if cause == Cause::Duplicate {
        ""
    } else {
        message
    };
    if value.is_object() || value.is_array() {
        FieldError::new(cause, field, detail)
    } else {
        FieldError::of_value(cause, field, value, detail)
    }
}

/// A value as the expressions see it.
pub(super) fn to_cel(types: &Types, id: Option<TypeId>, value: &Value, depth: usize) -> CelValue {
    if depth > MAX_DEPTH {
        return CelValue::Null;
    }
    let node = id.map(|id| types.node(id));
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => {
            let float = node.is_some_and(|node| node.value_type == ValueType::Number);
            match number.as_i64() {
                Some(whole) if !float => CelValue::Int(whole),
                _ => CelValue::Float(number.as_f64().unwrap_or_default()),
            }
        }
        Value::String(text) => string(node, text),
        Value::Array(list) => {
            let items = node
                .and_then(|node| node.items.as_ref())
                .map(|items| items.id);
            let all = list
                .iter()
                .map(|item| to_cel(types, items, item, depth + 1));
            CelValue::List(Arc::new(all.collect()))
        }
        Value::Object(object) => {
            let mut map = HashMap::with_capacity(object.len());
            for (name, inner) in object {
                let declared = node.and_then(|node| node.properties.get(name));
                let entry = match node.map(|node| &node.additional) {
                    Some(Additional::Of(edge)) => Some(edge),
                    _ => None,
                };
                let key = match declared {
                    Some(_) => escaped(name),
                    None => name.clone(),
                };
                let id = declared.or(entry).map(|edge| edge.id);
                let inner = to_cel(types, id, inner, depth + 1);
                map.insert(Key::String(Arc::new(key)), inner);
            }
            CelValue::Map(CelMap { map: Arc::new(map) })
        }
    }
}

/// Times, durations and bytes are values of their own.
fn string(node: Option<&Node>, text: &str) -> CelValue {
    let plain = CelValue::String(Arc::new(text.to_owned()));
    let typed = match node.filter(|node| node.value_type == ValueType::String) {
        Some(node) if matches!(node.format.as_str(), "date-time" | "datetime") => {
            format!("timestamp({})", quote(text))
        }
        Some(node) if node.format == "date" => {
            format!("timestamp({})", quote(format!("{text}T00:00:00Z")))
        }
        Some(node) if node.format == "duration" => format!("duration({})", quote(text)),
        _ => return plain,
    };
    let made = cel::parse(&typed).ok();
    made.and_then(|made| FUNCTIONS.with(|functions| cel::evaluate(&made, functions).ok()))
        .unwrap_or(plain)
}

/// The name of a field in an expression.
fn escaped(name: &str) -> String {
    const WORDS: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    if WORDS.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
