//! Functions of lists and sets.

use std::cmp::Ordering;

use super::arithmetic;
use crate::cel::error::{EvalError, Evaluated};
use crate::cel::value::{List, Value};

/// The most elements that a list may have that is made of a number.
const LONGEST: i64 = 1_000_000;

/// Calls the function if it is one of lists.
pub fn call<'a>(name: &str, all: &[&Value<'a>]) -> Option<Evaluated<'a>> {
    let result = match (name, all) {
        ("lists.range", [Value::Int(count)]) => range(*count),
        (
            "sets.contains" | "sets.equivalent" | "sets.intersects",
            [Value::List(one), Value::List(other)],
        ) => Ok(Value::Bool(compare_sets(name, one, other))),
        ("indexOf" | "lastIndexOf", [Value::List(list), wanted]) => {
            Ok(Value::Int(position(name, list, wanted)))
        }
        ("slice", [Value::List(list), Value::Int(from), Value::Int(to)]) => slice(list, *from, *to),
        ("flatten", [Value::List(list)]) => Ok(Value::list(flattened(list, 1))),
        ("flatten", [Value::List(list), Value::Int(depth)]) => match usize::try_from(*depth) {
            Ok(depth) => Ok(Value::list(flattened(list, depth))),
            Err(_) => Err(EvalError::new("level must be non-negative")),
        },
        (_, [Value::List(list)]) => return of_list(name, list, all),
        (
            "sum" | "min" | "max" | "isSorted" | "distinct" | "reverse" | "sort" | "slice"
            | "flatten" | "first" | "last" | "lists.range" | "sets.contains" | "sets.equivalent"
            | "sets.intersects",
            _,
        ) => Err(EvalError::no_overload_for(name, all)),
        _ => return None,
    };
    Some(result)
}

fn of_list<'a>(name: &str, list: &List<'a>, all: &[&Value<'a>]) -> Option<Evaluated<'a>> {
    let mismatch = || EvalError::no_overload_for(name, all);
    Some(match name {
        "sum" => sum(list).ok_or_else(mismatch).and_then(|sum| sum),
        "min" => extreme(name, list, Ordering::Less, mismatch),
        "max" => extreme(name, list, Ordering::Greater, mismatch),
        "isSorted" => is_sorted(list).map(Value::Bool).ok_or_else(mismatch),
        "distinct" => {
            let mut distinct: Vec<Value<'a>> = Vec::new();
            for value in list.iter() {
                if !distinct.iter().any(|one| one.equals(&value)) {
                    distinct.push(value);
                }
            }
            Ok(Value::list(distinct))
        }
        "reverse" => {
            let mut reversed: Vec<Value<'a>> = list.iter().collect();
            reversed.reverse();
            Ok(Value::list(reversed))
        }
        "sort" => {
            let mut sorted: Vec<Value<'a>> = list.iter().collect();
            let first = sorted.first().map(Value::type_name);
            let is_uniform = |one: &Value<'a>| one.is_ordered() && Some(one.type_name()) == first;
            if !sorted.iter().all(is_uniform) {
                return Some(Err(EvalError::new("list elements must have the same type")));
            }
            sorted.sort_by(|one, other| one.compare(other).unwrap_or(Ordering::Equal));
            Ok(Value::list(sorted))
        }
        "first" => Ok(list.get(0).map_or(Value::Optional(None), Value::some)),
        "last" => {
            let end = list.len().checked_sub(1);
            let found = end.and_then(|end| list.get(end));
            Ok(found.map_or(Value::Optional(None), Value::some))
        }
        _ => return None,
    })
}

/// None if the elements have no sum.
fn sum<'a>(list: &List<'a>) -> Option<Evaluated<'a>> {
    let mut sum: Option<Value<'a>> = None;
    for value in list.iter() {
        if !matches!(
            value,
            Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Foreign(_)
        ) {
            return None;
        }
        sum = Some(match sum {
            None => value,
            Some(sum) => match arithmetic::add(&sum, &value) {
                Ok(sum) => sum,
                Err(error) => return Some(Err(error)),
            },
        });
    }
    Some(Ok(sum.unwrap_or(Value::Int(0))))
}

fn extreme<'a>(
    name: &str,
    list: &List<'a>,
    wanted: Ordering,
    mismatch: impl Fn() -> EvalError,
) -> Evaluated<'a> {
    let mut extreme: Option<Value<'a>> = None;
    for value in list.iter() {
        let is_better = match &extreme {
            None if value.is_ordered() => true,
            None => return Err(mismatch()),
            Some(best) => value.compare(best).ok_or_else(&mismatch)? == wanted,
        };
        if is_better {
            extreme = Some(value);
        }
    }
    extreme.ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

/// None if the elements have no order.
fn is_sorted(list: &List<'_>) -> Option<bool> {
    let mut before: Option<Value<'_>> = None;
    let mut is_sorted = true;
    for value in list.iter() {
        if !value.is_ordered() {
            return None;
        }
        if let Some(before) = &before {
            is_sorted &= before.compare(&value)? != Ordering::Greater;
        }
        before = Some(value);
    }
    Some(is_sorted)
}

fn position(name: &str, list: &List<'_>, wanted: &Value<'_>) -> i64 {
    let mut places = (0_i64..)
        .zip(list.iter())
        .filter(|(_, one)| one.equals(wanted));
    let found = if name == "indexOf" {
        places.next()
    } else {
        places.last()
    };
    found.map_or(-1, |(place, _)| place)
}

fn contains(list: &List<'_>, wanted: &Value<'_>) -> bool {
    list.iter().any(|one| one.equals(wanted))
}

fn compare_sets(name: &str, one: &List<'_>, other: &List<'_>) -> bool {
    match name {
        "sets.contains" => other.iter().all(|value| contains(one, &value)),
        "sets.intersects" => other.iter().any(|value| contains(one, &value)),
        _ => {
            other.iter().all(|value| contains(one, &value))
                && one.iter().all(|value| contains(other, &value))
        }
    }
}

fn range<'a>(count: i64) -> Evaluated<'a> {
    if count > LONGEST {
        return Err(EvalError::cost_exceeded());
    }
    Ok(Value::list((0..count).map(Value::Int).collect()))
}

fn slice<'a>(list: &List<'a>, from: i64, to: i64) -> Evaluated<'a> {
    let length = list.len();
    let error = |text: String| Err(EvalError::new(text));
    let (Ok(start), Ok(end)) = (usize::try_from(from), usize::try_from(to)) else {
        return error(format!(
            "cannot slice({from}, {to}), negative indexes not supported"
        ));
    };
    if start > end {
        return error(format!(
            "cannot slice({from}, {to}), start index must be less than or equal to end index"
        ));
    }
    if end > length {
        return error(format!(
            "cannot slice({from}, {to}), list is length {length}"
        ));
    }
    Ok(Value::list(
        (start..end).filter_map(|index| list.get(index)).collect(),
    ))
}

fn flattened<'a>(list: &List<'a>, depth: usize) -> Vec<Value<'a>> {
    let mut flat = Vec::new();
    for value in list.iter() {
        match value {
            Value::List(inner) if depth > 0 => flat.extend(flattened(&inner, depth - 1)),
            other => flat.push(other),
        }
    }
    flat
}
