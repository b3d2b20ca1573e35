//! Merges an applied object into the live one, and removes fields that the manager does not apply any more.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::set::Set;
use super::typed::{Shape, Typed};
use crate::schema::Edge;

/// Merges `wanted` into `live`.
pub(super) fn merge(typed: Typed<'_>, live: Option<&Value>, wanted: &Value) -> Value {
    match (typed.shape(wanted), live, wanted) {
        (Shape::Map(node), Some(Value::Object(live)), Value::Object(wanted)) => {
            let mut all: Map<String, Value> = live.clone();
            for (name, value) in wanted {
                let merged = merge(typed.child(node, name), live.get(name), value);
                all.insert(name.clone(), merged);
            }
            Value::Object(all)
        }
        (Shape::List(keys, items), Some(Value::Array(live)), Value::Array(wanted)) => {
            Value::Array(lists(typed, keys, items, live, wanted))
        }
        _ => wanted.clone(),
    }
}

/// The wanted items in their order. What only the live list has stands before the next item of both that it stood
/// before; items of both that are in another order now do not hold it up.
fn lists(
    typed: Typed<'_>,
    keys: &[String],
    items: Option<&Edge>,
    live: &[Value],
    wanted: &[Value],
) -> Vec<Value> {
    let name = |item: &Value| typed.element(keys, items, item);
    let live: Vec<(String, &Value)> = live.iter().map(|item| (name(item), item)).collect();
    let wanted: Vec<(String, &Value)> = wanted.iter().map(|item| (name(item), item)).collect();
    let there: HashMap<&str, &Value> = live
        .iter()
        .map(|(name, item)| (name.as_str(), *item))
        .collect();
    let asked: HashSet<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    let mut coming: Vec<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    coming.retain(|name| there.contains_key(name));
    let mut coming = coming.into_iter().peekable();

    let mut result = Vec::with_capacity(live.len() + wanted.len());
    let mut rest = live.iter().peekable();
    for (name, item) in &wanted {
        while let Some((other, kept)) = rest.peek() {
            if coming.peek() == Some(&other.as_str()) {
                break;
            }
            if !asked.contains(other.as_str()) {
                result.push((*kept).clone());
            }
            rest.next();
        }
        let before = there.get(name.as_str()).copied();
        result.push(merge(typed.item(items), before, item));
        if coming.peek() == Some(&name.as_str()) {
            coming.next();
            if rest.peek().is_some_and(|(other, _)| other == name) {
                rest.next();
            }
        }
    }
    let left = rest.filter(|(other, _)| !asked.contains(other.as_str()));
    result.extend(left.map(|(_, kept)| (*kept).clone()));
    result
}

/// `value` without the members of `gone`; nothing, if nothing is left of it and it has no owner.
fn without(typed: Typed<'_>, value: &Value, gone: &Set, owned: Option<&Set>) -> Option<Value> {
    if gone.children.is_empty() {
        return Some(value.clone());
    }
    let kept_empty = owned.is_some_and(|owned| owned.member);
    let below = |element: &str| owned.and_then(|owned| owned.children.get(element));
    match (typed.shape(value), value) {
        (Shape::Map(node), Value::Object(object)) => {
            let mut left = Map::new();
            for (name, inner) in object {
                let element = format!("f:{name}");
                let kept = match gone.children.get(&element) {
                    None => Some(inner.clone()),
                    Some(set) if set.member => None,
                    Some(set) => without(typed.child(node, name), inner, set, below(&element)),
                };
                if let Some(kept) = kept {
                    left.insert(name.clone(), kept);
                }
            }
            (!left.is_empty() || kept_empty || object.is_empty()).then_some(Value::Object(left))
        }
        (Shape::List(keys, items), Value::Array(list)) => {
            let mut left = Vec::with_capacity(list.len());
            for item in list {
                let element = typed.element(keys, items, item);
                match gone.children.get(&element) {
                    None => left.push(item.clone()),
                    Some(set) if set.member => {}
                    Some(set) => {
                        left.extend(without(typed.item(items), item, set, below(&element)));
                    }
                }
            }
            (!left.is_empty() || kept_empty || list.is_empty()).then_some(Value::Array(left))
        }
        _ => Some(value.clone()),
    }
}

/// `merged` without what its manager applied last time but not now, unless another manager owns it.
pub(super) fn prune(typed: Typed<'_>, merged: Value, last: &Set, owned: &Set) -> Value {
    if last.is_empty() {
        return merged;
    }
    let without = |gone: &Set| {
        without(typed, &merged, gone, Some(owned)).unwrap_or_else(|| Value::Object(Map::new()))
    };
    let all = typed.fields(&merged);
    let gone = all
        .clone()
        .with_parents()
        .difference(&typed.fields(&without(last)).with_parents())
        .difference(&owned.clone().with_parents());
    let gone = all
        .difference(&typed.fields(&without(&gone)))
        .intersection(last);
    without(&gone)
}
