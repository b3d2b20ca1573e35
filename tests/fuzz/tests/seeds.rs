//! The first inputs of the fuzzer's seeds, on every run of the tests.

use std::sync::LazyLock;

use reeve_fuzz::{Corpus, run};

static CORPUS: LazyLock<Result<Corpus, String>> =
    LazyLock::new(|| Corpus::load().map_err(|error| format!("{error:#}")));

fn corpus() -> Result<&'static Corpus, String> {
    CORPUS.as_ref().map_err(Clone::clone)
}

/// Panics of what is fuzzed are panics of the test.
fn run_first_inputs(seed: u64) -> Result<(), String> {
    let mut last = (String::new(), Vec::new());
    run(corpus()?, seed, 0..400, "", &mut |target, input| {
        last = (target.to_owned(), input.to_vec());
    });
    assert!(!last.0.is_empty());
    Ok(())
}

#[test]
fn corpus_has_templates_and_documents() -> Result<(), String> {
    let (templates, documents) = corpus()?.sizes();
    assert!(
        templates > 3_000 && documents > 1_000,
        "{templates} {documents}"
    );
    Ok(())
}

#[test]
fn first_inputs_of_seed_1_end_without_panic() -> Result<(), String> {
    run_first_inputs(1)
}

#[test]
fn first_inputs_of_seed_2_end_without_panic() -> Result<(), String> {
    run_first_inputs(2)
}

#[test]
fn first_inputs_of_seed_3_end_without_panic() -> Result<(), String> {
    run_first_inputs(3)
}
