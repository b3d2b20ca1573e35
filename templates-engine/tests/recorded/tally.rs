//! Fixtures, and the count of what differs from them.

use serde_json::Value as Json;

use crate::cases::fixture;

/// The cases of a fixture that is one JSON array.
pub fn cases(name: &str) -> Vec<Json> {
    serde_json::from_str(&fixture(name)).unwrap()
}

/// Compares answers.
#[derive(Default)]
pub struct Tally {
    cases: usize,
    differences: Vec<String>,
}

impl Tally {
    /// Counts a case, and describes it when its answer is another.
    pub fn count(&mut self, same: bool, describe: impl FnOnce() -> String) {
        self.cases += 1;
        if !same {
            self.differences.push(describe());
        }
    }

    /// Counts a case of texts.
    pub fn compare(&mut self, input: &[u8], expected: &str, answer: &str) {
        self.count(expected == answer, || {
            format!(
                "{:?}\n  expected {expected:?}\n  answered {answer:?}",
                String::from_utf8_lossy(input)
            )
        });
    }

    /// Prints the counts; fails when anything differed.
    pub fn finish(self, what: &str) {
        println!(
            "{what}: {} cases, {} differences",
            self.cases,
            self.differences.len()
        );
        let shown: Vec<_> = self.differences.iter().take(60).cloned().collect();
        assert!(self.differences.is_empty(), "{}", shown.join("\n"));
    }
}
