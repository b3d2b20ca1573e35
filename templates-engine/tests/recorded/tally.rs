//! Fixtures, and the count of what differs from them.

use std::path::Path;

use serde_json::Value as Json;

/// The cases of a fixture; `REEVE_FIXTURES` names a directory with other ones.
pub fn cases(name: &str) -> Vec<Json> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/fixtures");
    let directory = std::env::var_os("REEVE_FIXTURES").map_or(own, Into::into);
    let text = std::fs::read_to_string(directory.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Compares answers.
#[derive(Default)]
pub struct Tally {
    cases: usize,
    differences: Vec<String>,
}

impl Tally {
    /// Counts a case.
    pub fn compare(&mut self, input: &[u8], expected: &str, answer: &str) {
        self.cases += 1;
        if expected != answer {
            self.differences.push(format!(
                "{:?}\n  expected {expected:?}\n  answered {answer:?}",
                String::from_utf8_lossy(input)
            ));
        }
    }

    /// Prints the counts; fails when anything differed.
    pub fn finish(self, what: &str) {
        println!(
            "{what}: {} cases, {} differences",
            self.cases,
            self.differences.len()
        );
        let shown: Vec<_> = self.differences.iter().take(20).cloned().collect();
        assert!(self.differences.is_empty(), "{}", shown.join("\n"));
    }
}
