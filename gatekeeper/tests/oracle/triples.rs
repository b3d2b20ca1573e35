//! The generated triples of a template, a constraint and an object.

use reeve_gatekeeper::client::Engines;
use serde::Deserialize;
use serde_json::Value as Json;

use super::answers::{Finding, Reviewed};
use super::corpus::{Corpus, Given, Input, json, tests};
use super::differences::of_review;
use super::engine::Engine;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TripleFile {
    constraints: Vec<Json>,
    objects: Vec<Json>,
    pub triples: Vec<Triple>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triple {
    case: String,
    template: usize,
    constraint: usize,
    object: usize,
    /// The error of adding the constraint; the object is not reviewed then.
    #[serde(default)]
    refused: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    results: Vec<Finding>,
}

impl TripleFile {
    pub fn read() -> Self {
        json(&tests().join("triples.json"))
    }
}

pub fn differences(corpus: &Corpus) -> Vec<String> {
    let file = TripleFile::read();
    let mut found = Vec::new();
    for (index, triple) in file.triples.iter().enumerate() {
        let object = &file.objects[triple.object];
        let constraint = &file.constraints[triple.constraint];
        for difference in triple.differences(corpus, constraint, object) {
            let case = &triple.case;
            found.push(format!(
                "{index} {case}: {difference}\n    {constraint}\n    {object}"
            ));
        }
    }
    found
}

impl Triple {
    fn differences(&self, corpus: &Corpus, constraint: &Json, object: &Json) -> Vec<String> {
        let case = &corpus.cases[&self.case];
        let mut engine = Engine::new(Engines::CelFirst);
        let error = engine.add_template(&case.templates[self.template]);
        if !error.is_empty() {
            return vec![format!("templates[{}]: {error}", self.template)];
        }
        engine.add_inventory(case);
        let added = engine.client.add_constraint(constraint);
        if added.is_err() == self.refused.is_empty() {
            return vec![format!(
                "constraint: {added:?}, recorded {:?}",
                self.refused
            )];
        }
        if added.is_err() {
            return Vec::new();
        }
        let input = Input::Given(Given {
            object: object.clone(),
            ..Given::default()
        });
        let recorded = Reviewed {
            error: self.error.clone(),
            results: self.results.clone(),
        };
        of_review(&engine.review(&input, ""), &recorded)
    }
}
