//! What the output of test programs says about those that failed.

use std::fmt;

/// How many lines are repeated of each failed test: its panic is among the first, a controller's log may follow.
const MOST_LINES: usize = 40;
/// How many characters are repeated of a line.
const MOST_CHARACTERS: usize = 600;

/// What test programs print between `failures:` and their result.
#[derive(Default)]
pub(super) struct Failures {
    parts: Vec<Vec<String>>,
    inside: bool,
    /// How many lines of the failed test have come.
    lines: usize,
}

impl Failures {
    pub(super) fn add(&mut self, line: String) {
        self.parts.push(vec![line]);
    }

    pub(super) fn take(&mut self, line: &str) {
        if line == "failures:" && !self.inside {
            self.inside = true;
            self.parts.push(Vec::new());
        }
        if !self.inside {
            return;
        }
        if let Some(part) = self.parts.last_mut() {
            let ended = line.starts_with("test result:");
            if line.starts_with("---- ") || line == "failures:" {
                self.lines = 0;
            }
            if self.lines < MOST_LINES || ended {
                part.push(line.chars().take(MOST_CHARACTERS).collect());
            }
            self.lines += 1;
            self.inside = !ended;
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            writeln!(formatter, "\n==== failed ====\n{}", part.join("\n"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failed_test_is_printed_to_its_measure() {
        let mut failures = Failures::default();
        let long = "log\n".repeat(500);
        let printed = format!(
            "failures:\n\n---- a ----\n{}\n{long}\n---- b ----\npanicked at b\n{long}\nfailures:\n    a\n    b\n\n\
             test result: FAILED.",
            "x".repeat(5_000)
        );
        printed.lines().for_each(|line| failures.take(line));
        let part = &failures.parts[0];
        assert!(part.len() < 3 * MOST_LINES, "{}", part.len());
        assert!(part.iter().all(|line| line.len() <= MOST_CHARACTERS));
        for line in ["panicked at b", "    a", "    b", "test result: FAILED."] {
            assert!(part.contains(&line.to_owned()), "{line}");
        }
    }

    #[test]
    fn failures_are_printed_again() {
        let mut failures = Failures::default();
        let printed = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b ----\nbroken\n\nfailures:\n    b\n\n\
                       test result: FAILED. 1 passed\ntest c ... ok\ntest result: ok.";
        printed.lines().for_each(|line| failures.take(line));
        assert_eq!(failures.parts.len(), 1);
        assert!(failures.parts[0].contains(&"broken".to_owned()));
        assert_eq!(
            failures.parts[0].last().unwrap(),
            "test result: FAILED. 1 passed"
        );
    }
}
