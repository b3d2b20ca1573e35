//! Lists: building, cutting and searching them. They are never changed in place.

use super::cast::to_int;
use crate::function::Parameter::{Any, Int};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, any, charge_items, slice_of, takes, takes_more};
use reeve_go_compat::value::{Element, List, Value};

const LISTS: Group = Group("Lists");
const MUST: Group = Group("Lists");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    LISTS.function(
        "list",
        takes_more(&[], Any),
        list,
        "item...",
        "A list of the arguments.",
    ),
    LISTS.function(
        "tuple",
        takes_more(&[], Any),
        list,
        "item...",
        "The older name of `list`.",
    ),
    LISTS.function(
        "first",
        any(takes(&[Any])),
        first,
        "list",
        "The first item; nil if there is none.",
    ),
    LISTS.function(
        "last",
        any(takes(&[Any])),
        last,
        "list",
        "The last item; nil if there is none.",
    ),
    LISTS.function(
        "rest",
        takes(&[Any]),
        rest,
        "list",
        "All items but the first.",
    ),
    LISTS.function(
        "initial",
        takes(&[Any]),
        initial,
        "list",
        "All items but the last.",
    ),
    LISTS.function(
        "append",
        takes(&[Any, Any]),
        push,
        "list item",
        "A new list with the item at the end.",
    ),
    LISTS.function(
        "push",
        takes(&[Any, Any]),
        push,
        "list item",
        "The same as `append`.",
    ),
    LISTS.function(
        "prepend",
        takes(&[Any, Any]),
        prepend,
        "list item",
        "A new list with the item at the front.",
    ),
    LISTS.function(
        "concat",
        any(takes_more(&[], Any)),
        concat,
        "list...",
        "A new list with the items of all lists.",
    ),
    LISTS.function(
        "reverse",
        takes(&[Any]),
        reverse,
        "list",
        "A new list with the items in the reverse order.",
    ),
    LISTS.function(
        "uniq",
        takes(&[Any]),
        uniq,
        "list",
        "A new list without repetitions. Items are compared by type and contents.",
    ),
    LISTS.function(
        "without",
        takes_more(&[Any], Any),
        without,
        "list item...",
        "A new list without the given items.",
    ),
    LISTS.function(
        "has",
        takes(&[Any, Any]),
        has,
        "item list",
        "Whether the item is in the list, by type and contents.",
    ),
    LISTS.function(
        "compact",
        takes(&[Any]),
        compact,
        "list",
        "A new list without empty items: nil, false, zero, empty text, lists and dictionaries.",
    ),
    LISTS.function(
        "slice",
        any(takes_more(&[Any], Any)),
        slice,
        "list [start [end]]",
        "The items from start up to, not including, end.",
    ),
    LISTS.function(
        "chunk",
        takes(&[Int, Any]),
        chunk,
        "size list",
        "Lists of this size that together hold all items.",
    ),
];

/// The same functions by the names that return errors instead of panicking; here both do.
pub const MUST_FUNCTIONS: &[Function] = &[
    MUST.function(
        "mustFirst",
        any(takes(&[Any])),
        first,
        "list",
        "The same as `first`.",
    ),
    MUST.function(
        "mustLast",
        any(takes(&[Any])),
        last,
        "list",
        "The same as `last`.",
    ),
    MUST.function(
        "mustRest",
        takes(&[Any]),
        rest,
        "list",
        "The same as `rest`.",
    ),
    MUST.function(
        "mustInitial",
        takes(&[Any]),
        initial,
        "list",
        "The same as `initial`.",
    ),
    MUST.function(
        "mustAppend",
        takes(&[Any, Any]),
        push,
        "list item",
        "The same as `append`.",
    ),
    MUST.function(
        "mustPush",
        takes(&[Any, Any]),
        push,
        "list item",
        "The same as `push`.",
    ),
    MUST.function(
        "mustPrepend",
        takes(&[Any, Any]),
        prepend,
        "list item",
        "The same as `prepend`.",
    ),
    MUST.function(
        "mustReverse",
        takes(&[Any]),
        reverse,
        "list",
        "The same as `reverse`.",
    ),
    MUST.function(
        "mustUniq",
        takes(&[Any]),
        uniq,
        "list",
        "The same as `uniq`.",
    ),
    MUST.function(
        "mustWithout",
        takes_more(&[Any], Any),
        without,
        "list item...",
        "The same as `without`.",
    ),
    MUST.function(
        "mustHas",
        takes(&[Any, Any]),
        has,
        "item list",
        "The same as `has`.",
    ),
    MUST.function(
        "mustCompact",
        takes(&[Any]),
        compact,
        "list",
        "The same as `compact`.",
    ),
    MUST.function(
        "mustSlice",
        any(takes_more(&[Any], Any)),
        slice,
        "list [start [end]]",
        "The same as `slice`.",
    ),
    MUST.function(
        "mustChunk",
        takes(&[Int, Any]),
        chunk,
        "size list",
        "The same as `chunk`.",
    ),
];

fn list(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, arguments.len())?;
    Ok(Value::list(arguments.all().iter().map(item)))
}

/// Values inside containers are nil rather than missing.
fn item(value: &Value) -> Value {
    match value {
        Value::Missing => Value::Nil,
        other => other.clone(),
    }
}

