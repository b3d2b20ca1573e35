//! The numbers in the README that follow from the repository.

use std::fs;

use anyhow::{Context, Result};
use regex::Regex;
use serde_json::Value;

use crate::run;

const SUITES: &str = "policies/tests";

/// The README with the number of ready-made policies, of their suites and of the steps that pass.
pub(crate) fn page() -> Result<String> {
    let root = run::root()?;
    let mut suites = 0_usize;
    let mut steps = 0_usize;
    for entry in fs::read_dir(root.join(SUITES)).with_context(|| format!("cannot read {SUITES}"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let shown = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        let suite: Value =
            serde_saphyr::from_str(&text).with_context(|| format!("cannot parse {shown}"))?;
        suites += 1;
        steps += suite["steps"].as_array().map_or(0, Vec::len);
    }
    let readme = fs::read_to_string(root.join("README.md")).context("cannot read README.md")?;
    let readme = put(
        &readme,
        r"\d+ suites: \d+ passed",
        &format!("{suites} suites: {steps} passed"),
    )?;
    put(
        &readme,
        r"has \d+\nready-made",
        &format!("has {suites}\nready-made"),
    )
}

/// Replaces the one place that matches: a README that lost it is an error.
fn put(text: &str, pattern: &str, value: &str) -> Result<String> {
    let place = Regex::new(pattern)?;
    let count = place.find_iter(text).count();
    anyhow::ensure!(
        count == 1,
        "README.md has {count} places that match {pattern}, not 1"
    );
    Ok(place.replace(text, value).into_owned())
}
