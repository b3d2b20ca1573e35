//! Strategic merge patches: merge patches whose lists are merged by the key that the type names, with directives.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::printing::sprintf;
use crate::schema::{MAX_DEPTH, Node, TypeId, Types, json_kind};
use crate::status_error::StatusError;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

/// What the patch makes of `current`, an object of the type `id`.
pub fn strategic(
    types: &Types,
    id: TypeId,
    current: &Value,
    patch: &Value,
) -> Result<Value, StatusError> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => Map::new(),
        other => {
            return Err(StatusError::bad_request(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                json_kind(other)
            )));
        }
    };
    let original = match current {
        Value::Object(object) => object.clone(),
        _ => Map::new(),
    };
    let merger = Merger { types };
    merger.map(Some(id), original, patch, 0).map(Value::Object)
}

/// An error of the server's own making: 500 without a reason.
fn failed(message: impl Into<String>) -> StatusError {
    StatusError {
        code: 500,
        reason: "".into(),
        message: message.into(),
        details: None,
    }
}

fn bad_retain_keys() -> StatusError {
    StatusError::bad_request("invalid patch format of retainKeys")
}

struct Merger<'a> {
    types: &'a Types,
}

/// The merge strategy of a list.
struct Lists<'a> {
    /// The merge key of its items; empty for scalars.
    key: &'a str,
    items: Option<TypeId>,
    depth: usize,
}

