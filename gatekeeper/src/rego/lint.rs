//! What the compiler of Open Policy Agent refuses and the engine would find only at run time, or never (GK-103).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::checked::Checked;
use super::facts::{ModuleFacts, OWN, RuleFacts, Shape, Use};
use super::{CompileError, builtins};
use crate::external_data::ExternalData;
use crate::messages;
use crate::template::RegoVersion;

/// The longest chain of calls, in levels of expressions.
const MAX_LEVELS: usize = 4_000;
/// How many rules that need themselves are named.
const MAX_RECURSIONS: usize = 10;

/// Checks the entry module, which is the first, and its libs.
pub fn check(
    modules: &[ModuleFacts],
    version: RegoVersion,
    external_data: &ExternalData,
) -> Result<Checked, CompileError> {
    let fail = |message: String| Err(CompileError { message });
    let Some((entry, libs)) = modules.split_first() else {
        return Ok(Checked::default());
    };
    if !entry.rules.contains_key("violation") {
        let message = messages::invalid_template(messages::MISSING_VIOLATION);
        return fail(message);
    }
    for lib in libs {
        if !lib.package.starts_with("lib.") {
            return fail(messages::lib_package(&lib.package));
        }
    }
    for module in modules {
        check_data(module)?;
    }
    let rules = all_rules(modules);
    let mut errors: Vec<String> = rules
        .values()
        .flat_map(|rule| rule.errors.clone())
        .collect();
    if errors.is_empty() {
        errors = conflicts(&rules);
    }
    if errors.is_empty() {
        let functions = Functions {
            version,
            has_external_data: !external_data.is_empty(),
        };
        errors = call_errors(&rules, functions);
    }
    if errors.is_empty()
        && let Some(violation) = entry.rules.get("violation")
    {
        errors.extend(violation_error(violation));
    }
    if !errors.is_empty() {
        errors.sort();
        errors.dedup();
        return fail(messages::not_compiled(&errors));
    }
    let levels = levels(&rules)?;
    if levels > MAX_LEVELS {
        return fail(messages::calls_too_deep(levels, MAX_LEVELS));
    }
    let uses = || rules.values().flat_map(|rule| rule.uses.iter());
    let reads_inventory = |one: &Use| {
        let first = one.path.names.first();
        one.path.root == "data" && first.is_none_or(|first| first == "inventory")
    };
    let is_referential = uses().any(reads_inventory);
    Ok(Checked {
        second_definitions: second_definitions(&rules),
        object_places: rules
            .values()
            .filter(|rule| rule.shapes.contains(&Shape::Object))
            .flat_map(|rule| rule.places.iter().cloned())
            .collect(),
        levels,
        is_referential,
    })
}

/// The engine says where a function was called whose definitions conflict, the library where the second one is.
fn second_definitions(rules: &BTreeMap<String, RuleFacts>) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    for call in rules.values().flat_map(|rule| rule.uses.iter()) {
        let function = rules.get(&call.path.names.join("."));
        let second = function.and_then(|rule| rule.places.get(1));
        if let Some(second) = second.filter(|_| call.arguments.is_some()) {
            places
                .entry(call.place.clone())
                .or_insert_with(|| second.clone());
        }
    }
    places
}

fn is_allowed(names: &[String]) -> bool {
    matches!(names.first().map(String::as_str), Some("lib" | "inventory"))
}

fn check_data(module: &ModuleFacts) -> Result<(), CompileError> {
    let fail = |message: String| Err(CompileError { message });
    for (path, _) in module.imports.values() {
        let shown = path.dotted();
        match path.root.as_str() {
            "data" if !is_allowed(&path.names) => return fail(messages::bad_import(&shown)),
            "rego" => return fail(messages::bad_import(&shown)),
            "input" => return fail(messages::input_import(&shown)),
            _ => {}
        }
    }
    let uses = module.rules.values().flat_map(|rule| rule.uses.iter());
    let foreign: Vec<&str> = uses
        .filter(|one| one.path.root == "data" && !is_allowed(&one.path.names))
        .map(|one| one.text.as_str())
        .collect();
    if foreign.is_empty() {
        return Ok(());
    }
    fail(messages::disallowed_refs(&module.name, &foreign))
}

