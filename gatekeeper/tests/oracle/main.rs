//! The corpus and the generated triples, against what the libraries of Gatekeeper answered (`tests/gatekeeper/oracle` of
//! the repository recorded it).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test says what failed

mod answers;
mod corpus;
mod differences;
mod engine;
mod known;
mod triples;

use corpus::Corpus;

#[test]
fn corpus_reviews_are_answered_as_gatekeeper_does() {
    differences::assert_none("answer", &differences::of_reviews(&Corpus::read()));
}

#[test]
fn corpus_templates_and_constraints_are_refused_as_gatekeeper_does() {
    differences::assert_none("refusal", &differences::of_refusals(&Corpus::read()));
}

#[test]
fn corpus_refusals_have_gatekeepers_texts() {
    differences::assert_none("text", &differences::of_texts(&Corpus::read()));
}

#[test]
fn corpus_templates_have_gatekeepers_crds() {
    differences::assert_none("CRD", &differences::of_crds(&Corpus::read()));
}

#[test]
fn generated_triples_are_answered_as_gatekeeper_does() {
    let found = triples::differences(&Corpus::read());
    differences::assert_none("triple", &found);
}

#[test]
fn corpus_has_sixty_templates_and_two_thousand_triples() {
    let corpus = Corpus::read();
    let templates: usize = corpus.cases.values().map(|one| one.templates.len()).sum();
    assert!(corpus.cases.len() >= 60 && templates >= 60, "{templates}");
    assert_eq!(triples::TripleFile::read().triples.len(), 2_000);
}