impl Merger<'_> {
    fn map(
        &self,
        id: Option<TypeId>,
        mut original: Map<String, Value>,
        mut patch: Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, StatusError> {
        if depth > MAX_DEPTH {
            return Err(failed("the patch is nested too deep"));
        }
        match patch.get(DIRECTIVE) {
            None => {}
            Some(Value::String(directive)) if directive == "replace" => {
                patch.remove(DIRECTIVE);
                return Ok(patch);
            }
            Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
            Some(directive) => {
                return Err(unknown_directive(directive, &Value::Object(patch.clone())));
            }
        }
        retain_keys(&mut original, &mut patch)?;
        let node = id.map(|id| self.types.node(id));
        self.lists_without_items(node, &mut original, &mut patch, depth)?;
        for (key, value) in std::mem::take(&mut patch) {
            if key.starts_with(DELETE) || key.starts_with(ORDER) {
                continue;
            }
            match (original.get_mut(&key), value) {
                (_, Value::Null) => {
                    original.remove(&key);
                }
                (None, value) => {
                    if value.get(DIRECTIVE).is_none() {
                        original.insert(key, cleaned(value, depth));
                    }
                }
                (Some(Value::Object(there)), Value::Object(value)) => {
                    let there = std::mem::take(there);
                    let edge = node.and_then(|node| node.field(&key));
                    let strategy = self.strategy(edge.map(|edge| edge.id));
                    let merged = if strategy.0 == "replace" {
                        value
                    } else {
                        self.map(edge.map(|edge| edge.id), there, value, depth + 1)?
                    };
                    original.insert(key, Value::Object(merged));
                }
                (Some(there), value) => *there = value,
            }
        }
        Ok(original)
    }

    /// The strategy and the key of a field's type.
    fn strategy(&self, id: Option<TypeId>) -> (&str, &str) {
        let Some(node) = id.map(|id| self.types.node(id)) else {
            return ("", "");
        };
        let strategy = node
            .patch_strategy
            .split(',')
            .find(|one| *one != "retainKeys");
        (strategy.unwrap_or(""), &node.patch_merge_key)
    }

    /// Merges all lists that are merged, and takes them and their directives out of the patch.
    fn lists_without_items(
        &self,
        node: Option<&Node>,
        original: &mut Map<String, Value>,
        patch: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), StatusError> {
        let mut names: Vec<String> = Vec::new();
        for (key, value) in patch.iter() {
            if let Some(name) = key.strip_prefix(ORDER) {
                if !value.is_array() {
                    let got = sprintf("%T", value);
                    return Err(failed(format!(
                        "expected a []interface {{}}, but received a {got}"
                    )));
                }
                if let Some(node) = node.filter(|node| node.field(name).is_none()) {
                    let of = node
                        .name
                        .as_deref()
                        .and_then(|name| name.rsplit('.').next());
                    let of = of.unwrap_or_default();
                    return Err(failed(format!(
                        "unable to find api field in struct {of} for the json field \"{name}\""
                    )));
                }
                names.push(name.to_owned());
            } else if let Some(name) = key.strip_prefix(DELETE) {
                names.push(name.to_owned());
            } else if value.is_array() {
                names.push(key.clone());
            }
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            let edge = node.and_then(|node| node.field(&name));
            let (strategy, key) = self.strategy(edge.map(|edge| edge.id));
            let there = match original.get(&name) {
                Some(Value::Array(there)) => Some(there.as_slice()),
                Some(_) => continue,
                None => None,
            };
            let given = patch.get(&name);
            if strategy != "merge" || given.is_some_and(|given| !given.is_array()) {
                continue;
            }
            let items = edge
                .and_then(|edge| self.types.node(edge.id).items.as_ref())
                .map(|items| items.id);
            let lists = Lists { key, items, depth };
            let list_of = |key: &str| match patch.get(key) {
                Some(Value::Array(list)) => Some(list.as_slice()),
                _ => None,
            };
            let given = list_of(&name);
            let order = list_of(&format!("{ORDER}{name}"));
            let deleted = list_of(&format!("{DELETE}{name}"));
            if let Some(order) = order.filter(|_| there.is_some() || given.is_some()) {
                let all = [there.unwrap_or_default(), given.unwrap_or_default()];
                if all.iter().all(|list| list.is_empty()) {
                    return Err(failed("no elements in any of the given slices"));
                }
                if let (None, Some(given)) = (there, given) {
                    check_order(&without_directives(given), order, true, lists.key)?;
                }
            }
            let Some(there) = there else {
                continue;
            };
            let merged = self.list(&lists, there, given, order, deleted)?;
            original.insert(name.clone(), Value::Array(merged));
            patch.remove(&name);
        }
        Ok(())
    }

    fn list(
        &self,
        lists: &Lists<'_>,
        there: &[Value],
        given: Option<&[Value]>,
        order: Option<&[Value]>,
        deleted: Option<&[Value]>,
    ) -> Result<Vec<Value>, StatusError> {
        same_kinds(there, given.unwrap_or_default())?;
        same_kinds(there, deleted.unwrap_or_default())?;
        let objects = there
            .iter()
            .chain(given.unwrap_or_default())
            .any(Value::is_object);
        let key = if objects { lists.key } else { "" };
        let mut server: Vec<Value> = there.to_vec();
        let mut plain: Vec<Value> = Vec::new();
        let mut replaced = false;
        for item in given.unwrap_or_default() {
            match item.get(DIRECTIVE) {
                None => plain.push(item.clone()),
                Some(Value::String(directive)) if directive == "replace" => replaced = true,
                Some(Value::String(directive)) if directive == "delete" => {
                    let gone = identity(item, key)?;
                    server.retain(|one| identity(one, key).ok().as_ref() != Some(&gone));
                }
                Some(Value::String(directive)) if directive == "merge" => {
                    return Err(failed("merging lists cannot yet be specified in the patch"));
                }
                Some(directive) => return Err(unknown_directive(directive, item)),
            }
        }
        if replaced {
            return Ok(plain);
        }
        if let Some(order) = order {
            check_order(&plain, order, given.is_some(), key)?;
        }
        let gone: HashSet<String> = deleted
            .unwrap_or_default()
            .iter()
            .map(Value::to_string)
            .collect();
        let mut merged = self.merged(lists, key, server, &plain)?;
        merged.retain(|item| gone.is_empty() || !gone.contains(&item.to_string()));
        let wanted = order.unwrap_or(&plain);
        sorted(merged, wanted, there, key)
    }

    /// The items of both, those that are in both merged.
    fn merged(
        &self,
        lists: &Lists<'_>,
        key: &str,
        mut server: Vec<Value>,
        plain: &[Value],
    ) -> Result<Vec<Value>, StatusError> {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (index, item) in server.iter().enumerate() {
            if let Ok(identity) = identity(item, key) {
                places.entry(identity).or_insert(index);
            }
        }
        for item in plain {
            let identity = identity(item, key)?;
            let Some(place) = places.get(&identity).copied() else {
                places.insert(identity, server.len());
                server.push(item.clone());
                continue;
            };
            if let (Some(there @ Value::Object(_)), Value::Object(item)) =
                (server.get_mut(place), item)
                && let Value::Object(before) = std::mem::take(there)
            {
                *there =
                    Value::Object(self.map(lists.items, before, item.clone(), lists.depth + 1)?);
            }
        }
        Ok(server)
    }
}