/// A rule is of one shape in all of its definitions.
fn conflicts(rules: &BTreeMap<String, RuleFacts>) -> Vec<String> {
    let class = |shape: &Shape| match shape {
        Shape::Value | Shape::Flag => 0,
        Shape::Set => 1,
        Shape::Object => 2,
        Shape::Function => 3,
    };
    let conflicting = rules.iter().filter(|(_, rule)| {
        let classes: BTreeSet<i32> = rule.shapes.iter().map(class).collect();
        classes.len() > 1
    });
    conflicting
        .map(|(name, rule)| {
            let place = rule.places.first().map(String::as_str).unwrap_or_default();
            format!("{place}: {}", messages::conflicting_rules(&shown(name)))
        })
        .collect()
}

/// The rule that gives the violations must give a set.
fn violation_error(violation: &RuleFacts) -> Option<String> {
    if violation.shapes.contains(&Shape::Function) {
        return Some(messages::violation_is_function());
    }
    let is_flag = violation.shapes.iter().all(|shape| *shape == Shape::Flag);
    is_flag.then(messages::violation_is_boolean)
}

/// A rule's path as the library shows it: it gives packages names of its own.
fn shown(path: &str) -> String {
    match path.strip_prefix("lib.") {
        Some(rest) => format!("data.libs.lib.{rest}"),
        None => format!("data.template.{}", path.rsplit('.').next().unwrap_or(path)),
    }
}

/// All rules by their whole path. A rule of several modules is one.
fn all_rules(modules: &[ModuleFacts]) -> BTreeMap<String, RuleFacts> {
    let mut all: BTreeMap<String, RuleFacts> = BTreeMap::new();
    for module in modules {
        for (name, facts) in &module.rules {
            let entry = all.entry(format!("{}.{name}", module.package)).or_default();
            entry.uses.extend(facts.uses.iter().cloned());
            entry.depth = entry.depth.max(facts.depth);
            entry.arguments = entry.arguments.or(facts.arguments);
            entry.places.extend(facts.places.iter().cloned());
            entry.shapes.extend(facts.shapes.iter().copied());
            entry.errors.extend(facts.errors.iter().cloned());
        }
    }
    all
}

/// Which functions there are.
#[derive(Clone, Copy)]
struct Functions {
    version: RegoVersion,
    has_external_data: bool,
}

fn call_errors(rules: &BTreeMap<String, RuleFacts>, functions: Functions) -> Vec<String> {
    let calls = rules.values().flat_map(|rule| rule.uses.iter());
    calls
        .filter_map(|call| call_error(rules, call, functions))
        .collect()
}

fn call_error(
    rules: &BTreeMap<String, RuleFacts>,
    call: &Use,
    functions: Functions,
) -> Option<String> {
    let have = call.arguments?;
    let name = call.path.dotted();
    let error = |text: String| Some(format!("{}: {text}", call.place));
    let is_rule = call.path.root == OWN || call.path.root == "data";
    let name = if is_rule {
        shown(&call.path.names.join("."))
    } else {
        name
    };
    let wanted = if is_rule {
        match rules.get(&call.path.names.join(".")) {
            Some(rule) => rule.arguments,
            None => return error(messages::undefined_function(&name)),
        }
    } else {
        if functions.version == RegoVersion::V1 && builtins::DEPRECATED.contains(&name.as_str()) {
            return error(messages::deprecated(&name));
        }
        match builtins::arguments(&name) {
            None if name == builtins::EXTERNAL_DATA && functions.has_external_data => Some(1),
            Some(builtins::Arity::Exact(wanted)) => Some(wanted),
            Some(builtins::Arity::Any) => return None,
            None if builtins::is_unsupported(&name) => {
                return error(messages::unsupported_function(&name));
            }
            None => return error(messages::undefined_function(&name)),
        }
    };
    match wanted {
        // An argument more takes the result.
        Some(wanted) if have == wanted || have == wanted + 1 => None,
        Some(wanted) => error(messages::arity(&name, have, wanted)),
        None => error(messages::undefined_function(&name)),
    }
}

