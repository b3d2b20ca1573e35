//! Every function that a template can call.

mod builtins;
mod comparison;
mod define;
mod escaping;
mod indexing;
mod json;
mod kubernetes;
mod sprig;
mod text;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::function::Function;

/// The engine's own tables: they win over Sprig where both have a name.
const OWN: [&[Function]; 3] = [kubernetes::FUNCTIONS, text::FUNCTIONS, json::FUNCTIONS];

/// The functions of Go's `text/template`: any other of the same name wins over them.
const BUILTINS: [&[Function]; 4] = [
    builtins::FUNCTIONS,
    comparison::FUNCTIONS,
    escaping::FUNCTIONS,
    indexing::FUNCTIONS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let tables = sprig::tables().iter().copied().chain(OWN);
    by_name(tables)
});

static BUILTINS_BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> =
    LazyLock::new(|| by_name(BUILTINS.into_iter()));

/// Sprig's functions, those included that the engine's own replace. Of the JSON functions only
/// Sprig's spellings are Sprig's.
static SPRIG_BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let shared = json::FUNCTIONS
        .iter()
        .chain(text::FUNCTIONS)
        .filter(|function| SHARED_WITH_SPRIG.contains(&function.name))
        .map(|function| (function.name, function));
    let own = by_name(
        sprig::tables()
            .iter()
            .copied()
            .chain([text::SPRIG_FUNCTIONS]),
    );
    shared.chain(own).collect()
});

/// What the engine and Sprig have in common under one name.
const SHARED_WITH_SPRIG: [&str; 11] = [
    "atoi",
    "b64dec",
    "b64enc",
    "fromJson",
    "mustFromJson",
    "mustToJson",
    "mustToPrettyJson",
    "mustToRawJson",
    "toJson",
    "toPrettyJson",
    "toRawJson",
];

/// Functions that read the process's environment. They exist, and always fail.
pub(crate) const RISKS: [&str; 2] = ["env", "expandenv"];

fn by_name(
    tables: impl Iterator<Item = &'static [Function]>,
) -> HashMap<&'static str, &'static Function> {
    tables
        .flatten()
        .map(|function| (function.name, function))
        .collect()
}

/// A function of the engine or of Sprig.
pub fn find(name: &str) -> Option<&'static Function> {
    BY_NAME.get(name).copied()
}

/// A function as Sprig has it.
pub fn find_sprig(name: &str) -> Option<&'static Function> {
    SPRIG_BY_NAME.get(name).copied()
}

/// The names of Sprig's functions that templates can use, sorted.
pub fn sprig_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = SPRIG_BY_NAME.keys().copied().collect();
    names.sort_unstable();
    names
}

/// A function of Go's own, `and` and `or` excepted, which are part of the language.
pub fn find_builtin(name: &str) -> Option<&'static Function> {
    BUILTINS_BY_NAME.get(name).copied()
}

/// Every function that a template can call, by group in the order of the reference page. Where
/// two have one name, only the one that is called is here.
pub fn all() -> Vec<&'static Function> {
    let own = OWN.into_iter().flatten();
    let sprig = sprig::tables()
        .iter()
        .copied()
        .flatten()
        .filter(|function| find(function.name).is_some_and(|found| std::ptr::eq(found, *function)));
    let builtins = BUILTINS
        .into_iter()
        .flatten()
        .filter(|function| find(function.name).is_none());
    own.chain(builtins).chain(sprig).collect()
}
