//! Damaged input for the readers of `templates-engine` for the API server in memory, for
//! placements, for the engine of constraints, for the policy generator, and for what users write for `reeve test` and `reeve up`, from recorded cases and a seed.
//!
//! No coverage guides it, because that needs a nightly compiler: what it starts from are the
//! thousands of recorded templates and documents, which already reach every branch.

mod authored;
mod constraints;
mod corpus;
mod generator;
mod mutate;
mod placement;
mod server;
mod structure;
mod targets;

use std::ops::Range;

pub use corpus::Corpus;
pub use mutate::Random;
pub use targets::{TARGETS, Target};

/// Runs inputs number `from` to `to` of a seed through all targets whose names begin with `only`. Returns how many ran.
pub fn run(
    corpus: &Corpus,
    seed: u64,
    numbers: Range<u64>,
    only: &str,
    before: &mut dyn FnMut(&str, &[u8]),
) -> u64 {
    let mut runs = 0;
    for number in numbers {
        let mut random = Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for target in TARGETS
            .iter()
            .filter(|target| target.name.starts_with(only))
        {
            let input = corpus.damaged(&mut random, target.input_kind);
            before(target.name, &input);
            (target.run)(&input);
            runs += 1;
        }
    }
    runs
}
