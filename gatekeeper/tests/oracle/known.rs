//! Differences that stay, with their reasons (`gatekeeper/tests/known.json`). Each is one answer about one template, constraint and
//! object, or one text of a refusal, with what this crate answers: another answer is a new difference. One that is no more must be
//! taken from the file.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::corpus::{json, tests};

/// The differences of one case in one test.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// `answer`, `refusal`, `text` and the others of `main.rs`.
    test: String,
    /// The file of the corpus.
    case: String,
    /// Why it stays.
    reason: String,
    /// Each in full.
    differences: Vec<String>,
}

/// The differences without those that stay. Panics when one that stays is no more.
pub fn without(what: &str, found: &[String]) -> Vec<String> {
    let known: Vec<Known> = json(&tests().join("known.json"));
    let known: BTreeSet<String> = known
        .into_iter()
        .filter(|one| one.test == what)
        .flat_map(|one| {
            assert!(!one.reason.is_empty(), "{} has no reason", one.case);
            let case = one.case;
            let differences = one.differences.into_iter();
            differences.map(move |difference| format!("{case}{difference}"))
        })
        .collect();
    let all: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let gone: Vec<&String> = known
        .iter()
        .filter(|one| !all.contains(one.as_str()))
        .collect();
    let new = found.iter().filter(|one| !known.contains(*one));
    let new: Vec<String> = new.cloned().collect();
    assert!(
        gone.is_empty(),
        "{what}: these differ no more, or otherwise:\n{gone:#?}\nand these are new:\n{new:#?}"
    );
    new
}
