//! Constraint templates in Rego and CEL, constraints and objects, given to the engine as the audit gives them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reeve_gatekeeper::audit::{Auditor, ConstraintAudit, Resource};
use reeve_gatekeeper::client::{Client, Engines, Options};
use reeve_gatekeeper::configuration::{Exclusions, Process, synced_kinds};
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::expansion::{Expansion, ExpansionTemplate};
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::rego::Limits;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::{ConstraintTemplate, crd};
use serde_json::{Value as Json, json};

use crate::mutate::{Random, damage};
use crate::structure;

/// An evaluation that takes longer ends with an error.
const TIME: Duration = Duration::from_millis(100);
/// How many of each a case has at most: the corpus has cases of dozens.
const SOME: usize = 4;

/// What is thrown into sources.
const PIECES: &[&[u8]] = &[
    b"{",
    b"}",
    b"(",
    b")",
    b"[",
    b"]",
    b"[_]",
    b"\n",
    b";",
    b",",
    b":",
    b".",
    b"|",
    b"&",
    b"=",
    b":=",
    b"==",
    b"!=",
    b" not ",
    b" some x in ",
    b" every x in y ",
    b" with input as ",
    b" as ",
    b" if ",
    b" else = ",
    b" contains ",
    b" default x = ",
    b" import ",
    b" import future.keywords.in\n",
    b"package a\n",
    b"data.inventory",
    b"data.lib.",
    b"input",
    b"input.review.object",
    b"violation[{\"msg\": msg}] {",
    b"f(x) = y { y := f(x) }\n",
    b"walk(input, [p, v])",
    b"sprintf(\"%*[3]d %!\", [1])",
    b"regex.match(\"(a*)*b\", x)",
    b"numbers.range(1, 999999999)",
    b"[x | x := input[_]]",
    b"{x: y | y := input[x]}",
    b"\"",
    b"`",
    b"'",
    b"\\u",
    b"\\",
    b"#",
    b"$\"{",
    b"1e999",
    b"-9223372036854775808",
    b"99999999999999999999",
    b"0x",
    b"\xff",
    b"\x00",
    b"\xf0\x9f\x98\x80",
    b"object.",
    b"variables.",
    b"params",
    b"has(",
    b".all(x, ",
    b".map(x, ",
    b".?a.orValue(",
    b"? 1 : ",
    b" in ",
    b".matches('(a*)*$')",
    b"quantity('1')",
    b"'%s %d %.99f'.format([1])",
    b"cel.bind(x, 1, ",
    b"dyn(",
];

/// The cases of the engine's own corpus, and hostile ones.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    cases: Vec<Json>,
}

impl Cases {
    /// Reads `gatekeeper/tests/corpus`.
    pub(crate) fn load() -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gatekeeper/tests/corpus");
        let shared = document(&folder.join("objects.yaml"))?;
        let mut paths = fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", folder.display()))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<Vec<_>>>()?;
        paths.sort();
        let mut cases = Vec::new();
        for path in paths {
            let is_case = path.extension().is_some_and(|one| one == "yaml");
            if is_case && !path.ends_with("objects.yaml") {
                let case = document(&path)?;
                cases.extend(parts(&case, &shared));
            }
        }
        ensure!(
            cases.len() > 300,
            "only {} templates can be read",
            cases.len()
        );
        Ok(Self { cases })
    }

    /// A case, damaged in a source or anywhere.
    pub(crate) fn damaged(&self, random: &mut Random) -> Vec<u8> {
        let mut case = random.pick(&self.cases).cloned().unwrap_or_default();
        let other = random.pick(&self.cases).cloned().unwrap_or_default();
        if random.below(3) == 0 {
            structure::damage(&mut case, random, &[other]);
            return case.to_string().into_bytes();
        }
        let grafts = sources(&mut other.clone());
        let mut found = Vec::new();
        collect(&mut case["template"], &mut found);
        let at = random.below(found.len());
        if let Some(source) = found.into_iter().nth(at)
            && let Some(text) = source.as_str()
        {
            let mut bytes = text.as_bytes().to_vec();
            let graft = random.pick(&grafts).map_or(&b""[..], String::as_bytes);
            damage(&mut bytes, random, graft, PIECES);
            *source = json!(String::from_utf8_lossy(&bytes));
        }
        case.to_string().into_bytes()
    }
}

