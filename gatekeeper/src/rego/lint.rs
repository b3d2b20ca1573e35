//! What the compiler of Open Policy Agent refuses and the engine would find only at run time, or never (GK-103).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::facts::{ModuleFacts, OWN, RuleFacts, Use};
use super::{CompileError, builtins, fault};
use crate::messages;

/// The longest chain of calls, in levels of expressions.
const MAX_LEVELS: usize = 4_000;

/// What the check of all modules has found out.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// How deep calls and expressions are nested at most.
    pub levels: usize,
    /// Whether `data.inventory` is read.
    pub is_referential: bool,
    /// Whether an evaluation depends on nothing but its input.
    pub is_pure: bool,
}

/// Checks the entry module, which is the first, and its libs.
pub fn check(modules: &[ModuleFacts]) -> Result<Checked, CompileError> {
    let fail = |message: String| Err(CompileError { message });
    let Some((entry, libs)) = modules.split_first() else {
        return Ok(Checked::default());
    };
    if !entry.rules.contains_key("violation") {
        return fail(messages::MISSING_VIOLATION.to_owned());
    }
    for lib in libs {
        if lib.package != "lib" && !lib.package.starts_with("lib.") {
            return fail(messages::lib_package(&lib.package));
        }
    }
    for module in modules {
        check_data(module)?;
    }
    let rules = all_rules(modules);
    let errors = call_errors(&rules);
    if !errors.is_empty() {
        return fail(fault::join(&errors));
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
    let is_impure = |one: &Use| {
        one.arguments.is_some() && builtins::IMPURE.contains(&one.path.dotted().as_str())
    };
    Ok(Checked {
        levels,
        is_referential,
        is_pure: !is_referential && !uses().any(is_impure),
    })
}

fn is_allowed(names: &[String]) -> bool {
    matches!(names.first().map(String::as_str), Some("lib" | "inventory"))
}

fn check_data(module: &ModuleFacts) -> Result<(), CompileError> {
    for (path, _) in module.imports.values() {
        if path.root == "data" && !is_allowed(&path.names) {
            let message = messages::bad_import(&path.dotted());
            return Err(CompileError { message });
        }
    }
    let uses = module.rules.values().flat_map(|rule| rule.uses.iter());
    for one in uses {
        if one.path.root == "data" && !is_allowed(&one.path.names) {
            let message = messages::disallowed_ref(&one.text);
            return Err(CompileError { message });
        }
    }
    Ok(())
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
        }
    }
    all
}

fn call_errors(rules: &BTreeMap<String, RuleFacts>) -> Vec<String> {
    let calls = rules.values().flat_map(|rule| rule.uses.iter());
    let mut errors: Vec<String> = calls.filter_map(|call| call_error(rules, call)).collect();
    errors.sort();
    errors.dedup();
    errors
}

fn call_error(rules: &BTreeMap<String, RuleFacts>, call: &Use) -> Option<String> {
    let have = call.arguments?;
    let name = call.path.dotted();
    let error = |text: String| Some(format!("{}: rego_type_error: {text}", call.place));
    let shown = call.text.split('(').next().unwrap_or(&name);
    let wanted = if call.path.root == OWN || call.path.root == "data" {
        match rules.get(&call.path.names.join(".")) {
            Some(rule) => rule.arguments,
            None => return error(messages::undefined_function(shown)),
        }
    } else {
        match builtins::arguments(&name) {
            Some(builtins::Arity::Exact(wanted)) => Some(wanted),
            Some(builtins::Arity::Any) => return None,
            None => return error(messages::undefined_function(&name)),
        }
    };
    match wanted {
        // An argument more takes the result.
        Some(wanted) if have == wanted || have == wanted + 1 => None,
        Some(wanted) => error(messages::arity(shown, have, wanted)),
        None => error(messages::undefined_function(shown)),
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
    let below = format!("{path}.");
    let is_below = move |key: &String| below == "." || key.starts_with(&below);
    let below = rules.keys().filter(move |key| is_below(key));
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
        message: recursion(rules, &needs, &open),
    })
}

fn recursion(
    rules: &BTreeMap<String, RuleFacts>,
    needs: &BTreeMap<&String, BTreeSet<&String>>,
    open: &BTreeMap<&String, usize>,
) -> String {
    let is_open = |name: &&String| open.get(*name).is_some_and(|count| *count > 0);
    let mut way: Vec<&String> = Vec::new();
    let mut current = open.keys().copied().find(is_open);
    while let Some(name) = current {
        if let Some(start) = way.iter().position(|one| *one == name) {
            way.drain(..start);
            break;
        }
        way.push(name);
        current = needs
            .get(name)
            .and_then(|all| all.iter().copied().find(is_open));
    }
    let Some(first) = way.first().copied() else {
        return String::new();
    };
    way.push(first);
    let shown: Vec<String> = way.iter().map(|name| format!("data.{name}")).collect();
    let second = way.get(1).copied().unwrap_or(first);
    let uses = rules
        .get(first)
        .into_iter()
        .flat_map(|rule| rule.uses.iter());
    let mut uses = uses.filter(|one| targets(rules, one).any(|target| target == second));
    let place = uses
        .next()
        .map(|one| one.place.as_str())
        .unwrap_or_default();
    let text = messages::recursion(&format!("data.{first}"), &shown.join(" -> "));
    fault::join(&[format!("{place}: rego_recursion_error: {text}")])
}
