//! Calls of functions.

use super::{Evaluator, collections, conversions, foreign, format, formats, strings, versions};
use crate::cel::error::{EvalError, Evaluated};
use crate::cel::expression::Expression;
use crate::cel::value::{BYTES_OF_A_UNIT, Value};

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn call(
        &mut self,
        name: &str,
        target: Option<&'a Expression>,
        arguments: &'a [Expression],
    ) -> Evaluated<'a> {
        let target = target.map(|target| self.value(target)).transpose()?;
        if let (Some(Value::Optional(held)), "orValue" | "or") = (&target, name) {
            return match held {
                Some(held) if name == "orValue" => Ok((**held).clone()),
                Some(_) => Ok(target.unwrap_or(Value::Null)),
                None => arguments
                    .first()
                    .map_or(Ok(Value::Null), |one| self.value(one)),
            };
        }
        let arguments: Result<Vec<Value<'a>>, EvalError> =
            arguments.iter().map(|one| self.value(one)).collect();
        let arguments = arguments?;
        self.charge(name, target.as_ref(), &arguments)?;
        let all: Vec<&Value<'a>> = target.iter().chain(&arguments).collect();
        let value = match name {
            "dyn" => arguments.into_iter().next().unwrap_or(Value::Null),
            "type" => Value::Type(all.first().map_or("null_type", |one| one.type_name())),
            "format" => format::format(&all)?,
            "size" => size(&all)?,
            _ => dispatch(name, target.is_some(), &all)?,
        };
        self.made(value)
    }

    /// Charges for what a function goes through.
    fn charge(
        &self,
        name: &str,
        target: Option<&Value<'a>>,
        arguments: &[Value<'a>],
    ) -> Result<(), EvalError> {
        let length = |value: &Value<'a>| match value {
            Value::String(text) => text.as_str().len() / BYTES_OF_A_UNIT,
            Value::List(list) => list.len(),
            _ => 1,
        };
        let all = || target.into_iter().chain(arguments);
        let units: usize = match name {
            // Pairs of elements are compared.
            "distinct" | "sets.contains" | "sets.equivalent" | "sets.intersects" => {
                let longest = all().map(length).max().unwrap_or_default();
                return all().try_for_each(|one| self.scope.spend_on(one, longest));
            }
            "matches" | "find" | "findAll" => all().map(length).sum::<usize>().saturating_add(10),
            // An empty text is replaced between all characters.
            "replace" => {
                let of = |value: Option<&Value<'a>>| value.map(length).unwrap_or_default() + 1;
                of(target).saturating_mul(of(arguments.get(1)))
            }
            "lists.range" => match arguments.first() {
                Some(Value::Int(count)) => usize::try_from(*count).unwrap_or_default(),
                _ => 0,
            },
            // These do not go into the elements.
            "size"
            | "type"
            | "dyn"
            | "first"
            | "last"
            | "slice"
            | "reverse"
            | "hasValue"
            | "value"
            | "optional.of"
            | "optional.ofNonZeroValue" => all().map(length).sum(),
            // The one text is compared with each part of the other.
            "indexOf" | "lastIndexOf" if matches!(target, Some(Value::String(_))) => {
                let lengths = all().map(|one| length(one).saturating_add(1));
                lengths.fold(1_usize, usize::saturating_mul)
            }
            _ => return all().try_for_each(|one| self.scope.spend_on(one, 1)),
        };
        self.scope.spend(units)
    }
}

fn dispatch<'a>(name: &str, is_method: bool, all: &[&Value<'a>]) -> Evaluated<'a> {
    if let Some(result) = strings::call(name, all) {
        return result;
    }
    if let Some(result) = collections::call(name, all) {
        return result;
    }
    if let Some(result) = conversions::call(name, all) {
        return result;
    }
    if let Some(result) = optional(name, all) {
        return result;
    }
    if let Some(result) = formats::call(name, all) {
        return result;
    }
    if let Some(result) = versions::call(name, all) {
        return result;
    }
    match all {
        [target, rest @ ..] if is_method => foreign::call(name, Some(*target), rest),
        _ => foreign::call(name, None, all),
    }
}

fn size<'a>(all: &[&Value<'a>]) -> Evaluated<'a> {
    let size = match all {
        [Value::String(text)] => text.as_str().chars().count(),
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(list)] => list.len(),
        [Value::Map(map)] => map.len(),
        _ => return Err(EvalError::no_overload_of("size")),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn optional<'a>(name: &str, all: &[&Value<'a>]) -> Option<Evaluated<'a>> {
    let value = match (name, all) {
        ("optional.none", []) => Value::Optional(None),
        ("optional.of", [value]) => Value::some((*value).clone()),
        ("optional.ofNonZeroValue", [value]) => {
            if is_zero(value) {
                Value::Optional(None)
            } else {
                Value::some((*value).clone())
            }
        }
        ("hasValue", [Value::Optional(held)]) => Value::Bool(held.is_some()),
        ("value", [Value::Optional(held)]) => {
            let held = held.as_ref().map(|held| (**held).clone());
            return Some(held.ok_or_else(|| EvalError::new("optional.none() dereference")));
        }
        ("hasValue" | "value" | "or" | "orValue", _) => return Some(Err(EvalError::no_overload())),
        _ => return None,
    };
    Some(Ok(value))
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(value) => *value == 0,
        Value::UInt(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::String(text) => text.as_str().is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.len() == 0,
        Value::Map(map) => map.len() == 0,
        Value::Optional(held) => held.is_none(),
        Value::Type(_) | Value::Format(_) | Value::Foreign(_) => false,
    }
}
