//! What damage starts from: the recorded cases.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value as Json;

use crate::authored::{self, Authored};
use crate::constraints::Cases;
use crate::generator::Generators;
use crate::mutate::{PIECES, Random, SERVED, damage};
use crate::placement::{EXPRESSIONS, PLACEMENTS};
use crate::server::{self, RECORDED};
use crate::structure;

/// What a target reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Go templates.
    Templates,
    /// YAML documents.
    Documents,
    /// Templates and documents.
    Both,
    /// Requests to an API server.
    Requests,
    /// Patches of every kind.
    Patches,
    /// Selectors by labels and by fields.
    Selectors,
    /// Tokens of pages.
    Tokens,
    /// Definitions of kinds.
    Definitions,
    /// Rules of definitions.
    Rules,
    /// Bodies in Protobuf.
    Protobuf,
    /// Expressions about clusters.
    Expressions,
    /// Specs of placements.
    Placements,
    /// Suites of tests.
    Suites,
    /// Fleet files.
    Fleets,
    /// Policies with what places them.
    Policies,
    /// Constraint templates with constraints and objects.
    Constraints,
    /// Files of the policy generator with manifests.
    Generators,
}

/// Recorded templates and documents.
#[derive(Debug, Default)]
pub struct Corpus {
    templates: Vec<Vec<u8>>,
    documents: Vec<Vec<u8>>,
    authored: Authored,
    constraints: Cases,
    generators: Generators,
}

impl Corpus {
    /// Reads the fixtures of `templates-engine`.
    pub fn load() -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../templates-engine/tests/oracle/fixtures");
        let mut corpus = Self {
            authored: Authored::load()?,
            constraints: Cases::load()?,
            generators: Generators::load()?,
            ..Self::default()
        };
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut paths: Vec<_> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<_>>()?;
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.file_name().map(|name| name.to_string_lossy());
            let of_yaml = name.is_some_and(|name| name.starts_with("yaml"));
            corpus.collect(&text, of_yaml);
        }
        let (requests, definitions) = (RECORDED.requests.len(), RECORDED.definitions.len());
        ensure!(
            requests > 400 && definitions > 50,
            "only {requests} requests and {definitions} definitions can be read"
        );
        Ok(corpus)
    }

    fn collect(&mut self, text: &str, of_yaml: bool) {
        let mut values = Vec::new();
        match serde_json::from_str::<Json>(text) {
            Ok(Json::Array(cases)) => values = cases,
            Ok(_) => {}
            Err(_) => values.extend(
                text.lines()
                    .filter_map(|line| serde_json::from_str(line).ok()),
            ),
        }
        for value in values {
            let Json::Object(case) = value else {
                continue;
            };
            for text in case.values().filter_map(Json::as_str) {
                if of_yaml {
                    self.documents.push(text.as_bytes().to_vec());
                } else if text.contains("{{") {
                    self.templates.push(text.as_bytes().to_vec());
                }
            }
        }
    }

    /// How many templates and documents there are.
    pub fn sizes(&self) -> (usize, usize) {
        (self.templates.len(), self.documents.len())
    }

    /// One of the recorded inputs, damaged.
    pub(crate) fn damaged(&self, random: &mut Random, kind: InputKind) -> Vec<u8> {
        let (recorded, pieces) = match kind {
            InputKind::Templates => (&self.templates, PIECES),
            InputKind::Both if random.below(2) == 0 => (&self.templates, PIECES),
            InputKind::Documents | InputKind::Both => (&self.documents, PIECES),
            InputKind::Requests => (&RECORDED.requests, SERVED),
            InputKind::Patches => (&RECORDED.patches, SERVED),
            InputKind::Selectors => (&RECORDED.selectors, SERVED),
            InputKind::Tokens => (&RECORDED.tokens, SERVED),
            InputKind::Definitions => (&RECORDED.definitions, SERVED),
            InputKind::Rules => (&RECORDED.rules, SERVED),
            InputKind::Protobuf => (&RECORDED.protobuf, SERVED),
            InputKind::Expressions => (&*EXPRESSIONS, SERVED),
            InputKind::Placements => (&*PLACEMENTS, SERVED),
            InputKind::Suites => (&self.authored.suites, authored::PIECES),
            InputKind::Fleets => (&self.authored.fleets, authored::PIECES),
            InputKind::Policies => (&self.authored.policies, authored::PIECES),
            InputKind::Constraints => return self.constraints.damaged(random),
            InputKind::Generators => return self.generators.damaged(random),
        };
        let mut input = random.pick(recorded).cloned().unwrap_or_default();
        let other = random.pick(recorded).cloned().unwrap_or_default();
        if pieces == SERVED && random.below(4) > 0 && damaged_within(&mut input, random) {
            return input;
        }
        damage(&mut input, random, &other, pieces);
        input
    }
}

/// Damages the JSON in an input and leaves it JSON; false if there is none.
fn damaged_within(input: &mut Vec<u8>, random: &mut Random) -> bool {
    let body = input.windows(2).position(|two| two == b"\n\n");
    let body = body.map_or(0, |end| end + 2);
    let Some(mut value) = input.get(body..).and_then(server::json) else {
        return false;
    };
    structure::damage(&mut value, random, &RECORDED.values);
    input.truncate(body);
    input.extend(value.to_string().into_bytes());
    true
}
