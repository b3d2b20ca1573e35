//! Merging of dictionaries as dario.cat/mergo v1.0.1 does it when Sprig calls it.

use crate::function::{Env, Failure};
use crate::functions::define::charge_items;
use reeve_go_compat::value::{Element, Key, Kind, Map, Value};

/// Dictionaries nested deeper than this are not merged or put into one another, so that nothing
/// that walks them can run out of stack.
const DEEPEST: u32 = 1_000;

/// Why a merge was refused.
pub enum Refusal {
    /// An error of mergo's, which `merge` swallows.
    Incompatible(&'static str),
    /// Anything else, a Go panic for instance.
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Incompatible(text) => Self::text(text),
            Refusal::Failed(failure) => failure,
        }
    }
}

/// Merges the source into the target.
pub fn merge(
    env: &mut Env<'_>,
    target: &Map,
    source: &Map,
    overwrite: bool,
) -> Result<(), Refusal> {
    Merger {
        env,
        overwrite,
        depth: 0,
    }
    .maps(target, source)
}

/// Fails if the value holds this map: a dictionary inside itself has no end.
pub fn refuse_cycle(env: &mut Env<'_>, map: &Map, value: &Value) -> Result<(), Failure> {
    refuse_within(env, map, value, 0)
}

fn refuse_within(env: &mut Env<'_>, map: &Map, value: &Value, depth: u32) -> Result<(), Failure> {
    if depth > DEEPEST {
        return Err(Failure::text(format!(
            "a dict cannot hold more than {DEEPEST} nested levels"
        )));
    }
    match value {
        Value::Map(inner) => {
            if !map.is_nil() && inner.same(map) {
                return Err(Failure::text("a dict cannot be put into itself"));
            }
            let values = inner.materialized_values();
            charge_items(env, values.len())?;
            for value in values {
                refuse_deeper(env, map, &value, depth)?;
            }
        }
        // Lists of plain values need no visit.
        Value::List(list) if !matches!(list.element(), Element::Str | Element::Int) => {
            charge_items(env, list.len())?;
            for value in list.iter() {
                refuse_deeper(env, map, value, depth)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn refuse_deeper(env: &mut Env<'_>, map: &Map, value: &Value, depth: u32) -> Result<(), Failure> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        refuse_within(env, map, value, depth + 1)
    })
}

fn is_empty(value: Option<&Value>) -> bool {
    value.is_none_or(super::defaults::is_empty)
}

fn panic(text: &str) -> Refusal {
    Refusal::Failed(Failure::text(text))
}

struct Merger<'a, 'env> {
    env: &'a mut Env<'env>,
    overwrite: bool,
    depth: u32,
}

impl Merger<'_, '_> {
    fn maps(&mut self, target: &Map, source: &Map) -> Result<(), Refusal> {
        if target.same(source) {
            return Ok(());
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(panic(&format!(
                "cannot merge dicts of more than {DEEPEST} nested levels"
            )));
        }
        charge_items(self.env, source.len())?;
        for (key, theirs) in source.entries() {
            self.entry(target, source, &key, &theirs)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn entry(
        &mut self,
        target: &Map,
        source: &Map,
        key: &Key,
        theirs: &Value,
    ) -> Result<(), Refusal> {
        if target.key_element() != source.key_element() && target.key_element() != Element::Any {
            return Err(panic(&format!(
                "reflect.Value.MapIndex: value of type {} is not assignable to type {}",
                source.key_element().name(),
                target.key_element().name()
            )));
        }
        if matches!(theirs, Value::Nil | Value::Missing) {
            return if self.overwrite {
                self.put(target, source, key, theirs)
            } else {
                Ok(())
            };
        }
        let ours = target.get(key);
        if matches!(theirs.kind(), Kind::Struct | Kind::Ptr | Kind::Map) {
            self.nested(ours.as_ref(), theirs)?;
        }
        // A nested map that was empty may hold entries now.
        if !is_empty(ours.as_ref()) {
            let both_maps = |ours: &Value| matches!((ours, theirs), (Value::Map(_), Value::Map(_)));
            if ours.as_ref().is_some_and(both_maps) {
                return Ok(());
            }
            if matches!(theirs, Value::List(_)) && !self.overwrite {
                return Ok(());
            }
        }
        if self.overwrite || is_empty(ours.as_ref()) {
            return self.put(target, source, key, theirs);
        }
        Ok(())
    }

    fn nested(&mut self, ours: Option<&Value>, theirs: &Value) -> Result<(), Refusal> {
        match (ours, theirs) {
            (Some(Value::Map(ours)), Value::Map(theirs)) => {
                if ours.is_nil() {
                    return Ok(());
                }
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.maps(ours, theirs))
            }
            (Some(ours), theirs)
                if ours.kind() == Kind::Ptr && theirs.kind() != Kind::Ptr && !self.overwrite =>
            {
                Err(Refusal::Incompatible("src and dst must be of same type"))
            }
            _ => Ok(()),
        }
    }

    fn put(&mut self, target: &Map, source: &Map, key: &Key, value: &Value) -> Result<(), Refusal> {
        if target.element() != Element::Any && target.element() != source.element() {
            return Err(panic(&format!(
                "reflect.Value.SetMapIndex: value of type {} is not assignable to type {}",
                source.element().name(),
                target.element().name()
            )));
        }
        refuse_cycle(self.env, target, value)?;
        target.insert(key.clone(), value.clone());
        Ok(())
    }
}
