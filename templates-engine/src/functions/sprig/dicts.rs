//! Dictionaries. They are shared: `set`, `unset` and `merge` change them for all holders.

use super::merge;
use super::splitting::text_of;
use crate::function::Parameter::{Any, Dict, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, any, charge_items, takes, takes_more};
use reeve_go_compat::value::{Key, Map, Value};

const DICTS: Group = Group("Dictionaries");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    DICTS.function("dict", takes_more(&[], Any), dict, "key value...", "A dictionary of the keys and values. A last key without a value gets empty text."),
    DICTS.function("get", any(takes(&[Dict, Str])), get, "dict key", "The value under the key; empty text if there is none."),
    DICTS.function("set", takes(&[Dict, Str, Any]), set, "dict key value", "Sets the value in this very dictionary and answers it."),
    DICTS.function("unset", takes(&[Dict, Str]), unset, "dict key", "Removes the key from this very dictionary and answers it."),
    DICTS.function("hasKey", takes(&[Dict, Str]), has_key, "dict key", "Whether the dictionary has the key."),
    DICTS.function("pluck", takes_more(&[Str], Dict), pluck, "key dict...", "The values under the key in those dictionaries that have it."),
    DICTS.function("keys", takes_more(&[], Dict), keys, "dict...", "The sorted keys of each dictionary, one after the other."),
    DICTS.function("values", takes(&[Dict]), values, "dict", "The values, sorted by their keys."),
    DICTS.function("pick", takes_more(&[Dict], Str), pick, "dict key...", "A new dictionary with only these keys."),
    DICTS.function("omit", takes_more(&[Dict], Str), omit, "dict key...", "A new dictionary without these keys."),
    DICTS.function("dig", any(takes_more(&[], Any)), dig, "key... default dict", "The value under the path of keys; the default if a key is absent."),
    DICTS.function("merge", any(takes_more(&[Dict], Dict)), merge_keeping, "dict source...", "Adds what the first dictionary does not have, or has only empty, from the others, at every level. Changes the first dictionary and answers it."),
    DICTS.function("mergeOverwrite", any(takes_more(&[Dict], Dict)), merge_overwriting, "dict source...", "Like `merge`, but values of the later dictionaries win, even empty ones."),
    DICTS.function("mustMerge", any(takes_more(&[Dict], Dict)), must_merge_keeping, "dict source...", "Like `merge`, but fails for values that cannot be merged."),
    DICTS.function("mustMergeOverwrite", any(takes_more(&[Dict], Dict)), must_merge_overwriting, "dict source...", "Like `mergeOverwrite`, but fails for values that cannot be merged."),
];

fn dict(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, arguments.len())?;
    let map = Map::dict();
    for pair in arguments.all().chunks(2) {
        let key = pair.first().unwrap_or(&Value::Nil);
        let value = match pair.get(1) {
            None => Value::from(""),
            Some(Value::Missing) => Value::Nil,
            Some(value) => value.clone(),
        };
        let key = match key {
            // Inside a container there is no missing value, and this is how Go prints nil.
            Value::Nil | Value::Missing => "<nil>".into(),
            key => text_of(env, key)?,
        };
        map.insert(Key::Str(key), value);
    }
    Ok(Value::Map(map))
}

fn key(arguments: &Arguments<'_>, position: usize) -> Result<Key, Failure> {
    Ok(Key::Str(arguments.str(position)?.clone()))
}

fn get(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let found = arguments.dict(0)?.get(&key(arguments, 1)?);
    Ok(found.unwrap_or_else(|| Value::from("")))
}

fn set(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let map = arguments.dict(0)?;
    let value = match arguments.any(2) {
        Value::Missing => Value::Nil,
        value => value.clone(),
    };
    merge::refuse_cycle(env, map, &value)?;
    if !map.insert(key(arguments, 1)?, value) {
        return Err(Failure::text("assignment to entry in nil map"));
    }
    Ok(Value::Map(map.clone()))
}

fn unset(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let map = arguments.dict(0)?;
    map.remove(&key(arguments, 1)?);
    Ok(Value::Map(map.clone()))
}

