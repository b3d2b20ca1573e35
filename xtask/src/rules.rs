//! The behaviour reference and its citations: code and tests may cite only rules that `docs/behaviour` has, and the rules that
//! no test cites are known.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use regex::Regex;

use crate::run;

const FOLDER: &str = "docs/behaviour";
/// Where code and tests are. Generated and built files are not among them.
const CODE: [&str; 28] = [
    "addon-controller",
    "api",
    "apiserver",
    "benches",
    "cli",
    "config-policy-controller",
    "constraint-audit",
    "doctor",
    "dryrun",
    "fleet",
    "framework-addon",
    "gatekeeper",
    "gator",
    "go-compat",
    "lint",
    "manifests",
    "policy-generator",
    "propagator",
    "report",
    "resolve",
    "runtime",
    "serving",
    "suites",
    "template-reads",
    "templates-engine",
    "tests",
    "deploy",
    "xtask",
];
const PREFIXES: &str = "PROP|FWK|CFG|ADDON|GK|TMPL|PLC|OP|CLI|DRY|RSV|LINT|GEN|INST";

/// A rule's identifier, with the number of a row where it is one of a table.
type Rule = String;

/// Fails when code or a page cites a rule that no page has.
pub(crate) fn check() -> Result<()> {
    let reference = Reference::read()?;
    let unknown: Vec<String> = reference
        .citations
        .iter()
        .filter(|citation| !reference.rules.contains_key(&citation.rule))
        .map(|citation| format!("{}: {}", citation.file.display(), citation.rule))
        .collect();
    if !unknown.is_empty() {
        bail!(
            "rules that {FOLDER} does not have:\n  {}",
            unknown.join("\n  ")
        );
    }
    Ok(())
}

/// Prints the rules that no test cites, page by page.
pub(crate) fn print() -> Result<()> {
    let reference = Reference::read()?;
    for (page, rules) in reference.pages() {
        let open: Vec<&str> = rules
            .iter()
            .filter(|rule| !reference.is_tested(rule))
            .map(|rule| rule.as_str())
            .collect();
        println!(
            "{page}: {} rules, {} without a test",
            rules.len(),
            open.len()
        );
        println!("  {}", open.join(" "));
    }
    Ok(())
}

/// The table of `docs/reference/rules.md`.
pub(crate) fn page() -> Result<String> {
    let reference = Reference::read()?;
    let mut text = String::from(
        "# Rules and tests\n\n\
         How many rules each page of the [behaviour reference](../behaviour/README.md) has, and how many of them a test names: its\n\
         name begins with the identifier, or a comment in it cites the identifier. `cargo xtask rules` lists the others, which\n\
         are not all untested: many tests cover several rules and name one.\n\n\
         | page | rules | named by a test |\n|---|---|---|\n",
    );
    for (page, rules) in reference.pages() {
        let tested = rules
            .iter()
            .filter(|rule| reference.is_tested(rule))
            .count();
        let _ = writeln!(
            text,
            "| [{page}](../behaviour/{page}) | {} | {tested} |",
            rules.len()
        );
    }
    Ok(text)
}

/// A mention of a rule in code or in a page.
struct Citation {
    rule: Rule,
    file: PathBuf,
    /// Whether a test cites it.
    by_test: bool,
}

struct Reference {
    /// Each rule with its page.
    rules: BTreeMap<Rule, String>,
    citations: Vec<Citation>,
}

impl Reference {
    fn read() -> Result<Self> {
        let root = run::root()?;
        let mut reference = Self {
            rules: BTreeMap::new(),
            citations: Vec::new(),
        };
        let definition = Regex::new(&format!(r"\*\*((?:{PREFIXES})-\d+(?:\.\d+)?)\*\*"))?;
        let citation = Regex::new(&format!(r"\b((?:{PREFIXES})-\d+(?:\.\d+)?)\b"))?;
        for entry in
            fs::read_dir(root.join(FOLDER)).context("cannot read the behaviour reference")?
        {
            let path = entry?.path();
            let page = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if page == "README.md" {
                continue;
            }
            let text = fs::read_to_string(&path)?;
            for found in definition.captures_iter(&text) {
                reference.rules.insert(found[1].to_owned(), page.clone());
            }
            let cited = citation.captures_iter(&text).map(|found| Citation {
                rule: found[1].to_owned(),
                file: Path::new(FOLDER).join(&page),
                by_test: false,
            });
            reference.citations.extend(cited);
        }
        let name = Regex::new(&format!(
            r"\b({})_(\d+)(?:_(\d+))?_[a-z]",
            PREFIXES.to_lowercase()
        ))?;
        for folder in CODE {
            reference.read_code(&root.join(folder), (&citation, &name))?;
        }
        Ok(reference)
    }

    fn read_code(&mut self, folder: &Path, patterns: (&Regex, &Regex)) -> Result<()> {
        let Ok(entries) = fs::read_dir(folder) else {
            return Ok(());
        };
        for entry in entries {
            let path = entry?.path();
            let is_hidden = path
                .file_name()
                .is_some_and(|name| name == "target" || name == "bin");
            if path.is_dir() && !is_hidden {
                self.read_code(&path, patterns)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path)?;
                self.read_file(&path, &text, patterns);
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path, text: &str, (citation, name): (&Regex, &Regex)) {
        let in_tests = file.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs")
        });
        let tests_begin = if in_tests {
            0
        } else {
            text.find("#[cfg(test)]").unwrap_or(text.len())
        };
        for found in citation.captures_iter(text) {
            let at = found.get(0).map_or(0, |found| found.start());
            self.add(found[1].to_owned(), file, at >= tests_begin);
        }
        for found in name.captures_iter(text) {
            let rule = format!("{}-{}", found[1].to_uppercase(), &found[2]);
            // A second number is that of a row, if there is such a row.
            let row = found.get(3).map(|row| format!("{rule}.{}", row.as_str()));
            let row = row.filter(|row| self.rules.contains_key(row));
            self.add(row.unwrap_or(rule), file, true);
        }
    }

    fn add(&mut self, rule: Rule, file: &Path, by_test: bool) {
        self.citations.push(Citation {
            rule,
            file: file.to_owned(),
            by_test,
        });
    }

    fn pages(&self) -> BTreeMap<&str, BTreeSet<&Rule>> {
        let mut pages: BTreeMap<&str, BTreeSet<&Rule>> = BTreeMap::new();
        for (rule, page) in &self.rules {
            pages.entry(page).or_default().insert(rule);
        }
        pages
    }

    /// Whether a test cites the rule, or a row of its table.
    fn is_tested(&self, rule: &str) -> bool {
        let row = format!("{rule}.");
        let mut citations = self.citations.iter().filter(|citation| citation.by_test);
        citations.any(|citation| citation.rule == rule || citation.rule.starts_with(&row))
    }
}