fn unknown_directive(directive: &Value, map: &Value) -> StatusError {
    failed(format!(
        "unknown patch type: {} in map: {}",
        sprintf("%s", directive),
        sprintf("%v", map)
    ))
}

/// `$retainKeys` takes all other fields away; the patch may set no others.
fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), StatusError> {
    let kept = match patch.remove(RETAIN) {
        None => return Ok(()),
        Some(Value::Array(kept)) => kept,
        Some(_) => return Err(bad_retain_keys()),
    };
    let kept: HashSet<&str> = kept.iter().filter_map(Value::as_str).collect();
    let directive = |key: &str| key.starts_with(ORDER) || key.starts_with(DELETE);
    let foreign = patch
        .iter()
        .any(|(key, value)| !value.is_null() && !directive(key) && !kept.contains(key.as_str()));
    if foreign {
        return Err(bad_retain_keys());
    }
    original.retain(|key, _| kept.contains(key.as_str()));
    Ok(())
}

/// What is put where nothing was: without `null`s, and without items that are directives.
fn cleaned(value: Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value;
    }
    match value {
        Value::Object(object) => object
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, cleaned(value, depth + 1)))
            .collect(),
        Value::Array(list) => list
            .into_iter()
            .filter(|item| item.get(DIRECTIVE).is_none())
            .map(|item| cleaned(item, depth + 1))
            .collect(),
        other => other,
    }
}

fn without_directives(list: &[Value]) -> Vec<Value> {
    let plain = list.iter().filter(|item| item.get(DIRECTIVE).is_none());
    plain.cloned().collect()
}

/// The identity of an item.
fn identity(item: &Value, key: &str) -> Result<String, StatusError> {
    if key.is_empty() || !item.is_object() {
        return Ok(item.to_string());
    }
    item.get(key).map(Value::to_string).ok_or_else(|| {
        let shown = sprintf("%v", item);
        failed(format!(
            "map: {shown} does not contain declared merge key: {key}"
        ))
    })
}

fn same_kinds(left: &[Value], right: &[Value]) -> Result<(), StatusError> {
    let mut all = left.iter().chain(right);
    let Some(first) = all.next().map(json_kind) else {
        return Ok(());
    };
    if right.is_empty() || all.all(|item| json_kind(item) == first) {
        return Ok(());
    }
    let lists = Value::Array(vec![left.into(), right.into()]);
    Err(failed(format!(
        "list element types are not identical: {}",
        sprintf("%v", &lists)
    )))
}

/// The items of the patch have to be in the order that it sets.
fn check_order(
    plain: &[Value],
    order: &[Value],
    given: bool,
    key: &str,
) -> Result<(), StatusError> {
    let mut rest = order.iter().map(|item| identity(item, key));
    if !given || plain.is_empty() {
        return rest.try_for_each(|item| item.map(drop));
    }
    for item in plain {
        let wanted = identity(item, key)?;
        loop {
            match rest.next().transpose()? {
                Some(next) if next == wanted => break,
                Some(_) => {}
                None => {
                    return Err(failed(format!(
                        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                        sprintf("%v", &plain.into()),
                        sprintf("%v", &order.into())
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Items of `wanted` stand in its order; the others keep their places among them, as they were on the server.
fn sorted(
    merged: Vec<Value>,
    wanted: &[Value],
    there: &[Value],
    key: &str,
) -> Result<Vec<Value>, StatusError> {
    let places = |list: &[Value]| -> Result<HashMap<String, usize>, StatusError> {
        let mut places = HashMap::new();
        for (index, item) in list.iter().enumerate() {
            places.entry(identity(item, key)?).or_insert(index);
        }
        Ok(places)
    };
    let wanted = places(wanted)?;
    let before = places(there)?;
    let mut others = Vec::new();
    let mut ordered = Vec::new();
    for item in merged {
        let name = identity(&item, key)?;
        let at = before.get(&name).copied();
        match wanted.get(&name) {
            Some(place) => ordered.push((*place, at, item)),
            None => others.push((at, item)),
        }
    }
    ordered.sort_by_key(|(place, _, _)| *place);
    others.sort_by_key(|(at, _)| *at);
    let mut result = Vec::with_capacity(ordered.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, at, item) in ordered {
        while let Some(at) = at
            && others
                .peek()
                .is_some_and(|(other, _)| other.is_some_and(|other| other < at))
        {
            result.extend(others.next().map(|(_, item)| item));
        }
        result.push(item);
    }
    result.extend(others.map(|(_, item)| item));
    Ok(result)
}