/// The rules that a use may evaluate.
fn targets<'a>(
    rules: &'a BTreeMap<String, RuleFacts>,
    one: &Use,
) -> impl Iterator<Item = &'a String> {
    let is_rule = one.path.root == OWN || one.path.root == "data";
    let path = one.path.names.join(".");
    // The rule itself, the rule that the path goes into, or all rules below an open path or a package.
    let above = (1..=one.path.names.len())
        .filter_map(move |length| one.path.names.get(..length).map(|names| names.join(".")))
        .filter_map(|path| rules.get_key_value(&path).map(|(key, _)| key));
    let below = if path.is_empty() {
        String::new()
    } else {
        format!("{path}.")
    };
    let range = rules.range(below.clone()..).map(|(key, _)| key);
    let below = range.take_while(move |key| key.starts_with(&below));
    let all: Vec<&String> = if is_rule {
        above.chain(below).collect()
    } else {
        Vec::new()
    };
    all.into_iter()
}

/// How deep rules call each other, in levels; an error when one needs itself.
fn levels(rules: &BTreeMap<String, RuleFacts>) -> Result<usize, CompileError> {
    let needs: BTreeMap<&String, BTreeSet<&String>> = rules
        .iter()
        .map(|(name, rule)| {
            let uses = rule.uses.iter();
            (name, uses.flat_map(|one| targets(rules, one)).collect())
        })
        .collect();
    let mut users: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    let mut open: BTreeMap<&String, usize> = BTreeMap::new();
    for (name, all) in &needs {
        open.insert(name, all.len());
        for one in all {
            users.entry(one).or_default().push(name);
        }
    }
    let ready = open.iter().filter(|(_, count)| **count == 0);
    let mut ready: VecDeque<&String> = ready.map(|(name, _)| *name).collect();
    let mut deepest: BTreeMap<&String, usize> = BTreeMap::new();
    let mut done = 0;
    while let Some(name) = ready.pop_front() {
        done += 1;
        let own = rules.get(name).map_or(0, |rule| rule.depth + 1);
        let level = deepest.get(name).copied().unwrap_or_default() + own;
        deepest.insert(name, level);
        for user in users.get(name).into_iter().flatten() {
            let entry = deepest.entry(user).or_default();
            *entry = (*entry).max(level);
            if let Some(count) = open.get_mut(user) {
                *count -= 1;
                if *count == 0 {
                    ready.push_back(user);
                }
            }
        }
    }
    if done == rules.len() {
        return Ok(deepest.values().copied().max().unwrap_or_default());
    }
    Err(CompileError {
        message: messages::not_compiled(&recursions(rules, &needs, &open)),
    })
}

/// The way from each rule that needs itself back to it.
fn recursions(
    rules: &BTreeMap<String, RuleFacts>,
    needs: &BTreeMap<&String, BTreeSet<&String>>,
    open: &BTreeMap<&String, usize>,
) -> Vec<String> {
    let starts = open.iter().filter(|(_, count)| **count > 0);
    let mut errors = Vec::new();
    for (start, _) in starts.take(MAX_RECURSIONS) {
        let Some(way) = way_back(start, needs) else {
            continue;
        };
        let rule = rules.get(*start);
        let place = rule.and_then(|rule| rule.places.first());
        let way: Vec<String> = way.into_iter().map(|name| shown(name)).collect();
        let text = messages::recursion(&shown(start), &way.join(" -> "));
        let place = place.map(String::as_str).unwrap_or_default();
        errors.push(format!("{place}: {text}"));
    }
    errors
}

/// The shortest way from a rule to itself.
fn way_back<'a>(
    start: &'a String,
    needs: &BTreeMap<&'a String, BTreeSet<&'a String>>,
) -> Option<Vec<&'a String>> {
    let mut from: BTreeMap<&String, &'a String> = BTreeMap::new();
    let mut pending = VecDeque::from([start]);
    while let Some(name) = pending.pop_front() {
        for next in needs.get(name).into_iter().flatten().copied() {
            if next == start {
                let mut way = vec![start, name];
                let mut current = name;
                while let Some(before) = from.get(current).copied().filter(|_| current != start) {
                    way.push(before);
                    current = before;
                }
                if name == start {
                    way.truncate(1);
                }
                way.reverse();
                way.push(start);
                way.dedup();
                if way.len() == 1 {
                    way.push(start);
                }
                return Some(way);
            }
            if !from.contains_key(next) {
                from.insert(next, name);
                pending.push_back(next);
            }
        }
    }
    None
}