fn has_key(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let map = arguments.dict(0)?;
    Ok(Value::Bool(map.contains(&key(arguments, 1)?)))
}

fn dicts<'a>(
    arguments: &Arguments<'a>,
    from: usize,
) -> impl Iterator<Item = Result<&'a Map, Failure>> {
    let arguments = *arguments;
    (from..arguments.len()).map(move |position| arguments.dict(position))
}

fn pluck(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, arguments.len())?;
    let key = key(arguments, 0)?;
    let mut found = Vec::new();
    for map in dicts(arguments, 1) {
        found.extend(map?.get(&key));
    }
    Ok(Value::list(found))
}

fn keys(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut found = Vec::new();
    for map in dicts(arguments, 0) {
        let map = map?;
        charge_items(env, map.len())?;
        map.with(|entries| {
            found.extend(entries.keys().filter_map(|key| match key {
                Key::Str(key) => Some(key.clone()),
                _ => None,
            }));
        });
    }
    Ok(Value::strings(found))
}

fn values(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let map = arguments.dict(0)?;
    charge_items(env, map.len())?;
    Ok(map.with(|entries| Value::list(entries.values().cloned())))
}

fn pick(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, arguments.len())?;
    let (map, picked) = (arguments.dict(0)?, Map::dict());
    for position in 1..arguments.len() {
        let key = key(arguments, position)?;
        if let Some(value) = map.get(&key) {
            picked.insert(key, value);
        }
    }
    Ok(Value::Map(picked))
}

fn omit(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let map = arguments.dict(0)?;
    charge_items(env, map.len() + arguments.len())?;
    let kept = Map::dict();
    for (key, value) in map.entries() {
        kept.insert(key, value);
    }
    for position in 1..arguments.len() {
        kept.remove(&key(arguments, position)?);
    }
    Ok(Value::Map(kept))
}

/// Go's text for a failed type assertion on an `interface {}`.
fn conversion(value: &Value, wanted: &str) -> Failure {
    let found = match value {
        Value::Nil | Value::Missing => "nil".into(),
        other => other.type_name(),
    };
    Failure::text(format!(
        "interface conversion: interface {{}} is {found}, not {wanted}"
    ))
}

fn as_dict(value: &Value) -> Result<Map, Failure> {
    match value {
        Value::Map(map) if map.is_dict() => Ok(map.clone()),
        other => Err(conversion(other, "map[string]interface {}")),
    }
}

fn dig(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let [path @ .., otherwise, start] = arguments.all() else {
        return Err(Failure::text("dig needs at least three arguments"));
    };
    if path.is_empty() {
        return Err(Failure::text("dig needs at least three arguments"));
    }
    charge_items(env, path.len())?;
    let mut map = as_dict(start)?;
    let mut keys = Vec::with_capacity(path.len());
    for key in path {
        match key {
            Value::Str(key) => keys.push(Key::Str(key.clone())),
            other => return Err(conversion(other, "string")),
        }
    }
    let last = keys.len() - 1;
    for (position, key) in keys.iter().enumerate() {
        let Some(found) = map.get(key) else {
            return Ok(otherwise.clone());
        };
        if position == last {
            return Ok(found);
        }
        map = as_dict(&found)?;
    }
    Ok(otherwise.clone())
}

fn merged(env: &mut Env<'_>, arguments: &Arguments<'_>, overwrite: bool, swallow: bool) -> Answer {
    let mut target = arguments.dict(0)?.clone();
    for source in dicts(arguments, 1) {
        let source = source?;
        if target.is_nil() && !source.is_nil() {
            target = Map::dict();
        }
        match merge::merge(env, &target, source, overwrite) {
            Ok(()) => {}
            Err(merge::Refusal::Incompatible(_)) if swallow => return answer(""),
            Err(refusal) => return Err(refusal.into()),
        }
    }
    Ok(Value::Map(target))
}

fn merge_keeping(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    merged(env, arguments, false, true)
}

fn merge_overwriting(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    merged(env, arguments, true, true)
}

fn must_merge_keeping(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    merged(env, arguments, false, false)
}

fn must_merge_overwriting(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    merged(env, arguments, true, false)
}