/// Each template of a case with its constraints and some of the objects.
fn parts(case: &Json, shared: &Json) -> Vec<Json> {
    let list = |field: &str| case[field].as_array().cloned().unwrap_or_default();
    let objects: Vec<Json> = list("reviews")
        .into_iter()
        .chain(list("inventory"))
        .map(|one| match one.as_str() {
            Some(name) => shared[name].clone(),
            None if one["object"].is_object() => one["object"].clone(),
            None => one,
        })
        .filter(Json::is_object)
        .take(SOME)
        .collect();
    let constraints = list("constraints");
    let of_kind = |template: &Json| -> Vec<Json> {
        let kind = &template["spec"]["crd"]["spec"]["names"]["kind"];
        let own = constraints.iter().filter(|one| one["kind"] == *kind);
        own.take(SOME).cloned().collect()
    };
    let templates = list("templates").into_iter();
    templates
        .map(|template| {
            let constraints = of_kind(&template);
            json!({"template": template, "constraints": constraints, "objects": objects})
        })
        .collect()
}

/// The texts that may be sources.
fn collect<'a>(value: &'a mut Json, found: &mut Vec<&'a mut Json>) {
    const SOURCES: [&str; 4] = ["rego", "expression", "message", "messageExpression"];
    match value {
        Json::Object(fields) => {
            for (name, inner) in fields {
                if SOURCES.contains(&name.as_str()) && inner.is_string() {
                    found.push(inner);
                } else {
                    collect(inner, found);
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| collect(item, found)),
        _ => {}
    }
}

fn sources(case: &mut Json) -> Vec<String> {
    let mut found = Vec::new();
    collect(&mut case["template"], &mut found);
    let texts = found.iter().filter_map(|one| one.as_str());
    texts.map(str::to_owned).collect()
}

fn document(path: &Path) -> Result<Json> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    reeve_go_compat::yaml::decode_sigs_json(&text)
        .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}

/// Loads everything, and audits the objects.
pub(crate) fn audit(input: &[u8]) {
    let Ok(case) = serde_json::from_slice::<Json>(input) else {
        return;
    };
    for engines in [Engines::CelFirst, Engines::RegoOnly] {
        let mut client = Client::new(Options {
            engines,
            limits: Limits {
                time: TIME,
                ..Limits::default()
            },
            ..Options::default()
        });
        let Ok(template) = ConstraintTemplate::parse(&case["template"]) else {
            return;
        };
        let _ = crd(&template);
        if client.add_template(template).is_err() {
            continue;
        }
        let constraints = case["constraints"].as_array().into_iter().flatten();
        for constraint in constraints.take(SOME) {
            let _ = client.add_constraint(constraint);
        }
        let objects = case["objects"].as_array().into_iter().flatten();
        for object in objects.clone().take(SOME) {
            client.set_object(object);
        }
        let mut audit = ConstraintAudit::new(2);
        for object in objects.take(SOME) {
            let Ok(review) = Review::of_object(object.clone()) else {
                continue;
            };
            let review = review.with_source(Source::Original);
            for violation in client.review(&review, EnforcementPoint::Audit) {
                audit.add(&Resource::of(object), &violation);
            }
        }
        let _ = audit.status("2026-01-01T00:00:00Z", &Auditor::default());
    }
    configure(&case);
}

/// Reads the same as Gatekeeper's configuration.
fn configure(case: &Json) {
    let objects = case["objects"].as_array().into_iter().flatten();
    let all = objects.chain([&case["template"]]);
    let templates = all
        .clone()
        .filter_map(|one| ExpansionTemplate::parse(one).ok());
    let expansion = Expansion::new(templates);
    for object in all {
        let _ = synced_kinds(object);
        let _ = Exclusions::of_config(object).excludes(Process::Audit, object);
        let _ = expansion.expand(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corpus_is_evaluated_before_damage() {
        let cases = Cases::load().unwrap();
        let loaded = cases.cases.iter().filter(|case| {
            let template = ConstraintTemplate::parse(&case["template"]);
            template.is_ok_and(|template| Client::default().add_template(template).is_ok())
        });
        let loaded = loaded.count();
        assert!(loaded > 150, "{loaded} of {}", cases.cases.len());
    }
}
