//! The first inputs of the fuzzer's seeds, on every run of the tests.

use reeve_fuzz::{Corpus, run};

#[test]
fn first_inputs_of_three_seeds_end_without_panic() {
    let corpus = Corpus::load().expect("the fixtures");
    let (templates, documents) = corpus.sizes();
    assert!(
        templates > 3_000 && documents > 1_000,
        "{templates} {documents}"
    );
    let mut last = (String::new(), Vec::new());
    for seed in [1, 2, 3] {
        run(&corpus, seed, 0..400, "", &mut |target, input| {
            last = (target.to_owned(), input.to_vec());
        });
    }
    assert!(!last.0.is_empty());
}