fn items<'a>(env: &mut Env<'_>, value: &'a Value, verb: &str) -> Result<&'a List, Failure> {
    let list = slice_of(value, &|kind| format!("Cannot {verb} type {kind}"))?;
    charge_items(env, list.len())?;
    Ok(list)
}

fn first(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = slice_of(arguments.any(0), &|kind| {
        format!("Cannot find first on type {kind}")
    })?;
    Ok(list.first().cloned().unwrap_or(Value::Nil))
}

fn last(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = slice_of(arguments.any(0), &|kind| {
        format!("Cannot find last on type {kind}")
    })?;
    Ok(list.last().cloned().unwrap_or(Value::Nil))
}

/// A list of these; nil when what they were cut from was empty.
fn cut(from: &List, part: Option<&[Value]>) -> Value {
    if from.is_empty() {
        return Value::List(List::nil(Element::Any));
    }
    Value::list(part.unwrap_or_default().iter().cloned())
}

fn rest(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "find rest on")?;
    Ok(cut(list, list.get(1..)))
}

fn initial(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "find initial on")?;
    Ok(cut(list, list.get(..list.len().saturating_sub(1))))
}

fn push(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "push on")?;
    let added = item(arguments.any(1));
    Ok(Value::list(list.iter().cloned().chain([added])))
}

fn prepend(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "prepend on")?;
    let added = item(arguments.any(1));
    Ok(Value::list([added].into_iter().chain(list.iter().cloned())))
}

fn concat(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut all = Vec::new();
    for value in arguments.all() {
        let list = slice_of(value, &|kind| format!("Cannot concat type {kind} as list"))?;
        charge_items(env, list.len())?;
        all.extend(list.iter().cloned());
    }
    if all.is_empty() {
        return Ok(Value::List(List::nil(Element::Any)));
    }
    Ok(Value::list(all))
}

fn reverse(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "find reverse on")?;
    Ok(Value::list(list.iter().rev().cloned()))
}

fn contains(env: &mut Env<'_>, list: &[Value], wanted: &Value) -> Result<bool, Failure> {
    charge_items(env, list.len())?;
    for item in list {
        env.meter.walk(wanted)?;
        if item.deep_equal(wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "find uniq on")?;
    let mut kept: Vec<Value> = Vec::new();
    for item in list.iter() {
        if !contains(env, &kept, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn without(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "find without on")?;
    let mut kept = Vec::new();
    for item in list.iter() {
        if !contains(env, arguments.from(1), item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn has(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    if matches!(arguments.any(1), Value::Nil | Value::Missing) {
        return Ok(Value::Bool(false));
    }
    let list = slice_of(arguments.any(1), &|kind| {
        format!("Cannot find has on type {kind}")
    })?;
    Ok(Value::Bool(contains(env, list, arguments.any(0))?))
}

fn compact(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = items(env, arguments.any(0), "compact on")?;
    let kept = list
        .iter()
        .filter(|item| !super::defaults::is_empty(item))
        .cloned();
    Ok(Value::list(kept))
}

fn slice(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let list = slice_of(arguments.any(0), &|kind| {
        format!("list should be type of slice or array but {kind}")
    })?;
    if list.is_empty() {
        return Ok(Value::Nil);
    }
    let position = |at: usize, otherwise: usize| match arguments.all().get(at) {
        None => Ok(otherwise),
        Some(value) => usize::try_from(to_int(value)),
    };
    let part = match (position(1, 0), position(2, list.len())) {
        (Ok(start), Ok(end)) => list.get(start..end),
        _ => None,
    };
    let Some(part) = part else {
        return Err(Failure::text(
            "reflect.Value.Slice: slice index out of bounds",
        ));
    };
    charge_items(env, part.len())?;
    Ok(Value::List(List::new(
        list.element().clone(),
        part.iter().cloned(),
    )))
}

fn chunk(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let size = arguments.int(0)?;
    let list = items(env, arguments.any(1), "chunk")?;
    let chunks_of = Element::List(Box::new(Element::Any));
    let Some(size) = usize::try_from(size).ok().filter(|size| *size > 0) else {
        return chunk_by_nothing(size, list, chunks_of);
    };
    let parts = list
        .chunks(size)
        .map(|part| Value::list(part.iter().cloned()));
    Ok(Value::List(List::new(chunks_of, parts)))
}

/// Upstream counts chunks in floats: a size that is not positive mostly asks for a negative
/// number of them, but sometimes for none.
fn chunk_by_nothing(size: i64, list: &List, chunks_of: Element) -> Answer {
    let highest = i64::try_from(list.len()).unwrap_or(i64::MAX) - 1;
    #[allow(clippy::cast_precision_loss)] // as upstream loses it
    let count = (highest as f64 / size as f64).floor() + 1.0;
    if count == 0.0 {
        return Ok(Value::List(List::new(chunks_of, [])));
    }
    if size < -1 && list.len() == 1 {
        return Ok(Value::List(List::new(
            chunks_of,
            [Value::list(list.iter().cloned())],
        )));
    }
    Err(Failure::text("runtime error: makeslice: len out of range"))
}
